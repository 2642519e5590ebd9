/* A shadow from its first instruction to its last. */
#include <asm-generic/errno-base.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

#include "engine/recover.h"
#include "runtime/carrier/burst/burst.h"
#include "runtime/carrier/burst/burst_code.h"
#include "runtime/carrier/burst/burst_native.h"
#include "sigsafe/bytes.h"
#include "sigsafe/hash.h"
#include "sigsafe/memory_used.h"
#include "runtime/carrier/native_frame.h"
#include "runtime/carrier/shadow/pages_there.h"
#include "runtime/carrier/shadow/shadow.h"
#include "runtime/carrier/shadow/shadow_kept.h"
#include "runtime/carrier/shadow/shadow_self.h"
#include "runtime/carrier/shadow/shadow_threads.h"
#include "runtime/carrier/translated.h"
#include "runtime/thread.h"
#include "sigsafe/spool_counts.h"
#include "sigsafe/sys.h"
#include "tools/tools.h"
#include "x86/insn.h"

/* The shadow looks about itself after SLICE instructions. */
enum { SLICE = 1 << 22, HANDLER_STACK = 64 << 10, FRAME_ROOM = 32 << 10, PAGE = 4096 };
enum { KERNEL_SET = 8 };
#define SA_RESTORER_BIT UINT64_C(0x04000000)

struct shadow_self shadow_self;

static const int faults[SHADOW_FAULTS] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};

int shadow_fault_index(int signal)
{
    for (int i = 0; i < SHADOW_FAULTS; i++)
        if (faults[i] == signal)
            return i;
    return -1;
}

static uint64_t faults_mask(void)
{
    uint64_t mask = 0;
    for (int i = 0; i < SHADOW_FAULTS; i++)
        mask |= UINT64_C(1) << (faults[i] - 1);
    return mask;
}

/* ---- the end ---- */

static uint64_t page_faults_as(void)
{
    struct rusage usage;
    if (sys_call3_as(SYS_getrusage, RUSAGE_SELF, (long)&usage, 0) != 0)
        return 0;
    return (uint64_t)usage.ru_minflt;
}

static uint64_t clock_ns_as(int32_t clock)
{
    struct timespec now = {0, 0};
    sys_call3_as(SYS_clock_gettime, clock, (long)&now, 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t cpu_ns_as(void)
{
    return clock_ns_as(CLOCK_PROCESS_CPUTIME_ID);
}

/* CPU time of the program. Linux: include/linux/posix-timers_types.h, make_process_cpuclock(pid,
 * CPUCLOCK_SCHED). */
static uint64_t program_cpu_ns_as(void)
{
    enum { CPUCLOCK_SCHED = 2, PID_SHIFT = 3 };
    return clock_ns_as((int32_t)(~(uint32_t)shadow_self.pid << PID_SHIFT | CPUCLOCK_SCHED));
}

/* CPU time up to now; not all of it ran the program's code. */
static void time_tell(void)
{
    struct shadow_self *self = &shadow_self;
    uint64_t now = cpu_ns_as();
    __atomic_fetch_add(&self->record->cpu_ns, now - self->told_ns, __ATOMIC_RELAXED);
    self->told_ns = now;
}

/* So many instructions have been run: told now and then, since shadows end with their program at
 * any moment, and whenever it begins or ends to observe. */
static void progress_tell(uint64_t ran)
{
    struct shadow_self *self = &shadow_self;
    struct spool_shadows *r = self->record;
    bool passes = self->thread == self->passer;
    time_tell();
    __atomic_fetch_add(passes ? &r->passed_ns : &r->run_ns, self->told_ns - self->begun_ns,
                       __ATOMIC_RELAXED);
    self->begun_ns = self->told_ns;
    __atomic_fetch_add(passes ? &r->passed : &r->instructions, ran - self->told, __ATOMIC_RELAXED);
    self->told = ran;
}

static void figures_add(uint64_t not_run)
{
    struct shadow_self *self = &shadow_self;
    struct spool_shadows *r = self->record;
    engine_thread_finish_as(self->observer);
    progress_tell(self->sliced - (uint64_t)self->thread->budget - not_run);
    shadow_threads_figures(r);
    if (!self->cold)
        translated_figures_as(self->counts, self->observer);
}

_Noreturn void shadow_end_early_as(enum shadow_end why, uint64_t not_run)
{
    struct shadow_self *self = &shadow_self;
    struct spool_shadows *r = self->record;
    if (self->thread)
        figures_add(not_run);
    time_tell();
    __atomic_fetch_add(&r->faults, page_faults_as(), __ATOMIC_RELAXED);
    if (shadow_leave_as(spool_header(&guest.spool), self->seat, thread_monotonic_ns_as()))
        __atomic_fetch_add(&r->ended[why], 1, __ATOMIC_RELAXED);
    shadow_guard_relieve_as();
    for (;;)
        sys_call3_as(SYS_exit_group, 0, 0, 0);
}

_Noreturn void shadow_end_as(enum shadow_end why)
{
    shadow_end_early_as(why, 0);
}

static void cache_lost(void)
{
    /* A mark that the monitor looks for: its next shadows get another engine. */
    __atomic_store_n(&shadow_self.record->cache_lost, 1, __ATOMIC_RELAXED);
    shadow_self.thread = NULL;
    shadow_end_as(END_CACHE_LOST);
}

/* ---- what the engine asks ---- */

static struct trust_range trust_as(void *carrier, uint64_t address)
{
    struct trust_range range = burst_code_trust_as(carrier, address);
    /* What later shadows find translated must be true of their memory too. */
    bool shared = !shadow_self.cold || shadow_self.thread == shadow_self.passer;
    if (range.trust == TRUST_FIXED && !shadow_self.watched && shared)
        range.trust = TRUST_CHECKED;
    return range;
}

static bool program_lives_as(void)
{
    return __atomic_load_n(&spool_header(&guest.spool)->state, __ATOMIC_RELAXED) == SPOOL_RUNNING &&
           sys_call3_as(SYS_kill, shadow_self.pid, 0, 0) != -ESRCH;
}

/* The collector ends it, and its death does. */
static bool finishes(void)
{
    return shadow_settings->flags & SHADOW_FINISHES &&
           !__atomic_load_n(&shadow_self.seat->guard, __ATOMIC_RELAXED);
}

/* A shadow is never ahead of its program: one that has executed more than any processor does in the
 * CPU time that the program has had since the fork has gone another way. It waits, perhaps, for
 * what happens in the program alone. */
static bool astray_as(void)
{
    enum { FASTEST = 20 /* instructions a nanosecond */, AT_ONCE = 1000000000 };
    uint64_t now = program_cpu_ns_as(), begun = shadow_self.program_ns; /* 0: it has just gone */
    return now >= begun && shadow_self.sliced > FASTEST * (now - begun) + AT_ONCE;
}

uint64_t shadow_pages_most(void)
{
    return shadow_settings->memory / PAGE;
}

/* It has changed more memory than it may: neither its page faults, of which some are those of
 * shared memory, nor the pages that there are, of which some are its program's, are fewer. */
static bool is_too_large_as(void)
{
    uint64_t most = shadow_pages_most();
    return most && page_faults_as() > most && memory_used_pages_as() > most;
}

void shadow_look_about_as(void)
{
    bool lives = program_lives_as();
    if (!lives && !finishes())
        shadow_end_as(END_PROGRAM);
    if (is_too_large_as())
        shadow_end_as(END_MEMORY);
    if (__atomic_load_n(&spool_header(&guest.spool)->memory_scarce, __ATOMIC_RELAXED))
        shadow_end_as(END_SCARCE);
    if (__atomic_load_n(&shadow_self.seat->dismissed, __ATOMIC_RELAXED))
        shadow_end_as(END_BUDGET);
    if (lives && shadow_self.seat->ripe && astray_as())
        shadow_end_as(END_COMPLETE);
}

static void slice_ended_as(void)
{
    shadow_self.looked = shadow_self.sliced;
    progress_tell(shadow_self.sliced);
    shadow_look_about_as();
}

/* A stretch is over: there is more. */
static bool goes_on(void)
{
    struct shadow_self *self = &shadow_self;
    struct spool_header *h = spool_header(&guest.spool);
    if (self->observed < shadow_settings->length)
        return true;
    if (!(shadow_settings->flags & SHADOW_GOES_ON))
        return false;
    if (!self->seat->ripe)
        shadow_ripen_as(h, self->seat, thread_monotonic_ns_as());
    return __atomic_load_n(&h->shadows_made, __ATOMIC_RELAXED) == self->made;
}

static void slice_begin(struct engine_thread *t)
{
    uint64_t slice = shadow_threads_turn(shadow_self.left < SLICE ? shadow_self.left : SLICE);
    shadow_self.left -= slice;
    shadow_self.sliced += slice;
    shadow_self.observed += t != shadow_self.passer ? slice : 0;
    t->budget = (int64_t)slice;
}

/* ---- one instruction natively ---- */

/* Only what is known to change nothing but registers, flags and the shadow's own memory: transfers
 * of control. */
static bool may_step_as(const struct engine_thread *t, enum stop_reason why)
{
    enum { LONGEST = 15 };
    struct x86_insn insn;
    return burst_native_may_as(t, why) &&
           x86_decode_as((const uint8_t *)(uintptr_t)t->rip, LONGEST, &insn) &&
           (insn.kind == X86_FAR || insn.kind == X86_NEAR16 || insn.kind == X86_POPF);
}

/* GS stays the engine's: the instruction does not use it. It counts as executed, though no tool
 * sees it. */
static _Noreturn void step_as(struct engine_thread *t)
{
    greg_t *gregs = native_frame_context(shadow_self.frame)->uc_mcontext.gregs;
    __atomic_fetch_add(&shadow_self.counts->alone, 1, __ATOMIC_RELAXED);
    translated_refused_as(shadow_self.counts, t);
    t->budget--;
    engine_registers_put(t, gregs);
    gregs[REG_EFL] |= EFLAGS_TF;
    t->state = ENGINE_NATIVE;
    shadow_self.native = true;
    native_frame_enter_as(shadow_self.frame);
}

/* A signal that has come while the instruction was about to be executed: mostly from behind it. */
static void native_signal_as(struct engine_thread *t, int signal, const siginfo_t *info,
                             ucontext_t *u)
{
    greg_t *gregs = u->uc_mcontext.gregs;
    if (signal != SIGTRAP || info->si_code != CODE_TRAP_TRACE) {
        uint64_t address = (uint64_t)info->si_addr;
        bool shared = signal == SIGSEGV && info->si_code == SEGV_ACCERR &&
                      shadow_memory_is_shared(address, address + 1);
        t->budget++;
        shadow_end_as(shared ? END_SHARED_WRITE : END_FAULT);
    }
    shadow_self.native = false;
    if ((gregs[REG_CSGSFS] & 0xffff) != USER_CS)
        shadow_end_as(END_ENGINE);
    gregs[REG_EFL] &= ~(greg_t)EFLAGS_TF;
    engine_redirect_as(t, gregs);
}

static enum engine_action stopped_as(struct engine_thread *t, enum stop_reason why)
{
    struct engine_thread *to = t;
    if (why == STOP_BUDGET) { /* a loose one is over by some */
        shadow_self.sliced -= (uint64_t)t->budget;
        t->budget = 0;
    }
    if (why == STOP_BUDGET && !shadow_self.left && goes_on())
        to = shadow_pass_next_as(t);
    if (why == STOP_BUDGET && shadow_self.left) {
        if (shadow_self.sliced - shadow_self.looked >= SLICE)
            slice_ended_as();
        shadow_threads_next_as(t);
        if (to != t) {
            progress_tell(shadow_self.sliced);
            slice_begin(to);
            shadow_pass_over_as(to, t);
        }
        slice_begin(t);
        return ENGINE_CONTINUE;
    }
    if (shadow_self.frame && may_step_as(t, why))
        step_as(t);
    __atomic_fetch_add(&shadow_self.counts->stopped[why], 1, __ATOMIC_RELAXED);
    if (translated_is_refusal(why))
        translated_refused_as(shadow_self.counts, t);
    shadow_end_as(why == STOP_BUDGET ? END_COMPLETE : END_ENGINE);
}

static enum engine_action signals_as(struct engine_thread *t)
{
    t->pending = 0; /* all are blocked */
    return ENGINE_CONTINUE;
}

static const struct engine_carrier carrier = {
    .trust = trust_as,
    .system_call = shadow_call_as,
    .stopped = stopped_as,
    .signals = signals_as,
    .key = translated_key_as,
    .own_begin = __ehdr_start,
    .own_end = _end,
};

/* Where threads take turns that are to be the same again, they are counted exactly. */
void shadow_engine_config(struct engine_config *config, struct spool_counts *counts)
{
    uint32_t flags = tools_flags_all(rt.config->tools);
    shadow_passing_config(config);
    config->spool = &guest.spool;
    config->counts = counts;
    config->loose = flags & TOOL_LOOSE && !(shadow_settings->flags & SHADOW_THREADS);
    tools_set_whole(&guest.spool, rt.config->tools, &config->tools);
}

void shadow_passing_config(struct engine_config *config)
{
    bytes_clear_as(config, sizeof *config);
    config->carrier = &carrier;
    config->budget = true;
    config->loose = true;
    config->shared = true;
    config->lost = cache_lost;
}

/* ---- faults ---- */

/* Goes on behind the instruction that would have written to what others see. */
static bool skip_as(ucontext_t *u)
{
    enum { LONGEST = 15 };
    greg_t *gregs = u->uc_mcontext.gregs;
    enum engine_place place = engine_recover_as(shadow_self.thread, gregs);
    struct x86_insn insn;
    if (place != PLACE_BOUNDARY && place != PLACE_CORE)
        return false;
    unsigned length = x86_decode_as((const uint8_t *)gregs[REG_RIP], LONGEST, &insn);
    if (!length || insn.kind != X86_ORDINARY)
        return false;
    gregs[REG_RIP] += length;
    engine_redirect_as(shadow_self.thread, gregs);
    return true;
}

static uint64_t not_run_as(const ucontext_t *u)
{
    struct engine_progress progress = {0, 0};
    engine_progress_as(shadow_self.thread, u->uc_mcontext.gregs, &progress);
    return progress.total - progress.done;
}

static void fault_as(int signal, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    uint64_t address = (uint64_t)info->si_addr;
    if (!shadow_self.thread)
        shadow_end_as(END_SETUP);
    if (signal == SIGSEGV && engine_window_fault_as(shadow_self.thread, address))
        return;
    if (shadow_self.native) {
        native_signal_as(shadow_self.thread, signal, info, u);
        return;
    }
    uint64_t not_run = not_run_as(u);
    if (signal != SIGSEGV || info->si_code != SEGV_ACCERR ||
        !shadow_memory_is_shared(address, address + 1))
        shadow_end_early_as(END_FAULT, not_run);
    if (!(shadow_settings->flags & SHADOW_SKIP_SHARED) || !skip_as(u))
        shadow_end_early_as(END_SHARED_WRITE, not_run);
    __atomic_fetch_add(&shadow_self.record->skipped_writes, 1, __ATOMIC_RELAXED);
}

static void faults_take_as(ucontext_t *u, long stack)
{
    struct shadow_action ours = {.handler = (uint64_t)(uintptr_t)fault_as,
                                 .flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTORER_BIT,
                                 .restorer = (uint64_t)(uintptr_t)shadow_restorer,
                                 .mask = 0};
    for (int i = 0; i < SHADOW_FAULTS; i++)
        sys_call6_as(SYS_rt_sigaction, faults[i], (long)&ours, (long)&shadow_self.actions[i],
                     KERNEL_SET, 0, 0);
    uint64_t *mask = (uint64_t *)(void *)&u->uc_sigmask;
    shadow_self.mask = *mask;
    shadow_self.stack = u->uc_stack;
    *mask = ~faults_mask();
    u->uc_stack = (stack_t){.ss_sp = (void *)stack, .ss_size = HANDLER_STACK};
}

/* ---- the beginning ---- */

static void file_write_as(const char *path, const char *text, uint64_t size)
{
    long fd = sys_call6_as(SYS_openat, AT_FDCWD, (long)path, O_WRONLY | O_CLOEXEC, 0, 0, 0);
    if (fd < 0)
        return;
    sys_call3_as(SYS_write, fd, (long)text, (long)size);
    sys_call3_as(SYS_close, fd, 0, 0);
}

/* The first to be killed, the last to be scheduled, in nobody's terminal, and never dumped. */
static void humble_as(void)
{
    static const char score[] = "1000";
    int32_t priority = 0;
    file_write_as("/proc/self/oom_score_adj", score, sizeof score - 1);
    sys_call6_as(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0, 0);
    sys_call3_as(SYS_setsid, 0, 0, 0);
    sys_call3_as(SYS_sched_setaffinity, 0, sizeof shadow_settings->cpus,
                 (long)shadow_settings->cpus);
    sys_call3_as(SYS_sched_setscheduler, 0, SCHED_IDLE, (long)&priority);
}

static void self_describe_as(const struct shadow_start *start)
{
    struct shadow_self *self = &shadow_self;
    self->record = start->record;
    self->seat = start->seat;
    self->counts = start->counts;
    self->engine = start->engine;
    self->passing = start->passing;
    self->random = hash_word(start->number + 1);
    self->watched = start->watched;
    self->cold = !start->engine;
    self->input_at = start->input_at;
    self->pid = start->pid;
    self->tid = start->tid;
    self->ppid = start->ppid;
    self->group = (int32_t)sys_call3_as(SYS_getpgid, 0, 0, 0);
    self->session = (int32_t)sys_call3_as(SYS_getsid, 0, 0, 0);
    __atomic_store_n(&self->seat->pid, (int32_t)sys_call3_as(SYS_getpid, 0, 0, 0),
                     __ATOMIC_RELAXED);
    rt.state = RT_SHADOW;
}

static void die_with_parent_as(int32_t parent)
{
    sys_call6_as(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
    if (sys_call3_as(SYS_getppid, 0, 0, 0) != parent)
        shadow_end_as(END_PROGRAM);
}

/* Where the window of whoever sat here before goes on. */
static bool area_make_as(const struct shadow_start *start)
{
    struct shadow_self *self = &shadow_self;
    struct spool_window *window = NULL;
    int32_t tid = start->seat->pid;
    if (start->seat->window)
        window = spool_at(&guest.spool, start->seat->window, sizeof *window);
    self->thread = self->observer = engine_thread_share_as(self->engine, tid, window);
    if (!self->thread)
        return false;
    if (!window && self->thread->window.record)
        start->seat->window = spool_ref_of(&guest.spool, self->thread->window.record);
    self->thread->carrier = self;
    return true;
}

static bool engine_need_as(struct shadow_self *self)
{
    struct engine_config config;
    enum stop_reason why;
    if (self->engine)
        return true;
    shadow_engine_config(&config, self->counts);
    self->engine = engine_make_as(&config, &why);
    return self->engine;
}

/* NULL: no instruction is executed natively. */
static struct native_frame *frame_make_as(const ucontext_t *u)
{
    long at = sys_call6_as(SYS_mmap, 0, FRAME_ROOM, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool made = !sys_failed(at);
    return made && native_frame_prepare_as((struct native_frame *)at, u) ? (struct native_frame *)at
                                                                         : NULL;
}

void shadow_begin_as(const struct shadow_start *start)
{
    struct shadow_self *self = &shadow_self;
    self_describe_as(start);
    shadow_kept_forget();
    burst_shadow_begins_as();
    shadow_rseq_part_as();
    die_with_parent_as(start->parent);
    if (!shadow_files_part_as())
        shadow_end_as(END_SETUP);
    /* what cannot be dumped may not open it */
    long pagemap = shadow_passes() ? pages_open_as() : -1;
    humble_as();
    long stack = sys_call6_as(SYS_mmap, 0, HANDLER_STACK, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_failed(stack) || !engine_need_as(self) || !shadow_memory_part_as() ||
        start->context->uc_mcontext.gregs[REG_EFL] & EFLAGS_TF || engine_gs_as(self->engine) ||
        !area_make_as(start) || !shadow_threads_begin_as(start))
        shadow_end_as(END_SETUP);
    faults_take_as(start->context, stack);
    self->frame = frame_make_as(start->context);
    shadow_apart_as(pagemap);
    self->left = shadow_stretch();
    slice_begin(self->thread);
    self->made = __atomic_add_fetch(&spool_header(&guest.spool)->shadows_made, 1, __ATOMIC_RELAXED);
    self->program_ns = program_cpu_ns_as();
    self->begun_ns = cpu_ns_as();
    engine_redirect_as(self->thread, start->context->uc_mcontext.gregs);
}
