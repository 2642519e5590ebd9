#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool err_set(struct err *e, enum err_code code, const char *format, ...)
{
    if (!e || e->code)
        return false;
    va_list args;
    va_start(args, format);
    vsnprintf(e->message, sizeof e->message, format, args);
    va_end(args);
    e->code = code;
    return false;
}

bool err_set_errno(struct err *e, enum err_code code, int errno_value, const char *format, ...)
{
    if (!e || e->code)
        return false;
    va_list args;
    va_start(args, format);
    vsnprintf(e->message, sizeof e->message, format, args);
    va_end(args);
    size_t used = strlen(e->message);
    snprintf(e->message + used, sizeof e->message - used, ": %s", strerror(errno_value));
    e->code = code;
    return false;
}

bool err_prefix(struct err *e, const char *format, ...)
{
    if (!e)
        return false;
    struct err old = *e;
    va_list args;
    va_start(args, format);
    vsnprintf(e->message, sizeof e->message, format, args);
    va_end(args);
    size_t used = strlen(e->message);
    snprintf(e->message + used, sizeof e->message - used, ": %s", old.message);
    return false;
}
