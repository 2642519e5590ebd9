/* A carrier: where the code runs that is observed. Each is a table of functions. A recording has
 * one carrier, and the rest of the runtime calls it through `rt.carrier` only (tools/check-layers).
 *
 *      trigger ──> handler ──> sample_as: charges the sample ──true──> take_as: observed code runs
 *
 * Context: of each function, as said there. _as: any signal handler of the thread concerned.
 * Ownership: tables are constants. */
#ifndef PENUMBRA_RUNTIME_CARRIER_CARRIER_H
#define PENUMBRA_RUNTIME_CARRIER_CARRIER_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "runtime/runtime.h"
#include "runtime/sandbox_calls.h"
#include "runtime/trigger/trigger.h"
#include "unwind/unwind.h"

/* Behind a call of the program's. */
enum memory_change {
    MEMORY_WRITABLE, /* it may write there from now on */
    MEMORY_MOVED,    /* other memory is there */
};

/* A function is NULL where the carrier has nothing to do, unless it says otherwise. */
struct carrier {
    bool translates; /* the program's code runs under the engine */
    bool in_vforked; /* code between vfork and exec is observed */
    const struct sandbox_calls *system_calls; /* that only this carrier makes (sandbox_calls.h) */

    /* ---- the beginning ---- */

    /* The carrier's own settings (sigsafe/settings.h), of a spool that has just been mapped. False:
     * they are not there. NULL: it has none. */
    bool (*settings_take)(const struct spool *spool);
    /* Ordinary code, the process's only thread, which runs in the carrier from the return on.
     * False: it cannot. NULL: triggers interrupt threads. */
    bool (*begin)(void);

    /* ---- a sample: in the trigger's handler, on the interrupted thread ---- */

    /* Charges the sample; regs are the interrupted ones. True: take_as is to be called, which is
     * not NULL then. Not NULL unless `begin` is. */
    bool (*sample_as)(struct rt_thread *t, const struct unwind_regs *regs,
                      struct trigger_charge charge);
    /* The handler is about to return to u, which may be changed. ticks: the time stamp counter at
     * the handler's entry. */
    void (*take_as)(struct rt_thread *t, ucontext_t *u, uint64_t ticks);

    /* ---- the budget: where there is one ---- */

    /* The share of CPU time that triggers may cost, of that which the budget grants, both in parts
     * per million. NULL: all of it. */
    uint64_t (*trigger_ppm)(uint64_t budget_ppm);
    /* CPU time of the carrier's own work at a trigger that the thread's record does not have. */
    uint64_t (*trigger_ns)(void);

    /* ---- other signals: in their handler. True: it was the carrier's, and the handler returns
     * ---- */

    /* A SIGTRAP that is no sample. */
    bool (*trap_as)(const siginfo_t *info, ucontext_t *u);
    /* One that the kernel raises for faults, or that somebody has sent. Not NULL: such signals are
     * to pass through the runtime (interpose/faults.h). */
    bool (*fault_as)(int signal, siginfo_t *info, ucontext_t *u);

    /* ---- threads that are sampled ---- */

    /* The calling thread has a state and a record. */
    void (*thread_begin_as)(struct rt_thread *t);
    /* The thread, which may be any and executes no observed code, is not sampled any more. */
    void (*thread_end_as)(struct rt_thread *t);
    /* Code that is observed runs in the thread, which may be any: outside of handlers. */
    bool (*is_active_as)(const struct rt_thread *t);
    /* It stops threads: each gets an event for that (trigger_stop_thread_as). Any context. */
    bool (*stops_threads)(void);
    /* That event's signal has come, and its handler is about to return to u. Not NULL where
     * stops_threads is not. */
    void (*stop_as)(struct rt_thread *t, ucontext_t *u);

    /* ---- code that changes: ordinary code, behind the program's call ---- */

    /* Libraries have gone: what was translated of them is not to be entered again. */
    void (*images_changed)(void);
    void (*memory_changed)(uint64_t lo, uint64_t hi, enum memory_change how);

    /* ---- the process ---- */

    /* It is to be profiled: opens the files that the carrier reads later (kept_files.h). */
    void (*files_keep_as)(void);
    /* Around fork(), in the parent: ordinary code. */
    void (*fork_prepare)(void);
    void (*fork_parent)(void);
    /* In a fork child, where nothing is left of the parent's other threads and records, and around
     * an attach: all begins anew. */
    void (*forget)(void);
    /* The process ends, or another image takes its place, unless the call fails. Any context. */
    void (*program_ends_as)(void);
    void (*program_goes_on_as)(void);
};

#define CARRIER_TABLE(id, name) extern const struct carrier carrier_##name;
CARRIERS_PRELOADED(CARRIER_TABLE)
#undef CARRIER_TABLE

/* Calls a function of the carrier's, where there is one: arguments in parentheses. What is asked is
 * false where there is none. */
#define CARRIER_TELL(function, arguments)                                                          \
    do {                                                                                           \
        if (rt.carrier->function)                                                                  \
            rt.carrier->function arguments;                                                        \
    } while (0)
#define CARRIER_ASK(function, arguments) (rt.carrier->function && rt.carrier->function arguments)

/* Triggers interrupt threads; else there are no samples, no signals of ours and no trampolines. */
static inline bool carrier_samples_as(void)
{
    return !rt.carrier->begin;
}

/* By enum carrier_kind; the handler's for one that is not known. */
const struct carrier *carrier_of(uint32_t kind);

#endif
