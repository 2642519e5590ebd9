#include "collector/callbacks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tell_note(const struct recording_callbacks *c, const char *format, ...)
{
    char *text;
    va_list arguments;
    if (!c->note)
        return;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    c->note(c->context, text ? text : format);
    free(text);
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
