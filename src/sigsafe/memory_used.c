#include "sigsafe/memory_used.h"

#include <fcntl.h>
#include <stdbool.h>

#include "sigsafe/sys.h"

static int kept = -1, kept_pid; /* atomic; of a parent it would tell the parent's */

void memory_used_keep(int statm)
{
    __atomic_store_n(&kept, -1, __ATOMIC_RELEASE);
    __atomic_store_n(&kept_pid, (int)sys_call3_as(SYS_getpid, 0, 0, 0), __ATOMIC_RELEASE);
    __atomic_store_n(&kept, statm, __ATOMIC_RELEASE);
}

int memory_used_kept_as(void)
{
    return __atomic_load_n(&kept, __ATOMIC_ACQUIRE);
}

static long read_as(char *text, long size)
{
    int fd = memory_used_kept_as();
    bool own = fd >= 0 &&
               sys_call3_as(SYS_getpid, 0, 0, 0) == __atomic_load_n(&kept_pid, __ATOMIC_ACQUIRE);
    long there = own ? sys_call6_as(SYS_pread64, fd, (long)text, size, 0, 0, 0) : 0;
    if (there > 0)
        return there;
    long opened =
        sys_call6_as(SYS_openat, AT_FDCWD, (long)"/proc/self/statm", O_RDONLY | O_CLOEXEC, 0, 0, 0);
    long n = opened < 0 ? opened : sys_call3_as(SYS_read, opened, (long)text, size);
    if (opened >= 0)
        sys_call3_as(SYS_close, opened, 0, 0);
    return n;
}

static uint64_t number_get(const char **at)
{
    uint64_t number = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++)
        number = number * 10 + (uint64_t)(**at - '0');
    *at += **at == ' ';
    return number;
}

/* Size, resident, and of these shared: of files, the spool and the engines' code among them. */
uint64_t memory_used_pages_as(void)
{
    enum { TEXT = 128 };
    char text[TEXT];
    const char *at = text;
    long size = read_as(text, sizeof text - 1);
    if (size <= 0)
        return UINT64_MAX;
    text[size] = 0;
    number_get(&at);
    uint64_t resident = number_get(&at), of_files = number_get(&at);
    return resident > of_files ? resident - of_files : 0;
}
