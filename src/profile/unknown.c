#include "profile/unknown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/notes.h"

static int compare(const struct profile_unknown *a, const struct profile_unknown *b)
{
    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    size_t least = a->size < b->size ? a->size : b->size;
    int order = least ? memcmp(a->data, b->data, least) : 0;
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

bool profile_unknown_add(struct profile *p, const struct profile_unknown *u)
{
    uint32_t at = 0;
    while (at < p->unknown_count && compare(&p->unknown[at], u) < 0)
        at++;
    if (at < p->unknown_count && compare(&p->unknown[at], u) == 0)
        return true;
    struct profile_unknown copy = *u;
    copy.data = malloc(u->size ? u->size : 1);
    struct profile_unknown *grown =
        reallocarray(p->unknown, (size_t)p->unknown_count + 1, sizeof *grown);
    if (grown)
        p->unknown = grown;
    if (!grown || !copy.data) {
        free(copy.data);
        return false;
    }
    memcpy(copy.data, u->data, u->size);
    memmove(grown + at + 1, grown + at, (p->unknown_count - at) * sizeof *grown);
    grown[at] = copy;
    p->unknown_count++;
    return true;
}

static bool note_left_out(struct profile *p, uint32_t type)
{
    char line[128];
    snprintf(line, sizeof line, "merging left out section %u, which this version does not know",
             type);
    return profile_note(p, line);
}

static bool leave_out_bound(struct profile *p)
{
    uint32_t kept = 0;
    bool ok = true;
    for (uint32_t i = 0; i < p->unknown_count; i++) {
        if (p->unknown[i].alone) {
            p->unknown[kept++] = p->unknown[i];
            continue;
        }
        ok = ok && note_left_out(p, p->unknown[i].type);
        free(p->unknown[i].data);
    }
    p->unknown_count = kept;
    return ok;
}

bool profile_unknown_merge(struct profile *into, const struct profile *from)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < from->unknown_count; i++)
        ok = from->unknown[i].alone ? profile_unknown_add(into, &from->unknown[i])
                                    : note_left_out(into, from->unknown[i].type);
    return ok && leave_out_bound(into);
}
