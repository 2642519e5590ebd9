#include "cli/daemon_settings.h"

#include <errno.h>
#include <ini.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"

struct row {
    const char *key;
    size_t field, word;
    const struct number_unit *units;
    double least, most, fallback;
};

#define ROW(letter, field, key, units, least, most, fallback, ...)                                         \
    {key, offsetof(struct daemon_settings, field), offsetof(struct daemon_words, field), units,    \
     least, most, fallback},
static const struct row rows[] = {DAEMON_SETTINGS(ROW)};
enum { ROWS = sizeof rows / sizeof rows[0] };

static bool put(struct daemon_settings *s, const struct row *row, const char *value,
                struct err *e)
{
    double number;
    if (!number_parse(value, row->units, row->least, row->most, row->key, &number, e))
        return false;
    memcpy((char *)s + row->field, &number, sizeof number);
    return true;
}

struct reading {
    struct daemon_settings *s;
    struct err *e;
    bool failed;
};

/* inih: 0 is an error, and its line is what ini_parse_file returns. */
static int take(void *data, const char *section, const char *key, const char *value)
{
    struct reading *r = data;
    const struct row *row = NULL;
    for (unsigned i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].key, key))
            row = &rows[i];
    bool ok = !r->failed;
    if (ok && *section)
        ok = err_set(r->e, ERR_USAGE, "it has no sections: [%s]", section);
    if (ok && !row)
        ok = err_set(r->e, ERR_USAGE, "there is no setting \"%s\"", key);
    ok = ok && put(r->s, row, value, r->e);
    r->failed |= !ok;
    return ok;
}

static bool file_read(struct daemon_settings *s, const char *given, struct err *e)
{
    const char *path = given ? given : DAEMON_CONFIG;
    struct err problem = {0};
    struct reading r = {.s = s, .e = &problem};
    FILE *f = fopen(path, "re");
    if (!f && !given && errno == ENOENT)
        return true;
    if (!f)
        return err_set_errno(e, ERR_NOT_FOUND, errno, "cannot read the settings in %s", path);
    int line = ini_parse_file(f, take, &r);
    fclose(f);
    if (r.failed)
        return err_set(e, ERR_USAGE, "%s:%d: %s", path, line, problem.message);
    return !line || err_set(e, ERR_USAGE, "%s:%d: this is no KEY = VALUE", path, line);
}

bool daemon_settings_read(struct daemon_settings *s, const struct daemon_words *given,
                          const char *file, struct err *e)
{
    struct daemon_settings made = {0};
    for (unsigned i = 0; i < ROWS; i++)
        memcpy((char *)&made + rows[i].field, &rows[i].fallback, sizeof rows[i].fallback);
    if (!file_read(&made, file, e))
        return false;
    for (unsigned i = 0; i < ROWS; i++) {
        const char *value;
        memcpy(&value, (const char *)given + rows[i].word, sizeof(const char *));
        if (value && !put(&made, &rows[i], value, e))
            return false;
    }
    *s = made;
    return true;
}
