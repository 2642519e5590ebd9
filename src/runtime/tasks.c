#include "runtime/tasks.h"

#include <fcntl.h>

#include "sigsafe/sys.h"

enum { PATH_SIZE = 64 };

static char *text_put(char *to, const char *text)
{
    while (*text)
        *to++ = *text++;
    *to = 0;
    return to;
}

static char *number_put(char *to, uint32_t number)
{
    char digits[12];
    unsigned count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count)
        *to++ = digits[--count];
    *to = 0;
    return to;
}

_Alignas(8) char task_text[TASK_TEXT];

long task_read_as(int32_t tid, const char *name)
{
    char path[PATH_SIZE];
    char *end = text_put(path, "/proc/self/task/");
    end = number_put(end, (uint32_t)tid);
    end = text_put(end, "/");
    text_put(end, name);
    long fd = sys_call6_as(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (fd < 0)
        return fd;
    long size = sys_call3_as(SYS_read, fd, (long)task_text, TASK_TEXT - 1);
    sys_call3_as(SYS_close, fd, 0, 0);
    task_text[size > 0 ? size : 0] = 0;
    return size;
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

const char *task_number(const char *at, unsigned base, uint64_t *number)
{
    *number = 0;
    for (int d; (d = digit(*at)) >= 0 && (unsigned)d < base; at++)
        *number = *number * base + (unsigned)d;
    return at;
}

bool task_blocks_as(int32_t tid, int signal)
{
    static const char wanted[] = "SigBlk:\t";
    if (task_read_as(tid, "status") <= 0)
        return true;
    for (const char *at = task_text; *at; at++) {
        unsigned same = 0;
        while (same < sizeof wanted - 1 && at[same] == wanted[same])
            same++;
        if (same < sizeof wanted - 1)
            continue;
        uint64_t mask;
        task_number(at + same, 16, &mask);
        return mask >> (signal - 1) & 1;
    }
    return true;
}
