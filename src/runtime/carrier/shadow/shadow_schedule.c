#include "runtime/carrier/shadow/shadow_threads.h"

#include <asm-generic/errno.h>
#include <asm/prctl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <time.h>

#include "runtime/carrier/shadow/shadow.h"
#include "runtime/carrier/shadow/shadow_barrier.h"
#include "runtime/carrier/shadow/shadow_vectors.h"
#include "runtime/thread.h"
#include "sigsafe/hash.h"
#include "sigsafe/sys.h"

/* The mean of a turn: long enough that what a switch costs does not count, short enough that
 * waiting for a lock by spinning is a small part of a shadow. */
enum { TURN = 1 << 16, ADDED_MOST = 256 };

static struct {
    struct shadow_thread *at;  /* NULL: the interrupted thread is alone */
    struct shadow_thread *current;
    uint32_t count, room;
    uint32_t rebuilt;          /* the first of them; the others began here */
    uint64_t random, tickets, switches;
} threads;

/* xorshift64*: the seed decides all there is to decide. */
static uint64_t draw(uint64_t below)
{
    threads.random ^= threads.random >> 12;
    threads.random ^= threads.random << 25;
    threads.random ^= threads.random >> 27;
    return (threads.random * UINT64_C(0x2545f4914f6cdd1d) >> 32) % below;
}

/* ---- the beginning ---- */

static void registers_of(struct shadow_thread *to, const greg_t *gregs)
{
    static const uint8_t from[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                     REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                     REG_R12, REG_R13, REG_R14, REG_R15};
    for (unsigned i = 0; i < 16; i++)
        to->gpr[i] = (uint64_t)gregs[from[i]];
    to->rip = (uint64_t)gregs[REG_RIP];
    to->rflags = (uint64_t)gregs[REG_EFL];
}

/* One that stood still. It may have gone on while the copy was made, if the monitor was very slow:
 * then its frame is not there any more. */
static bool rebuild(struct shadow_thread *to, const struct rt_barrier *b)
{
    enum { EFLAGS_TF = 0x100 };
    const ucontext_t *u = b->context;
    if (!b->joined || b->gs || u->uc_mcontext.gregs[REG_EFL] & EFLAGS_TF)
        return false;
    registers_of(to, u->uc_mcontext.gregs);
    to->state = THREAD_READY;
    to->fs = b->fs;
    to->child_tid = b->child_tid;
    to->robust = b->robust;
    to->mask = *(const uint64_t *)(const void *)&u->uc_sigmask;
    to->stack = u->uc_stack;
    to->load = u->uc_mcontext.fpregs;
    return true;
}

/* What it waits for is known; where it would go on is not. */
static void sleep_on(struct shadow_thread *to, const struct barrier_place *place)
{
    uint64_t command = place->arguments[1] & (uint64_t)FUTEX_CMD_MASK;
    bool waits =
        place->call == SYS_futex && (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET);
    to->state = THREAD_ASLEEP;
    to->call = place->call;
    to->wait_at = waits ? place->arguments[0] : 0;
    to->wait_bits = !waits                         ? 0
                    : command == FUTEX_WAIT_BITSET ? (uint32_t)place->arguments[5]
                                                   : UINT32_MAX;
}

/* The monitor looks whether anybody ran while it forked. */
static enum seat_verdict verdict_await_as(struct spool_seat *seat)
{
    enum { ROUNDS = 100 };
    const struct timespec most = {0, 20000000};
    uint32_t verdict;
    for (int i = 0; !(verdict = __atomic_load_n(&seat->verdict, __ATOMIC_ACQUIRE)) && i < ROUNDS;
         i++)
        sys_call6_as(SYS_futex, (long)&seat->verdict, FUTEX_WAIT, VERDICT_NONE, (long)&most, 0, 0);
    return (enum seat_verdict)verdict;
}

static void interrupted_describe(const struct shadow_start *start)
{
    struct shadow_thread *self = &threads.at[threads.count++];
    self->state = THREAD_READY;
    self->tid = start->tid;
    self->child_tid = start->child_tid;
    self->robust = start->robust;
    self->ran = true;
    threads.current = self;
}

bool shadow_threads_begin_as(const struct shadow_start *start)
{
    uint32_t count;
    const struct barrier_place *places = shadow_barrier_places(&count);
    if (!start->whole)
        return true;
    if (verdict_await_as(start->seat) != VERDICT_WHOLE)
        shadow_end_as(END_TORN);
    if (!shadow_vectors_begin_as(start->context->uc_mcontext.fpregs))
        return false;
    uint64_t size = (uint64_t)(count + 1 + ADDED_MOST) * sizeof *threads.at;
    long at = sys_call6_as(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_failed(at))
        return false;
    threads.at = (struct shadow_thread *)at;
    threads.count = 0;
    threads.tickets = threads.switches = 0;
    threads.room = count + 1 + ADDED_MOST;
    threads.random = hash_word(shadow_settings->seed + start->number) | 1;
    interrupted_describe(start);
    for (uint32_t i = 0; i < count; i++) {
        struct shadow_thread *to = &threads.at[threads.count];
        if (!places[i].tid)
            continue;
        to->tid = places[i].tid;
        if (!places[i].stopped || !rebuild(to, &places[i].thread->carrier.barrier))
            sleep_on(to, &places[i]);
        threads.count++;
    }
    threads.rebuilt = threads.count;
    return true;
}

/* ---- switching ---- */

static void state_save_as(struct engine_thread *t, struct shadow_thread *to)
{
    for (unsigned i = 0; i < 16; i++)
        to->gpr[i] = t->gpr[i];
    to->rip = t->rip;
    to->rflags = t->rflags;
    to->mask = shadow_self.mask;
    to->stack = shadow_self.stack;
    sys_call3_as(SYS_arch_prctl, ARCH_GET_FS, (long)&to->fs, 0);
    if (!to->area && !(to->area = shadow_vectors_area_as()))
        shadow_end_as(END_SETUP);
    shadow_vectors_save(to->area);
    to->load = to->area;
}

static void state_load_as(struct engine_thread *t, struct shadow_thread *from)
{
    for (unsigned i = 0; i < 16; i++)
        t->gpr[i] = from->gpr[i];
    t->rip = from->rip;
    t->rflags = from->rflags;
    shadow_self.mask = from->mask;
    shadow_self.stack = from->stack;
    shadow_self.tid = from->tid;
    sys_call3_as(SYS_arch_prctl, ARCH_SET_FS, (long)from->fs, 0);
    shadow_vectors_load(from->load);
    from->ran = true;
}

/* What a tool has seen so far ends here: it sees one sequence of instructions for each turn. */
static void switch_to_as(struct engine_thread *t, struct shadow_thread *next)
{
    engine_flush_as(t, true);
    state_load_as(t, next);
    threads.current = next;
    threads.switches++;
}

static uint32_t ready_count(const struct shadow_thread *without)
{
    uint32_t ready = 0;
    for (uint32_t i = 0; i < threads.count; i++)
        ready += threads.at[i].state == THREAD_READY && &threads.at[i] != without;
    return ready;
}

static struct shadow_thread *ready_draw(const struct shadow_thread *without)
{
    uint32_t ready = ready_count(without);
    uint64_t left = ready ? draw(ready) : 0;
    for (uint32_t i = 0; ready && i < threads.count; i++)
        if (threads.at[i].state == THREAD_READY && &threads.at[i] != without && !left--)
            return &threads.at[i];
    return NULL;
}

/* Time passes only where nobody can run: then the first time limit is over. */
static struct shadow_thread *time_out(void)
{
    struct shadow_thread *first = NULL;
    for (uint32_t i = 0; i < threads.count; i++) {
        struct shadow_thread *one = &threads.at[i];
        if (one->state == THREAD_WAITS && one->timed && (!first || one->ticket < first->ticket))
            first = one;
    }
    if (first) {
        shadow_threads_wake(first);
        first->gpr[ENGINE_RAX] = (uint64_t)-ETIMEDOUT;
    }
    return first;
}

void shadow_threads_leave_as(struct engine_thread *t, long result, enum shadow_end why)
{
    struct shadow_thread *current = threads.current;
    state_save_as(t, current);
    current->gpr[ENGINE_RAX] = (uint64_t)result;
    current->gpr[ENGINE_RCX] = current->rip; /* as the instruction leaves them */
    current->gpr[ENGINE_R11] = current->rflags;
    struct shadow_thread *next = ready_draw(current);
    if (!next)
        next = time_out();
    if (!next)
        shadow_call_ends_as(t, why);
    switch_to_as(t, next);
}

uint64_t shadow_threads_turn(uint64_t most)
{
    if (!threads.at)
        return most;
    uint64_t turn = TURN / 2 + draw(TURN);
    return turn < most ? turn : most;
}

void shadow_threads_next_as(struct engine_thread *t)
{
    struct shadow_thread *next = threads.at ? ready_draw(NULL) : NULL;
    if (!next || next == threads.current)
        return;
    state_save_as(t, threads.current);
    switch_to_as(t, next);
}

/* ---- the list ---- */

struct shadow_thread *shadow_threads_current(void)
{
    return threads.current;
}

struct shadow_thread *shadow_threads_add_as(struct engine_thread *t)
{
    if (threads.count == threads.room)
        return NULL;
    struct shadow_thread *to = &threads.at[threads.count];
    state_save_as(t, to);
    to->state = THREAD_READY;
    /* Above what the kernel gives out (its PID_MAX_LIMIT), so that it is nobody else's. */
    to->tid = (1 << 22) + (int32_t)threads.count++;
    return to;
}

bool shadow_threads_others_ready(void)
{
    return ready_count(threads.current) != 0;
}

bool shadow_threads_others_left(void)
{
    for (uint32_t i = 0; i < threads.count; i++)
        if (threads.at[i].state == THREAD_WAITS && threads.at[i].timed)
            return true;
    return shadow_threads_others_ready();
}

struct shadow_thread *shadow_threads_waiter(uint64_t at, uint32_t bits)
{
    struct shadow_thread *first = NULL;
    for (uint32_t i = 0; i < threads.count; i++) {
        struct shadow_thread *one = &threads.at[i];
        bool waits = one->state == THREAD_WAITS && one->wait_at == at && one->wait_bits & bits;
        if (waits && (!first || one->ticket < first->ticket))
            first = one;
    }
    /* Those that cannot go on come last: a lock that one of them got would never be free again. */
    for (uint32_t i = 0; !first && i < threads.count; i++) {
        struct shadow_thread *one = &threads.at[i];
        if (one->state == THREAD_ASLEEP && one->wait_at == at && one->wait_bits & bits)
            first = one;
    }
    return first;
}

void shadow_threads_wait(struct shadow_thread *thread, uint64_t at, uint32_t bits, bool timed)
{
    thread->state = THREAD_WAITS;
    thread->wait_at = at;
    thread->wait_bits = bits;
    thread->timed = timed;
    thread->ticket = ++threads.tickets;
}

void shadow_threads_wake(struct shadow_thread *thread)
{
    thread->wait_at = 0;
    thread->timed = thread->inherits = false;
    if (thread->state == THREAD_WAITS)
        thread->state = THREAD_READY;
}

bool shadow_threads_any(void)
{
    for (uint32_t i = 0; i < threads.count; i++)
        if (threads.at[i].state != THREAD_GONE)
            return true;
    return false;
}

bool shadow_threads_know(int32_t tid)
{
    for (uint32_t i = 0; i < threads.count; i++)
        if (threads.at[i].tid == tid && threads.at[i].state != THREAD_GONE)
            return true;
    return false;
}

void shadow_threads_figures(struct spool_shadows *record)
{
    uint64_t asleep = 0, ran = 0;
    for (uint32_t i = 0; i < threads.rebuilt; i++) {
        const struct shadow_thread *one = &threads.at[i];
        ran += one->ran;
        if (one->state != THREAD_ASLEEP)
            continue;
        asleep++;
        uint32_t call = (uint32_t)one->call < SHADOW_CALLS ? (uint32_t)one->call : SHADOW_CALLS - 1;
        __atomic_fetch_add(&record->asleep_in[call], 1, __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&record->asleep, asleep, __ATOMIC_RELAXED);
    __atomic_fetch_add(&record->rebuilt, threads.rebuilt - asleep, __ATOMIC_RELAXED);
    __atomic_fetch_add(&record->scheduled, ran, __ATOMIC_RELAXED);
    __atomic_fetch_add(&record->switches, threads.switches, __ATOMIC_RELAXED);
}
