#include "base/suggest.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_LETTERS = 64 };

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Optimal string alignment distance, three rows at a time. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    if (n > NAME_MAX_LETTERS || m > NAME_MAX_LETTERS)
        return SIZE_MAX;
    size_t rows[3][NAME_MAX_LETTERS + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= m; j++)
        last[j] = j;
    for (size_t i = 1; i <= n; i++) {
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t differs = a[i - 1] != b[j - 1];
            row[j] = smallest(last[j] + 1, row[j - 1] + 1, last[j - 1] + differs);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        size_t *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[m];
}

void suggest_offer(struct suggest *s, const char *typed, const char *valid)
{
    size_t typed_length = strlen(typed), valid_length = strlen(valid);
    size_t shorter = typed_length < valid_length ? typed_length : valid_length;
    size_t longer = typed_length < valid_length ? valid_length : typed_length;
    size_t distance = edit_distance(typed, valid);
    size_t allowed = longer / 3 ? longer / 3 : 1;
    if (shorter >= 2 && !strncmp(typed, valid, shorter) && distance > allowed)
        distance = allowed;
    if (distance <= allowed && (!s->best || distance < s->distance)) {
        s->best = valid;
        s->distance = distance;
    }
}

bool suggest_word(const char *what, const char *name, const char *(*word)(unsigned index),
                  uint32_t *index, struct err *e)
{
    struct suggest s = {0};
    char list[512] = "";
    size_t used = 0;
    for (unsigned i = 0; word(i); i++) {
        if (!strcmp(name, word(i))) {
            *index = i;
            return true;
        }
        suggest_offer(&s, name, word(i));
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                     i == 0        ? ""
                                     : word(i + 1) ? ", "
                                                   : " or ",
                                     word(i));
    }
    if (s.best)
        return err_set(e, ERR_USAGE, "there is no %s \"%s\"; did you mean %s?", what, name, s.best);
    return err_set(e, ERR_USAGE, "there is no %s \"%s\"; it is %s", what, name, list);
}
