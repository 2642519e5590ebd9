#include "runtime/carrier/exact/whole.h"

#include <asm/prctl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "engine/mappings.h"
#include "engine/state.h"
#include "runtime/carrier/exact/whole_internal.h"
#include "runtime/carrier/exact/whole_syscall.h"
#include "sigsafe/rseq.h"
#include "sigsafe/own_memory.h"
#include "sigsafe/sys.h"

_Static_assert(offsetof(ucontext_t, uc_mcontext.gregs[REG_RSP]) == UCONTEXT_RSP, "whole_layout.h");
_Static_assert(SYS_RT_SIGPROCMASK == SYS_rt_sigprocmask && SYS_RT_SIGRETURN == SYS_rt_sigreturn &&
                   SYS_EXIT == SYS_exit && SYS_ARCH_PRCTL == SYS_arch_prctl,
               "whole_layout.h");

struct whole whole;
uint32_t whole_left_count;
uint8_t whole_fsgsbase;

/* ---- the program's memory ---- */

static bool moved(long number, const void *ours, uint64_t theirs, uint64_t size)
{
    struct iovec local = {(void *)(uintptr_t)ours, size}, remote = {(void *)theirs, size};
    long pid = sys_call3_as(SYS_getpid, 0, 0, 0);
    long n = sys_call6_as(number, pid, (long)&local, 1, (long)&remote, 1, 0);
    return n == (long)size;
}

bool whole_read_as(void *to, uint64_t from, uint64_t size)
{
    return moved(SYS_process_vm_readv, to, from, size);
}

bool whole_write_as(uint64_t to, const void *from, uint64_t size)
{
    return moved(SYS_process_vm_writev, from, to, size);
}

/* ---- threads ---- */

/* Held for a few instructions, with signals put off or blocked. */
void whole_lock_as(void)
{
    while (__atomic_exchange_n(&whole.lock, 1, __ATOMIC_ACQUIRE))
        sys_call3_as(SYS_sched_yield, 0, 0, 0);
}

void whole_unlock_as(void)
{
    __atomic_store_n(&whole.lock, 0, __ATOMIC_RELEASE);
}

/* The areas that are in use: what a signal handler compares a GS base with, without a lock. */
enum { OWNERS = 1 << 16 };
static uint64_t owners[OWNERS];
static uint32_t owners_used;

static uint32_t owner_put(const struct engine_thread *t)
{
    for (uint32_t i = 0; i < OWNERS; i++) {
        uint64_t empty = 0;
        if (!__atomic_compare_exchange_n(&owners[i], &empty, (uint64_t)t, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED))
            continue;
        uint32_t used = __atomic_load_n(&owners_used, __ATOMIC_RELAXED);
        while (used <= i && !__atomic_compare_exchange_n(&owners_used, &used, i + 1, false,
                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            ;
        return i;
    }
    return OWNERS;
}

bool whole_owns_as(uint64_t gs)
{
    uint32_t used = __atomic_load_n(&owners_used, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < used; i++)
        if (__atomic_load_n(&owners[i], __ATOMIC_RELAXED) == gs)
            return true;
    return false;
}

struct whole_thread *whole_thread_make_as(int32_t tid)
{
    long at = own_map_as(0, sizeof(struct whole_thread), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (sys_failed(at))
        return NULL;
    struct whole_thread *w = (struct whole_thread *)at;
    w->t = engine_thread_make_as(whole.engine, tid);
    w->owner = w->t ? owner_put(w->t) : OWNERS;
    if (w->owner == OWNERS) {
        if (w->t)
            engine_thread_free_as(w->t);
        own_unmap_as(w, sizeof *w);
        return NULL;
    }
    w->t->carrier = w;
    w->actions = &whole.actions;
    whole_lock_as();
    w->next = whole.threads;
    whole.threads = w;
    whole_unlock_as();
    return w;
}

static void release(struct whole_thread *w)
{
    __atomic_store_n(&owners[w->owner], 0, __ATOMIC_RELAXED);
    engine_thread_free_as(w->t);
    own_unmap_as(w, sizeof *w);
}

void whole_thread_free_as(struct whole_thread *w)
{
    whole_lock_as();
    struct whole_thread **at = &whole.threads;
    while (*at && *at != w)
        at = &(*at)->next;
    if (*at)
        *at = w->next;
    whole_unlock_as();
    release(w);
}

void whole_reap_as(void)
{
    struct whole_thread *ended = NULL;
    whole_lock_as();
    for (struct whole_thread **at = &whole.threads; *at;) {
        struct whole_thread *w = *at;
        if (!__atomic_load_n(&w->ended, __ATOMIC_ACQUIRE)) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        w->next = ended;
        ended = w;
    }
    whole_unlock_as();
    while (ended) {
        struct whole_thread *next = ended->next;
        release(ended);
        ended = next;
    }
}

static void gs_set(uint64_t base)
{
    if (whole_fsgsbase)
        __asm__ volatile("wrgsbase %0" : : "r"(base));
    else
        sys_call3_as(SYS_arch_prctl, ARCH_SET_GS, (long)base, 0);
}

/* In the new thread, on its engine stack, GS still its maker's. */
void whole_thread_begun_as(struct engine_thread *child)
{
    gs_set(0);
    if (whole_thread_as(child)->cleared)
        whole_signals_cleared_as(whole_thread_as(child)->actions);
    if (child->window.record)
        child->window.record->tid = (int32_t)sys_call3_as(SYS_gettid, 0, 0, 0);
    if (!whole.events->thread_begin(child))
        whole_stopped_as(child, STOP_NO_MEMORY);
    engine_start_as(child);
}

/* ---- stops ---- */

bool whole_some_left_as(void)
{
    return __atomic_load_n(&whole_left_count, __ATOMIC_RELAXED) != 0;
}

/* int 0x80: it may wait, or make a thread, of which nothing would be known. */
static bool is_old_call(uint64_t pc)
{
    enum { INT_80 = 0x80cd };
    uint16_t code = 0;
    return whole_read_as(&code, pc, sizeof code) && code == INT_80;
}

/* An instruction that was executed natively led out of 64-bit code. */
void whole_strayed_as(struct engine_thread *t)
{
    t->host_gs = 0;
    __atomic_add_fetch(&whole_left_count, 1, __ATOMIC_RELAXED);
    whole.events->left(t, STOP_FAR_TRANSFER);
    engine_release_as(t);
}

enum engine_action whole_stopped_as(struct engine_thread *t, enum stop_reason why)
{
    /* The program has used up all descriptors that it may have: every instruction would be stepped
     * over. */
    if (why == STOP_UNREADABLE && !mappings_readable_as())
        why = STOP_NO_MAPS;
    /* This faults natively, or is an instruction that we do not know, or can do nothing with. */
    bool alone = why == STOP_INVALID || why == STOP_FAR_TRANSFER ||
                 (why == STOP_UNSUPPORTED && !is_old_call(t->rip));
    if (alone)
        whole.events->alone(t);
    if (alone || why == STOP_UNREADABLE) {
        whole_native_step_as(t);
        return ENGINE_LEAVE;
    }
    uint64_t mask = whole_block_as();
    if (!t->mask_changed)
        whole_mask_as(t, mask);
    t->host_gs = 0;
    __atomic_add_fetch(&whole_left_count, 1, __ATOMIC_RELAXED);
    whole.events->left(t, why);
    return ENGINE_LEAVE;
}

/* ---- beginning ---- */

/* A copied critical section would not be one: glibc does without. */
static void rseq_end(struct rseq *area)
{
    if (area && rseq_end_as(area))
        area->cpu_id = (uint32_t)RSEQ_CPU_ID_REGISTRATION_FAILED;
}

static bool gs_free(void)
{
    uint64_t base = 1;
    sys_call3_as(SYS_arch_prctl, ARCH_GET_GS, (long)&base, 0);
    return base == 0;
}

bool whole_begin(struct engine *e, const struct whole_events *events, void *rseq)
{
    if (!gs_free())
        return false;
    whole.engine = e;
    whole.events = events;
    whole_fsgsbase = e->fsgsbase;
    struct whole_thread *w = whole_thread_make_as((int32_t)sys_call3_as(SYS_gettid, 0, 0, 0));
    if (!w)
        return false;
    whole_mask_as(w->t, whole_block_as());
    if (!events->thread_begin(w->t)) {
        sys_call6_as(SYS_rt_sigprocmask, SIG_SETMASK, (long)&w->t->mask, 0, sizeof w->t->mask, 0,
                     0);
        whole_thread_free_as(w);
        return false;
    }
    stack_t stack;
    if (sys_call3_as(SYS_sigaltstack, 0, (long)&stack, 0) == 0 && !(stack.ss_flags & SS_DISABLE)) {
        w->t->alt_lo = (uint64_t)stack.ss_sp;
        w->t->alt_size = stack.ss_size;
    }
    whole_signals_take_as();
    rseq_end(rseq);
    return whole_take_as(w->t);
}
