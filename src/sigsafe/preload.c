#include "sigsafe/preload.h"

/* The loader's separators. */
static bool separates(char c)
{
    return c == ':' || c == ' ';
}

static size_t length_of(const char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

static bool begins_with(const char *text, const char *with)
{
    while (*with && *text == *with) {
        text++;
        with++;
    }
    return !*with;
}

/* Returns where the text ends. */
static char *put(char *to, const char *text)
{
    while ((*to = *text++))
        to++;
    return to;
}

bool preload_goes_first_as(const char *file, size_t length)
{
    static const char *const names[] = {"libasan.so", "libtsan.so", "liblsan.so", "libhwasan.so",
                                        "libclang_rt."};
    size_t name = length;
    while (name && file[name - 1] != '/')
        name--;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (length - name >= length_of(names[i]) && begins_with(file + name, names[i]))
            return true;
    return false;
}

/* Whether an entry of the list does. */
static bool has_first(const char *value)
{
    while (*value) {
        size_t n = 0;
        while (value[n] && !separates(value[n]))
            n++;
        if (preload_goes_first_as(value, n))
            return true;
        value += n + (value[n] != '\0');
    }
    return false;
}

size_t preload_room_as(const char *ours, const char *first)
{
    return length_of(ours) + length_of(first) + 3;
}

void preload_add_as(char *value, const char *ours, const char *first)
{
    size_t theirs = length_of(value), before = length_of(ours) + (theirs != 0);
    char *end = value + theirs;
    if (!*first && !has_first(value)) {
        for (size_t i = theirs + 1; i-- > 0;)
            value[i + before] = value[i];
        for (size_t i = 0; i < before; i++)
            value[i] = ours[i] ? ours[i] : ':';
        return;
    }
    if (theirs)
        end = put(end, ":");
    if (*first)
        end = put(put(end, first), " ");
    put(end, ours);
}

bool preload_remove_as(char *value, const char *ours)
{
    char *at = value;
    while (*at && !begins_with(at, ours))
        at++;
    if (!*at)
        return false;
    const char *after = at + length_of(ours);
    if (at > value && at[-1] == ' ') { /* the sanitizer before it is ours too */
        char *before = at - 1;
        while (before > value && !separates(before[-1]))
            before--;
        if (preload_goes_first_as(before, (size_t)(at - 1 - before)))
            at = before;
    }
    if (at > value)
        at--;
    else if (*after)
        after++;
    put(at, after);
    return true;
}
