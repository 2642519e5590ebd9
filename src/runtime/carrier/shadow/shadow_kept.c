#include "runtime/carrier/shadow/shadow_kept.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>

#include "engine/mappings.h"
#include "sigsafe/sys.h"

enum { RANGES = 1024 };

static struct {
    uint64_t faults; /* at the last look */
    uint32_t count;  /* that it found */
    struct range {
        uint64_t lo, hi;
    } at[RANGES];
} kept;

static uint32_t given;   /* atomic, futex: 1 between the two calls */
static uint32_t forking; /* atomic: threads in fork */

/* Each writes its own word before it reads the other one's: at least one of two sees the other. */
void shadow_kept_fork_begins(void)
{
    static const struct timespec most = {0, 10000000};
    for (;;) {
        __atomic_add_fetch(&forking, 1, __ATOMIC_SEQ_CST);
        if (!__atomic_load_n(&given, __ATOMIC_SEQ_CST))
            return;
        shadow_kept_fork_ends();
        sys_call6_as(SYS_futex, (long)&given, FUTEX_WAIT_PRIVATE, 1, (long)&most, 0, 0);
    }
}

void shadow_kept_fork_ends(void)
{
    __atomic_sub_fetch(&forking, 1, __ATOMIC_SEQ_CST);
}

static bool begin_as(void)
{
    __atomic_store_n(&given, 1, __ATOMIC_SEQ_CST);
    return !__atomic_load_n(&forking, __ATOMIC_SEQ_CST);
}

static void end_as(void)
{
    if (__atomic_exchange_n(&given, 0, __ATOMIC_SEQ_CST))
        sys_call3_as(SYS_futex, (long)&given, FUTEX_WAKE_PRIVATE, INT32_MAX);
}

/* "5.12.0-1-amd64" */
static unsigned number_at(const char **text)
{
    unsigned number = 0;
    for (; **text >= '0' && **text <= '9'; (*text)++)
        number = number * 10 + (unsigned)(**text - '0');
    *text += **text == '.';
    return number;
}

static bool forks_leave_pinned_pages_as(void)
{
    enum { MAJOR = 5, MINOR = 12 };
    struct utsname name;
    if (sys_call3_as(SYS_uname, (long)&name, 0, 0) != 0)
        return false;
    const char *text = name.release;
    unsigned major = number_at(&text);
    return major > MAJOR || (major == MAJOR && number_at(&text) >= MINOR);
}

static bool give_as(void *data, const struct mapping *m)
{
    (void)data;
    if (sys_call3_as(SYS_madvise, (long)m->lo, (long)(m->hi - m->lo), MADV_DOFORK) == 0)
        kept.at[kept.count++] = (struct range){m->lo, m->hi};
    return kept.count < RANGES;
}

void shadow_kept_give_as(uint64_t faults)
{
    if (!faults || (faults == kept.faults && !kept.count))
        return;
    bool may = begin_as();
    kept.faults = may ? faults : 0; /* the next fork looks again */
    kept.count = 0;
    if (may && forks_leave_pinned_pages_as())
        mappings_kept_each_as(give_as, NULL);
}

void shadow_kept_take_as(void)
{
    for (uint32_t i = 0; i < kept.count; i++)
        sys_call3_as(SYS_madvise, (long)kept.at[i].lo, (long)(kept.at[i].hi - kept.at[i].lo),
                     MADV_DONTFORK);
    end_as();
}

void shadow_kept_forget(void)
{
    kept.faults = kept.count = 0;
    given = forking = 0;
}
