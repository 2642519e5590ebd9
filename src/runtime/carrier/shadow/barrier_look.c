#include "runtime/carrier/shadow/barrier_look.h"

#include <asm-generic/errno-base.h>
#include <fcntl.h>
#include <linux/futex.h>

#include "runtime/carrier/shadow/shadow_barrier.h"
#include "runtime/tasks.h"
#include "sigsafe/sys.h"

enum { NAME_AT = 19 /* of struct linux_dirent64 */ };

bool barrier_may_look_as(int32_t tid)
{
    return task_read_as(tid, "syscall") != -EACCES;
}

static long list_part(const char *part, long size, int32_t without, struct barrier_place *places,
                      long room)
{
    long count = 0;
    for (long at = 0; at < size;) {
        const char *entry = part + at, *name = entry + NAME_AT;
        uint64_t tid;
        at += *(const uint16_t *)(const void *)(entry + 16);
        if (*task_number(name, 10, &tid) || !tid || (int32_t)tid == without)
            continue;
        if (count == room)
            return -E2BIG;
        places[count++] = (struct barrier_place){.tid = (int32_t)tid, .call = -1};
    }
    return count;
}

long barrier_list_as(int32_t without, struct barrier_place *places, uint32_t room)
{
    long fd = sys_call6_as(SYS_openat, AT_FDCWD, (long)"/proc/self/task",
                           O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 0, 0);
    long count = 0, size = 0;
    if (fd < 0)
        return fd;
    while (count >= 0 &&
           (size = sys_call3_as(SYS_getdents64, fd, (long)task_text, TASK_TEXT)) > 0) {
        long more = list_part(task_text, size, without, places + count, (long)room - count);
        count = more < 0 ? more : count + more;
    }
    sys_call3_as(SYS_close, fd, 0, 0);
    return size < 0 ? size : count;
}

/* How often it has been given a processor: the third number of schedstat. */
static bool turns_get_as(int32_t tid, uint64_t *turns)
{
    if (task_read_as(tid, "schedstat") <= 0)
        return false;
    const char *at = task_text;
    for (int i = 0; i < 3; i++, at++)
        at = task_number(at, 10, turns);
    return true;
}

/* "running", "CALL 0xARGUMENT ... 0xSP 0xPC", or "-1 0xSP 0xPC". */
enum look barrier_look_as(struct barrier_place *place)
{
    long size = task_read_as(place->tid, "syscall");
    if (size == -ENOENT || size == -3 /* ESRCH: it has just ended */)
        return LOOK_GONE;
    if (size <= 0)
        return LOOK_FAILED;
    /* running; or in the kernel, but in no call: it goes on by itself */
    if (task_text[0] < '0' || task_text[0] > '9')
        return LOOK_RUNS;
    uint64_t call;
    const char *at = task_number(task_text, 10, &call);
    place->call = (int32_t)call;
    for (unsigned i = 0; i < BARRIER_ARGUMENTS && at[0] == ' ' && at[1] == '0' && at[2] == 'x'; i++)
        at = task_number(at + 3, 16, &place->arguments[i]);
    return turns_get_as(place->tid, &place->turns) ? LOOK_SLEEPS : LOOK_FAILED;
}

bool barrier_waits_for_good(const struct barrier_place *place)
{
    uint64_t command = place->arguments[1] & (uint64_t)FUTEX_CMD_MASK;
    return place->call == SYS_futex && (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) &&
           !place->arguments[3];
}
