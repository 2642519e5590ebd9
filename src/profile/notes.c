#include "profile/notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_line(const char *notes, const char *line, size_t length)
{
    for (const char *at = notes; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strcspn(at, "\n") == length && strncmp(at, line, length) == 0)
            return true;
    }
    return false;
}

static bool add_line(struct profile *p, const char *line, size_t length)
{
    const char *old = p->notes;
    char *notes;
    if (!length || has_line(old, line, length))
        return true;
    if (asprintf(&notes, "%s%s%.*s", old, *old ? "\n" : "", (int)length, line) < 0)
        return false;
    free(p->notes);
    p->notes = notes;
    return true;
}

bool profile_note(struct profile *p, const char *lines)
{
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        if (!add_line(p, lines, length))
            return false;
        lines += length + (lines[length] == '\n');
    }
    return true;
}
