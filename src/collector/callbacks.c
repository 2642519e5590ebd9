#include "collector/callbacks.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NOTE_MOST = 2048 };

void tell_note(const struct recording_callbacks *c, const char *format, ...)
{
    char text[NOTE_MOST];
    va_list arguments;
    if (!c->note)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    c->note(c->context, text);
}

void tell_notes(const struct recording_callbacks *c, const char *lines)
{
    while (*lines) {
        int n = (int)strcspn(lines, "\n");
        tell_note(c, "%.*s", n, lines);
        lines += n + (lines[n] == '\n');
    }
}

void tell_warning(const struct recording_callbacks *c, const struct err *what)
{
    if (c->warning)
        c->warning(c->context, what);
}

void tell_in_child(const struct recording_callbacks *c)
{
    if (c->in_child)
        c->in_child(c->context);
}
