#include "gcc.h"
#include "arguments.h"

#include "instrument.h"

arguments argument;

static bool known(const std::string &name)
{
    for (const instrumentation *const *i = instrumentations; *i; i++)
        if (name == (*i)->name)
            return true;
    return false;
}

static bool contains(const std::string &list, const std::string &name)
{
    return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

bool arguments_want(const char *instrumentation)
{
    return contains(argument.what, instrumentation);
}

static bool take_what(const std::string &list)
{
    size_t from = 0;
    while (from <= list.size()) {
        size_t to = list.find(',', from);
        if (to == std::string::npos)
            to = list.size();
        std::string name = list.substr(from, to - from);
        if (!known(name)) {
            error("penumbra-gcc: there is no instrumentation %qs", name.c_str());
            return false;
        }
        from = to + 1;
    }
    argument.what = list;
    return true;
}

static bool take_variant(const std::string &value)
{
    if (value == "full")
        argument.how = VARIANT_FULL;
    else if (value == "partial")
        argument.how = VARIANT_PARTIAL;
    else if (value == "none")
        argument.how = VARIANT_NONE;
    else if (value == "exhaustive")
        argument.how = VARIANT_EXHAUSTIVE;
    else if (value == "entries")
        argument.how = VARIANT_ENTRIES;
    else if (value == "back-edges")
        argument.how = VARIANT_BACK_EDGES;
    else
        return false;
    return true;
}

static bool take_check(const std::string &value)
{
    if (value == "compiled")
        argument.check = CHECK_COMPILED;
    else if (value == "patched")
        argument.check = CHECK_PATCHED;
    else if (value == "switched")
        argument.check = CHECK_SWITCHED;
    else
        return false;
    return true;
}

static bool take(const std::string &key, const std::string &value)
{
    if (key == "variant")
        return take_variant(value);
    if (key == "counter") {
        argument.global_counter = value == "global";
        return argument.global_counter || value == "thread";
    }
    if (key == "check")
        return take_check(value);
    if (key == "what")
        return take_what(value);
    if (key == "report") {
        argument.report = value;
        return !value.empty();
    }
    if (key == "count-checks" && value.empty()) {
        argument.counting = true;
        return true;
    }
    return false;
}

bool arguments_read(int argc, const plugin_argument *argv)
{
    for (int i = 0; i < argc; i++) {
        const char *value = argv[i].value ? argv[i].value : "";
        std::string key = argv[i].key;
        if (key.compare(0, 4, "gcc-") == 0)
            key.erase(0, 4);
        if (!take(key, value)) {
            error("penumbra-gcc: cannot use %<%s=%s%>", argv[i].key, value);
            return false;
        }
    }
    bool in_place = argument.how == VARIANT_NONE || argument.how == VARIANT_EXHAUSTIVE;
    if (in_place && argument.check != CHECK_COMPILED) {
        error("penumbra-gcc: %<check=patched%> and %<check=switched%> need copies of the code, to "
              "which a check leads: %<variant=none%> and %<variant=exhaustive%> have none");
        return false;
    }
    if (argument.how == VARIANT_NONE && arguments_want("paths")) {
        error("penumbra-gcc: %<what=paths%> needs copies of the code: a path is observed from its "
              "beginning to its end, and %<variant=none%> samples single operations");
        return false;
    }
    return true;
}
