#include "base/numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct number_unit number_counts[] = {
    {"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {NULL, 0}};
const struct number_unit number_bytes[] = {
    {"", 1},         {"B", 1},         {"k", 1024},     {"K", 1024},      {"kB", 1024},
    {"KiB", 1024},   {"M", 1 << 20},   {"MB", 1 << 20}, {"MiB", 1 << 20}, {"G", 1 << 30},
    {"GB", 1 << 30}, {"GiB", 1 << 30}, {NULL, 0}};
const struct number_unit number_durations[] = {
    {"", 1e9}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9},
    {"d", 86400e9}, {NULL, 0}};
const struct number_unit number_periods[] = {
    {"", 1}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {NULL, 0}};
const struct number_unit number_percent[] = {{"", 1}, {"%", 1}, {NULL, 0}};

static const struct number_unit *find_unit(const struct number_unit *units, const char *name)
{
    for (; units->name; units++)
        if (!strcmp(units->name, name))
            return units;
    return NULL;
}

static void list_units(const struct number_unit *units, char *list, size_t size)
{
    size_t used = 0;
    list[0] = '\0';
    for (; units->name; units++)
        if (units->name[0] && used < size)
            used += (size_t)snprintf(list + used, size - used, "%s%s", used ? ", " : "",
                                     units->name);
}

bool number_parse(const char *text, const struct number_unit *units, double low, double high,
                  const char *what, double *value, struct err *e)
{
    /* strtod also takes signs, blanks, hexadecimal and names; a unit may not look like those. */
    size_t digits = strspn(text, "0123456789.");
    char number[64];
    char *end = number;
    if (digits && digits < sizeof number) {
        memcpy(number, text, digits);
        number[digits] = '\0';
        *value = strtod(number, &end);
    }
    if (end == number || *end)
        return err_set(e, ERR_USAGE, "%s must be a number, not \"%s\"", what, text);
    const struct number_unit *unit = find_unit(units, text + digits);
    if (!unit) {
        char list[64];
        list_units(units, list, sizeof list);
        return err_set(e, ERR_USAGE, "%s: \"%s\" has no unit known here; known are %s", what, text,
                       list);
    }
    *value *= unit->factor;
    if (*value < low || *value > high) {
        double scale = units->factor;
        return err_set(e, ERR_USAGE, "%s must be between %.10g and %.10g, not %s", what,
                       low / scale, high / scale, text);
    }
    return true;
}
