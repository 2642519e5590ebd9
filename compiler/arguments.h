/* What -fplugin-arg-penumbra-gcc-NAME=VALUE asks for. GCC takes the plugin's name to end at the
 * first hyphen, so the file is penumbra.so, and the names begin with gcc-, which may be left out.
 *
 * Context: read by every pass; set once, when the plugin is loaded. */
#ifndef PENUMBRA_COMPILER_ARGUMENTS_H
#define PENUMBRA_COMPILER_ARGUMENTS_H

#include <string>

struct plugin_argument;

enum variant {
    VARIANT_FULL,      /* full duplication: checks on entries and back edges */
    VARIANT_PARTIAL,   /* without the blocks that need no copy */
    VARIANT_NONE,      /* no duplication: a check before each operation */
    VARIANT_EXHAUSTIVE, /* every operation, always */
    VARIANT_ENTRIES,   /* checks on entries alone, which lead back to where they are */
    VARIANT_BACK_EDGES /* the same on back edges: what checks cost */
};

enum check_kind {
    CHECK_COMPILED, /* a counter is counted down */
    CHECK_PATCHED,  /* a site is made a jump to that when the module is registered */
    CHECK_SWITCHED  /* a word in memory says whether that is done */
};

struct arguments {
    variant how = VARIANT_FULL;
    bool global_counter = false; /* one check counter for all threads */
    check_kind check = CHECK_COMPILED;
    bool counting = false;       /* checks, entries and back edges are counted */
    std::string what = "calls,fields";
    std::string report; /* file, or empty */
};

extern arguments argument;

/* False, and an error message, if there is an argument that it does not know. */
bool arguments_read(int argc, const plugin_argument *argv);

/* Whether the instrumentation is asked for. */
bool arguments_want(const char *instrumentation);

#endif
