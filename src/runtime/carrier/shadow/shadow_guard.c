/* The guard: a process between the program and a shadow of it, where the collector is not the
 * program's parent.
 *
 *      program ── fork ──> guard ── clone(CLONE_VM) ──> shadow
 *                 (copies    │      (same memory,         │ its memory from here on
 *                 memory)    │      hardly any time)      │
 *                            waits, on a stack of its own
 *
 * The program can see the guard's times among those of its children, and nothing else of it: it has
 * no exit signal. So all that takes time is done in the program itself (the fork) or in the shadow,
 * which the kernel buries with its times. */
#include "runtime/carrier/shadow/shadow.h"

#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "runtime/carrier/shadow/shadow_self.h"
#include "runtime/carrier/translated.h"
#include "runtime/thread.h"
#include "sigsafe/spool_shadow.h"
#include "sigsafe/sys.h"

enum { STACK = 4096, KERNEL_SET = 8 };

/* ---- in the guard ---- */

/* In the memory that the guard shares with the shadow, which has no use for it. */
static struct {
    struct spool_seat *seat;
    struct spool_shadows *record;
    int32_t program;
    uint8_t stack[STACK] __attribute__((aligned(16)));
} guard;

static uint64_t bit(int signal)
{
    return UINT64_C(1) << (signal - 1);
}

static bool program_lives_as(void)
{
    return sys_call3_as(SYS_getppid, 0, 0, 0) == guard.program;
}

static _Noreturn void leave_as(enum shadow_end how)
{
    if (shadow_leave_as(spool_header(&guest.spool), guard.seat, thread_monotonic_ns_as()))
        __atomic_fetch_add(&guard.record->ended[how], 1, __ATOMIC_RELAXED);
    for (;;)
        sys_call3_as(SYS_exit_group, 0, 0, 0);
}

/* SIGCHLD: the shadow has ended, and is buried. SIGTERM: the thread that forked has ended; perhaps
 * its process has too, and then nobody waits for this one: it sees the shadow to its end, which
 * would have init for its parent otherwise. Either that comes from elsewhere means nothing. */
static void wait_as(long shadow)
{
    const uint64_t awaited = bit(SIGCHLD) | bit(SIGTERM);
    enum shadow_end how = END_KILLED;
    if (shadow < 0)
        leave_as(END_SETUP);
    sys_call3_as(SYS_close_range, 0, UINT32_MAX, 0);
    while (sys_call6_as(SYS_wait4, shadow, 0, WNOHANG, 0, 0, 0) == 0) {
        if (!program_lives_as()) {
            how = END_PROGRAM;
            sys_call3_as(SYS_kill, shadow, SIGKILL, 0);
        }
        sys_call6_as(SYS_rt_sigtimedwait, (long)&awaited, 0, 0, KERNEL_SET, 0, 0);
    }
    leave_as(how);
}

/* All signals are blocked; the kernel buries children without being asked to, and still says so. */
static void prepare_as(void)
{
    const struct shadow_action buried = {.flags = SA_NOCLDWAIT};
    const uint64_t all = ~UINT64_C(0);
    sys_call6_as(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, 0, KERNEL_SET, 0, 0);
    sys_call6_as(SYS_rt_sigaction, SIGCHLD, (long)&buried, 0, KERNEL_SET, 0, 0);
    sys_call6_as(SYS_prctl, PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0, 0);
    shadow_rseq_part_as();
}

/* ---- in the shadow ---- */

/* Where this library is (translated.h): the guard's code, its stack, and what both know of the
 * recording. */
struct kept {
    uint64_t lo, hi;
};

static void sort(struct kept *at, unsigned count)
{
    for (unsigned i = 1; i < count; i++)
        for (unsigned k = i; k && at[k].lo < at[k - 1].lo; k--) {
            struct kept other = at[k];
            at[k] = at[k - 1];
            at[k - 1] = other;
        }
}

void shadow_guard_relieve_as(void)
{
    enum { FRAMES = 64 << 10 };
    const uint64_t page = 4096, top = (UINT64_C(1) << 47) - page;
    uint64_t stack = (uint64_t)(uintptr_t)__builtin_frame_address(0) & ~(page - 1);
    uint64_t spool = (uint64_t)(uintptr_t)guest.spool.base, from = 0;
    struct kept kept[] = {
        {(uint64_t)(uintptr_t)__ehdr_start, (uint64_t)(uintptr_t)_end},
        {spool, spool + guest.spool.mapped},
        {stack - FRAMES, stack + FRAMES},
        {top, top},
    };
    enum { KEPT = sizeof kept / sizeof *kept };
    if (!guard.program)
        return;
    sort(kept, KEPT);
    for (unsigned i = 0; i < KEPT; i++) {
        uint64_t lo = kept[i].lo & ~(page - 1), hi = (kept[i].hi + page - 1) & ~(page - 1);
        if (lo > from)
            sys_call3_as(SYS_munmap, (long)from, (long)(lo - from), 0);
        if (hi > from)
            from = hi;
    }
}

/* ---- in the program ---- */

long shadow_guard_fork_as(struct shadow_start *start)
{
    long pid = sys_call6_as(SYS_clone, 0, 0, 0, 0, 0, 0);
    if (pid != 0)
        return pid;
    start->parent = (int32_t)sys_call3_as(SYS_getpid, 0, 0, 0);
    __atomic_store_n(&start->seat->guard, start->parent, __ATOMIC_RELAXED);
    guard.seat = start->seat;
    guard.record = start->record;
    guard.program = start->pid;
    prepare_as();
    if (!program_lives_as())
        leave_as(END_PROGRAM);
    shadow_split(guard.stack + STACK, wait_as);
    return 0;
}
