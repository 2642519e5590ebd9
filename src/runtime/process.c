#include "runtime/process.h"

#include <link.h>
#include <sys/mman.h>

#include "guest/image_symbols.h"
#include "guest/images.h"
#include "runtime/carrier/carrier.h"
#include "runtime/interpose/real.h"
#include "runtime/trampoline/forbidden.h"
#include "runtime/trampoline/trampoline.h"
#include "runtime/interpose/alternate.h"
#include "runtime/interpose/environment.h"
#include "runtime/interpose/signals.h"
#include "runtime/interpose/signals_held.h"
#include "runtime/interpose/signals_mask.h"
#include "runtime/interpose/vfork.h"
#include "runtime/sandbox.h"
#include "runtime/sandbox_filter.h"
#include "runtime/sandbox_outside.h"
#include "runtime/self.h"
#include "runtime/thread.h"
#include "runtime/trigger/sync.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/hash.h"
#include "sigsafe/own_memory.h"
#include "sigsafe/sys.h"

enum { PAGE = 4096 };

/* 1 in the process that has put it there, 0 in every copy of its memory: the kernel clears the
 * page. NULL: it cannot. */
static uint32_t *ours;

static void ours_make(void)
{
    long at = own_map_as(0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (sys_failed(at))
        return;
    if (sys_call3_as(SYS_madvise, at, PAGE, MADV_WIPEONFORK) != 0) {
        own_unmap_as((const void *)at, PAGE);
        return;
    }
    ours = (uint32_t *)at;
    *ours = 1;
}

static bool of_copy;  /* one that is no copy, but was made by one */
static uint32_t held; /* atomic: process_samples_hold */
static uint32_t executing; /* atomic: threads that are about to execute a program */

/* What the runtime's part of a record says at the beginning. */
static struct spool_process *record_make(void)
{
    struct spool_process *p = guest_process_make_as(rt_quiet_as() ? outside_number() : 0);
    if (!p)
        return NULL;
    p->cookie_at = (uint64_t)&rt.cookie;
    p->mechanism = rt.config->mechanism;
    p->exclude_kernel = rt.config->exclude_kernel;
    p->trampoline = rt_profiled_as() ? guest.process->trampoline : TRAMPOLINE_NOT_ASKED;
    p->cookie = rt.cookie =
        (uint32_t)(hash_word(sys_ticks_as()) >> 32) ^ (uint32_t)p->pid;
    return p;
}

static void record_publish(struct spool_process *p)
{
    guest_process_publish_as(p);
    rt.state = RT_PROFILED;
}

bool process_begin(int argc, char **argv)
{
    /* Where the collector is behind, the program waits: else nothing would be known of it. */
    enum { TRIES = 3, ENOUGH = 1 << 18, MS = 200, TRANSLATED_MS = 5000 };
    uint32_t ms = rt.carrier->translates ? TRANSLATED_MS : MS;
    struct spool_process *p = NULL;
    bool ready = true;
    for (int i = 0; i < TRIES && ready && !p; i++) {
        ready = spool_wait_as(&guest.spool, ENOUGH, ms);
        p = record_make();
    }
    if (!p)
        return false;
    p->command = guest_command(argc, argv);
    record_publish(p);
    ours_make();
    return true;
}

bool process_join(void)
{
    struct spool_process *p = record_make();
    if (!p)
        return false;
    p->command = guest_command_of_kernel();
    guest_name_of_kernel(p);
    record_publish(p);
    return true;
}

/* Where the image has what HotSpot exports for its debugger, or 0. */
static uint64_t vm_structs_as(const struct image_source *source)
{
    struct image_symbols s;
    const Elf64_Sym *found =
        image_symbols_open_as(source, &s) ? image_symbols_find_as(&s, "gHotSpotVMStructs") : NULL;
    return found ? source->bias + found->st_value : 0;
}

static void image_look_as(const struct image_source *source, struct unwind_image *image)
{
    image->vm_structs = vm_structs_as(source);
    forbidden_note_as(source, image);
}

/* Async-signal-safe and lock-free by its documentation. */
typedef int find_object(void *, struct dl_find_object *);
/* from glibc 2.35 on */
static struct real_place loader_find REAL_PLACE = {"_dl_find_object", NULL};

bool process_images_begin(void)
{
    return images_begin((struct images_ways){(find_object *)loader_find.found, image_look_as});
}

bool process_is_copy_as(void)
{
    return ours && !*ours;
}

bool process_of_copy_as(void)
{
    return of_copy || !ours || !*ours;
}

int32_t process_number_as(void)
{
    sandbox_in_as(NULL); /* a filter may come for all threads */
    bool asks = !vfork_is_confined_as() && (!rt_quiet_as() || sandbox_lets_number());
    int32_t number = asks ? (int32_t)sys_call3_as(SYS_getpid, 0, 0, 0) : 0;
    sandbox_out_as(NULL, 0);
    if (asks)
        return number;
    return vfork_is_child_as() || process_is_copy_as() ? PROCESS_FOREIGN : guest.pid;
}

bool process_foreign_as(void)
{
    return process_number_as() != guest.pid;
}

void process_end_as(void)
{
    if (!rt_profiled_as())
        return;
    if (process_foreign_as()) {
        vfork_child_leaves_as(false);
        return;
    }
    if (rt_quiet_as()) {
        guest_end_as();
        return;
    }
    struct rt_thread *t = self_get();
    uint64_t begun_cpu_ns = thread_cpu_ns_as();
    CARRIER_TELL(program_ends_as, ());
    if (t)
        sync_families_end(t);
    if (t)
        thread_settle_as(t);
    thread_note_others_as(t);
    if (t)
        trigger_took_as(t, thread_cpu_ns_as() - begun_cpu_ns);
    guest_end_as();
}

/* Opening the event of discovery takes longer than all that is left to do once the trigger is set,
 * and so comes before it. */
static bool arm_as(struct rt_thread *t)
{
    if (guest.process->mechanism == MECHANISM_PERF && !ticks_discover_as(t))
        trigger_discover_as();
    bool armed = trigger_arm_as(t);
    if (!armed || guest.process->mechanism != MECHANISM_PERF)
        trigger_abandon_as(NULL);
    return armed;
}

void process_arm(uint64_t stack_size, const void *stack_top, uint64_t begun_cpu_ns)
{
    struct rt_thread *t = thread_make_as();
    if (!t)
        return;
    thread_stack_as(t, stack_top, stack_size);
    if (!thread_begin_as(t))
        return;
    alternate_begin_as(t);
    if (!arm_as(t)) {
        thread_unarmed_as();
        thread_end_as(t);
        return;
    }
    self_set(t);
    sync_families_begin();
    guest.process->armed_cpu_ns = thread_cpu_ns_as();
    trigger_took_as(t, guest.process->armed_cpu_ns - begun_cpu_ns);
}

bool process_copy_as(void)
{
    struct spool_process *parent = guest.process;
    struct spool_process *p =
        rt_running_as() && spool_header(&guest.spool)->follow ? record_make() : NULL;
    if (!p) {
        rt.state = RT_LEFT_OUT;
        return false;
    }
    p->command = parent->command;
    ticks_forked_as(parent);
    record_publish(p);
    guest_fork_child_copy_as();
    sync_families_fork_child();
    CARRIER_TELL(files_keep_as, ());
    return true;
}

/* The child of a raw fork becomes ours first: its child is made as it is, with its mask and its
 * signal stack. */
void process_copy_prepare(void)
{
    process_adopt();
    of_copy |= process_is_copy_as();
}

void process_fork_prepare(void)
{
    process_copy_prepare();
    CARRIER_TELL(fork_prepare, ());
}

void process_fork_parent(void)
{
    CARRIER_TELL(fork_parent, ());
}

static void fork_child_quiet(struct rt_thread *t)
{
    struct spool_process *parent = guest.process;
    enum left_reason why = outside_refuses_as(t);
    if (why == LEFT_COUNT)
        why = process_copy_as() ? outside_fork_child(t) : LEFT_ROOM;
    if (why == LEFT_COUNT)
        return;
    if (guest.process != parent)
        __atomic_store_n(&guest.process->state, PROCESS_EXITED, __ATOMIC_RELEASE);
    guest.process = parent;
    rt.state = RT_PROFILED;
    sandbox_left_out_as(0, 1, why);
    signals_fork_child();
    if (sandbox_lets_close())
        trigger_abandon_all_as();
    rt.state = RT_LEFT_OUT; /* without a trigger nothing will come */
}

void process_fork_child(void)
{
    struct rt_thread *t = self_get();
    uint64_t begun_cpu_ns = rt_profiled_as() && !rt_quiet_as() ? thread_cpu_ns_as() : 0;
    if (ours)
        *ours = 1;
    rt.inside = held = executing = 0; /* of threads that are not here */
    sandbox_filter_fork_child();
    vfork_fork_child();
    environment_fork_child();
    held_forget_all_as();
    own_memory_locks_as(false);
    trampoline_fork_child(t);
    if (!rt_quiet_as()) /* in a sandbox its memory stays, and nobody uses it */
        CARRIER_TELL(forget, ());
    if (!rt_profiled_as())
        return;
    if (!carrier_samples_as())
        return; /* the engine has seen it */
    if (rt_quiet_as()) {
        fork_child_quiet(t);
        return;
    }
    trigger_fork_child_as();
    if (!process_copy_as()) {
        signals_uninstall();
        return;
    }
    if (rt.attached) {
        /* exec may be called by code that does not pass through us, and a signal on its way would
         * meet an image without a handler: children that live long are found soon enough. */
        self_set(NULL);
        thread_fork_child_as(NULL);
        trigger_discover_as();
        return;
    }
    if (!t || !thread_fork_child_as(t))
        return;
    if (!arm_as(t)) {
        thread_unarmed_as();
        return;
    }
    guest.process->armed_cpu_ns = thread_cpu_ns_as();
    trigger_took_as(t, guest.process->armed_cpu_ns - begun_cpu_ns);
}

void process_adopt(void)
{
    if (!ours || *ours || !rt_profiled_as() || !carrier_samples_as() || rt_quiet_as())
        return;
    struct rt_thread *t = self_get();
    if (t)
        alternate_again_as(t);
    const bool *believed = signals_believed_as(); /* by the child that it has been so far */
    bool blocked = believed && *believed, acts = believed && signals_child_acts_as();
    signals_believe_blocked(blocked);
    if (t)
        t->mask.trap_blocked = blocked;
    signals_adopt();
    process_fork_child();
    if (rt_profiled_as())
        signals_believe_as(blocked);
    if (rt_profiled_as() && acts)
        signals_mask_real_as(SIG_UNBLOCK);
    signals_adopt_stacks();
}

/* Whoever detaches sets `retired`, silences all events, and waits until no thread is in our code:
 * what is resumed at that moment is silenced again before this thread leaves it. */
void process_events_resume(struct rt_thread *t)
{
    if (__atomic_load_n(&rt.retired, __ATOMIC_ACQUIRE))
        return;
    if (t)
        trigger_resume_as(t);
    trigger_resume_discovery_as();
    trigger_seek_start();
    if (__atomic_load_n(&rt.retired, __ATOMIC_ACQUIRE))
        trigger_stop_all_as();
}

bool process_samples_hold(void)
{
    if (!rt_running_as() || !carrier_samples_as() || rt_quiet_as() || process_foreign_as())
        return false;
    __atomic_fetch_add(&held, 1, __ATOMIC_SEQ_CST);
    trigger_stop_all_as();
    sandbox_await_handlers();
    return true;
}

void process_samples_release(void)
{
    if (__atomic_sub_fetch(&held, 1, __ATOMIC_SEQ_CST) || rt_quiet_as() ||
        __atomic_load_n(&rt.retired, __ATOMIC_ACQUIRE))
        return;
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < used; i++) {
        struct rt_thread *t = thread_at_as(i);
        if (t)
            trigger_resume_as(t);
    }
    trigger_resume_discovery_as();
    trigger_seek_start();
    if (__atomic_load_n(&rt.retired, __ATOMIC_ACQUIRE))
        trigger_stop_all_as();
}

static void exec_begins(void)
{
    __atomic_add_fetch(&executing, 1, __ATOMIC_SEQ_CST);
    guest_exec_as();
}

/* True: no other thread is about to execute a program. */
static bool exec_failed(void)
{
    bool last = !__atomic_sub_fetch(&executing, 1, __ATOMIC_SEQ_CST);
    if (last)
        guest_exec_failed_as();
    return last;
}

static struct signals_lent exec_quiet(void)
{
    bool ignores = sandbox_exec_begins();
    exec_begins();
    struct signals_lent lent = signals_lend(true);
    lent.exec_ignores = ignores;
    return lent;
}

struct signals_lent process_before_exec(void)
{
    if (!rt_profiled_as())
        return signals_lend(true);
    if (process_foreign_as()) {
        vfork_child_leaves_as(true);
        return signals_lend(true);
    }
    if (rt_quiet_as()) /* or a sample would end the new image */
        return exec_quiet();
    uint64_t begun_cpu_ns = thread_cpu_ns_as();
    trigger_seek_stop_as(); /* its first tick makes a trigger, which the next line must find */
    struct rt_thread *t = self_get();
    if (t) {
        /* A sample raised inside execve would reach the new image, which has no handler yet. */
        __atomic_store_n(&t->executes, true, __ATOMIC_SEQ_CST);
        trigger_pause_as(t);
        sync_families_end(t);
        thread_settle_as(t);
    }
    thread_note_others_as(t);
    trigger_pause_discovery_as();
    CARRIER_TELL(program_ends_as, ());
    guest.process->exec_cpu_ns = thread_cpu_ns_as();
    if (t)
        trigger_took_as(t, guest.process->exec_cpu_ns - begun_cpu_ns);
    exec_begins();
    return signals_lend(true);
}

void process_after_failed_exec(struct signals_lent lent)
{
    struct rt_thread *t = self_get();
    signals_return(lent);
    if (!rt_profiled_as())
        return;
    if (process_foreign_as()) {
        vfork_child_stays_as();
        return;
    }
    if (t)
        __atomic_store_n(&t->executes, false, __ATOMIC_SEQ_CST);
    if (rt_quiet_as()) {
        sandbox_exec_failed(exec_failed());
        return;
    }
    CARRIER_TELL(program_goes_on_as, ());
    exec_failed();
    if (t)
        thread_ends_at(t, 0);
    process_events_resume(t);
}
