#include "symbols/demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

/* The demangler's time and stack grow with the name; longer names than this are shown as they are.
 */
enum { DEMANGLE_MAX = 16 * 1024 };

/* The length without a ".cold" or ".cold.7" at the end. */
static size_t length_without_cold(const char *name)
{
    size_t length = strlen(name);
    size_t end = length;
    while (end > 0 && isdigit((unsigned char)name[end - 1]))
        end--;
    if (end > 0 && end < length && name[end - 1] == '.')
        end--;
    else
        end = length;
    if (end > 5 && !memcmp(name + end - 5, ".cold", 5))
        return end - 5;
    return length;
}

const char *demangle(struct pool *pool, const char *name)
{
    size_t length = length_without_cold(name);
    if (length >= DEMANGLE_MAX)
        return pool_intern(pool, name);
    char *plain = strndup(name, length);
    if (!plain) {
        pool->failed = true;
        return "";
    }
    char *readable = NULL;
    if (plain[0] == '_' && (plain[1] == 'Z' || plain[1] == 'R' || plain[1] == 'D'))
        readable = cplus_demangle(plain, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
    const char *result = pool_intern(pool, readable ? readable : plain);
    free(readable);
    free(plain);
    return result;
}

const char *demangle_symbol(struct pool *pool, const char *name)
{
    const char *version = strchr(name, '@');
    if (!version || version == name)
        return demangle(pool, name);
    char *bare = strndup(name, (size_t)(version - name));
    const char *result = bare ? demangle(pool, bare) : "";
    pool->failed |= !bare;
    free(bare);
    return result;
}
