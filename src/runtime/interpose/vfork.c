#include "runtime/interpose/vfork.h"

#include <sched.h>
#include <sys/types.h>

#include "runtime/carrier/carrier.h"
#include "runtime/trampoline/trampoline.h"
#include "runtime/interpose/real.h"
#include "runtime/process.h"
#include "runtime/sandbox.h"
#include "runtime/self.h"
#include "runtime/thread.h"
#include "runtime/trigger/sync.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/sys.h"

/* Called by vfork.S. */
#define CALLED __attribute__((visibility("hidden")))
CALLED void vfork_begins(void);
CALLED void vfork_child(void);
CALLED void vfork_parent(pid_t child);

/* Who executes in this thread's memory: the thread itself at depth 0, or a child, a child's child.
 * One that leaves says so, for a signal's handler of the parent's may run before vfork_parent does,
 * and never return there. */
struct depth {
    uint32_t children;
    uint32_t confined; /* the first of them that entered a filter of its own; 0: none */
    bool left;
};
static _Thread_local struct depth depth __attribute__((tls_model("initial-exec")));
static bool confined_ever; /* atomic */

static struct rt_vfork_level *level_now(void)
{
    struct rt_thread *t = rt_profiled_as() ? self_get() : NULL;
    uint32_t number = depth.left ? 0 : depth.children;
    return t && number < RT_VFORK_LEVELS ? &t->vfork_levels[number] : NULL;
}

static void level_keep(void)
{
    struct rt_vfork_level *level = level_now();
    if (!level)
        return;
    int32_t pid = process_number_as();
    *level = (struct rt_vfork_level){0};
    if (pid != guest.pid && pid != PROCESS_FOREIGN)
        *level = (struct rt_vfork_level){pid, *signals_belief_child(), self_get()->actions};
}

static void level_return(void)
{
    struct rt_vfork_level *level = level_now();
    if (!level || !level->pid || level->pid != process_number_as())
        return;
    *signals_belief_child() = level->belief;
    self_get()->actions = level->actions;
    level->pid = 0;
}

static void depth_enter(void)
{
    if (depth.left)
        depth.children = depth.confined = 0;
    depth.left = false;
    depth.children++;
}

static void depth_return(void)
{
    depth.left = false;
    if (depth.children)
        depth.children--;
    if (depth.children < depth.confined)
        depth.confined = 0;
}

bool vfork_is_child_as(void)
{
    return depth.children && !depth.left;
}

bool vfork_is_confined_as(void)
{
    return __atomic_load_n(&confined_ever, __ATOMIC_RELAXED) && depth.confined;
}

void vfork_child_confines(void)
{
    vfork_child_unsample_as();
    if (!vfork_is_child_as() || depth.confined)
        return;
    depth.confined = depth.children;
    __atomic_store_n(&confined_ever, true, __ATOMIC_RELAXED);
}

void vfork_fork_child(void)
{
    depth = (struct depth){0};
}

/* Calls are counted where they are made. A signal that is blocked for the kernel, too, would be
 * pending, and seen. A process that nobody was told of is not sampled, nor its child; and who has
 * set the signal's action itself has a child that would see the samples. */
static bool is_sampled(const struct rt_thread *waits)
{
    return waits && !process_is_copy_as() && !signals_child_acts_as() &&
           !(signals_yield_as() && waits->mask.trap_blocked) && rt_running_as() &&
           !rt_quiet_as() && rt.carrier->in_vforked &&
           !trigger_is_synchronous(rt.config->trigger);
}

/* The state of the calling process; NULL: it has none, or may not ask. */
static struct rt_thread *own_as(void)
{
    struct rt_thread *waits = rt_profiled_as() ? self_get() : NULL,
                     *t = waits ? waits->vfork.child : NULL;
    if (!t || rt_quiet_as() || vfork_is_confined_as())
        return NULL;
    return t->tid == (int32_t)sys_call3_as(SYS_gettid, 0, 0, 0) ? t : NULL;
}

void vfork_begins(void)
{
    level_keep();
    trampoline_lift(rt_profiled_as() ? self_get() : NULL);
}

/* Children of one thread are counted in one record: there may be thousands, each of a fraction of a
 * period. */
static struct rt_thread *child_begin(struct rt_thread *waits)
{
    struct rt_thread *t = waits->vfork.spare;
    waits->vfork.spare = NULL;
    if (t && thread_begin_again_as(t))
        return t;
    if (!t)
        t = thread_make_as();
    if (!t)
        return NULL;
    t->vfork.is_child = true;
    return thread_begin_as(t) ? t : NULL;
}

void vfork_child(void)
{
    depth_enter();
    signals_belief_of_child();
    struct rt_thread *waits = rt_profiled_as() ? self_get() : NULL;
    struct rt_thread *t = is_sampled(waits) ? child_begin(waits) : NULL;
    if (!t)
        return;
    t->unwind.stack_lo = waits->unwind.stack_lo;
    t->unwind.stack_hi = waits->unwind.stack_hi;
    t->vfork.child = waits->vfork.child; /* a child's own child */
    waits->vfork.child = t;
    if (!trigger_arm_as(t))
        thread_unarmed_as();
}

/* The clock of a process's CPU time (the kernel's linux/posix-timers.h: CPUCLOCK_SCHED below the
 * complement). */
static uint64_t cpu_of(pid_t pid)
{
    struct timespec t = {0, 0};
    if (sys_call3_as(SYS_clock_gettime, (long)(int32_t)((uint32_t)~pid << 3 | 2), (long)&t, 0) < 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- posix_spawn ---- */

/* The thread that is to be charged; NULL: none. */
static struct rt_thread *spawns_as(void)
{
    struct rt_thread *t = rt_profiled_as() ? self_get() : NULL;
    bool charged = is_sampled(t) && rt.config->trigger == TRIGGER_CPU && !t->filter.silenced &&
                   t->tid == (int32_t)sys_call3_as(SYS_gettid, 0, 0, 0);
    return charged ? t : NULL;
}

uint64_t vfork_spawn_begins(void)
{
    return spawns_as() ? thread_monotonic_ns_as() : 0;
}

/* What is less than a period waits for the next child's. */
static void spawned_charge(struct rt_thread *t, uint64_t ns)
{
    struct sync_hold hold = {.thread = t, .ticks = sys_ticks_as(), .inside = sandbox_in_as(t)};
    uint64_t period = rt.config->period;
    sync_mask(&hold);
    t->record->cpu_ns += ns;
    t->vfork.spawned_ns += ns;
    uint64_t weight = t->vfork.spawned_ns / period;
    t->vfork.spawned_ns %= period;
    if (weight && !t->busy) {
        t->busy = 1;
        sync_sample(&hold, weight);
        t->busy = 0;
    }
    sync_unmask(&hold);
    sandbox_out_as(t, hold.inside);
}

void vfork_spawned(pid_t child, uint64_t begun)
{
    struct rt_thread *t = child > 0 && begun ? spawns_as() : NULL;
    if (!t)
        return;
    uint64_t cpu = cpu_of(child), most = thread_monotonic_ns_as() - begun,
             ns = cpu < most ? cpu : most;
    struct spool_left *left = ns ? spool_alloc_as(&guest.spool, sizeof *left) : NULL;
    if (!left)
        return;
    left->pid = child;
    left->cpu_ns = ns;
    spool_push_as(&guest.spool, &guest.process->left, left);
    spawned_charge(t, ns);
}

/* ---- vfork and clone ---- */

/* Its descriptors and its timer were the child's own. One that did not say that it leaves has been
 * killed, or has left by a system call of its own. */
void vfork_parent(pid_t child)
{
    if (child > 0)
        depth_return();
    level_return();
    struct rt_thread *waits = rt_profiled_as() ? self_get() : NULL,
                     *t = waits ? waits->vfork.child : NULL;
    if (child < 0 || !t || t->tid != child)
        return;
    waits->vfork.child = t->vfork.child;
    trigger_forget_as(t);
    if (!t->vfork.has_left) {
        uint64_t cpu = rt_quiet_as() ? 0 : cpu_of(child);
        t->record->cpu_ns += cpu > t->cpu_seen ? cpu - t->cpu_seen : 0;
        thread_ends_at(t, rt_quiet_as() ? t->record->start_ns : thread_monotonic_ns_as());
    }
    __atomic_store_n(&rt.slots[t->slot], NULL, __ATOMIC_RELEASE);
    t->vfork.child = NULL;
    if (waits->vfork.spare)
        thread_free_as(t);
    else
        waits->vfork.spare = t;
}

void vfork_child_leaves_as(bool by_exec)
{
    struct rt_thread *t = own_as();
    depth.left = vfork_is_child_as();
    if (!t)
        return;
    trigger_pause_as(t);
    thread_settle_as(t);
    t->vfork.has_left = true;
    t->vfork.left = by_exec ? spool_alloc_as(&guest.spool, sizeof *t->vfork.left) : NULL;
    if (!t->vfork.left)
        return;
    t->vfork.left->pid = t->tid;
    t->vfork.left->cpu_ns = t->cpu_seen;
    spool_push_as(&guest.spool, &guest.process->left, t->vfork.left);
}

void vfork_child_unsample_as(void)
{
    struct rt_thread *t = own_as();
    if (t)
        trigger_disarm_as(t);
}

void vfork_child_stays_as(void)
{
    depth.left = false;
    struct rt_thread *t = own_as();
    if (!t)
        return;
    t->vfork.has_left = false;
    if (t->vfork.left)
        t->vfork.left->cpu_ns = 0;
    trigger_resume_as(t);
}

struct begin {
    int (*function)(void *);
    void *argument;
};

static int clone_run(void *state)
{
    struct begin begin = *(struct begin *)state;
    vfork_child();
    struct rt_thread *t = own_as();
    if (t) /* it is on a stack of its own */
        t->unwind.stack_lo = t->unwind.stack_hi = 0;
    int result = begin.function(begin.argument);
    vfork_child_leaves_as(false);
    return result;
}

bool vfork_is_clone(int flags)
{
    return (flags & (CLONE_VM | CLONE_VFORK | CLONE_THREAD | CLONE_SETTLS)) ==
           (CLONE_VM | CLONE_VFORK);
}

int vfork_clone(int (*function)(void *), void *stack, int flags, void *argument,
                void *const more[3])
{
    struct begin begin = {function, argument};
    vfork_begins();
    int child = REAL(clone)(clone_run, stack, flags, &begin, more[0], more[1], more[2]);
    vfork_parent(child);
    return child;
}
