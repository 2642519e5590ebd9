/* Printing functions with a variable number of arguments. They are passed on in a va_list, so that
 * what is in vector registers is needed here: the one file of the runtime that is compiled with
 * them. It runs only in calls that the program makes. */
#include <stdarg.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

int __vfprintf_chk(FILE *restrict, int, const char *restrict, va_list);
int __vdprintf_chk(int, int, const char *restrict, va_list);
int __printf_chk(int, const char *restrict, ...);
int __fprintf_chk(FILE *restrict, int, const char *restrict, ...);
int __dprintf_chk(int, int, const char *restrict, ...);

#define PRINT(name, parameters, call)                                                              \
    EXPORT int name parameters                                                                     \
    {                                                                                              \
        va_list list;                                                                              \
        va_start(list, format);                                                                    \
        int result = call;                                                                         \
        va_end(list);                                                                              \
        return result;                                                                             \
    }
PRINT(printf, (const char *restrict format, ...), vfprintf(stdout, format, list))
PRINT(fprintf, (FILE *restrict f, const char *restrict format, ...), vfprintf(f, format, list))
PRINT(dprintf, (int fd, const char *restrict format, ...), vdprintf(fd, format, list))
PRINT(__printf_chk, (int flag, const char *restrict format, ...),
      __vfprintf_chk(stdout, flag, format, list))
PRINT(__fprintf_chk, (FILE *restrict f, int flag, const char *restrict format, ...),
      __vfprintf_chk(f, flag, format, list))
PRINT(__dprintf_chk, (int fd, int flag, const char *restrict format, ...),
      __vdprintf_chk(fd, flag, format, list))
