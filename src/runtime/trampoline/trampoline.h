/* One trampoline a thread: a sample costs what is new on the stack, and edges are counted when they
 * return (csprof paper, sections 2.3 and 2.4). docs/trampoline.md has the whole story.
 *
 *      stack (grows down)            memo, the cached stack        calling context tree
 *
 *      main   | RA -> start    |     [1] main   cfa ra node ────>  main
 *      f      | RA -> main     |     [2] f      cfa ra node ────>   └ f
 *      g      | ENTRY (-> f)   | <── [3] g      cfa ra node ────>      └ g   calls++ when g returns
 *      h      | RA -> g        |      :  new since the last sample: the walk goes from here up to g
 *
 * Invariants:
 * - A thread's trampoline is in at most one place: `set` says so, trampoline_data[entry] has the
 *   true return address, and memo[1 .. at] are the frames that are on the stack as long as it
 *   stands.
 * - Whoever meets an entry's address, on any stack, in any thread, at any time, finds the true
 *   return address in trampoline_data[entry]: an entry whose word may still be somewhere is never
 *   used again.
 *
 * Context: _as functions: the thread's own signal handler, or the trampoline itself. The rest:
 * ordinary code of the thread.
 * Ownership: entries belong to a thread from their first use until the thread ends. */
#ifndef PENUMBRA_RUNTIME_TRAMPOLINE_TRAMPOLINE_H
#define PENUMBRA_RUNTIME_TRAMPOLINE_TRAMPOLINE_H

#include "runtime/runtime.h"
#include "unwind/unwind.h"

#define RT_NO_ENTRY UINT32_MAX

/* What is kept about a thread. */
struct rt_trampoline {
    uint32_t entry; /* the thread's entry, or RT_NO_ENTRY */
    uint32_t at;    /* if set: memo[at] is the frame whose return address is replaced */
    /* if not set: memo[lifted - 1] was the marked frame when it was taken away; else 0 */
    uint32_t lifted;
    /* memo[fired] was the marked frame that has returned last, since the last sample; else 0 */
    uint32_t fired;
    bool set;
    bool allowed;   /* the thread can be recognized by its thread-local storage */
    bool lost;      /* some entry of the thread is lost */
    enum truncation truncation; /* how the path above the trampoline ends */
    spool_ref tree; /* the tree that the memo belonged to when it was set */
};

/* Where walks of this thread have to stop. */
void trampoline_thread_begin_as(struct rt_thread *t);
/* The calling thread ends: its trampoline is removed, its entries are given back. */
void trampoline_thread_end(struct rt_thread *t);
/* In a fork child: the trampoline of the one thread is removed, those of the others are
 * forgotten. */
void trampoline_fork_child(struct rt_thread *t);

/* Before the calling thread leaves frames otherwise than by returning, or looks at return
 * addresses: puts the true one back. t may be NULL. */
void trampoline_lift(struct rt_thread *t);

/* After that: the thread leaves all frames below stack pointer sp; their edges are counted (csprof
 * paper, section 2.5.3). */
void trampoline_leave(struct rt_thread *t, uint64_t sp);

/* A walk has stopped at a trampoline. True: at the thread's own; then the *kept first elements of
 * the memo are the rest of the path, and *walk says how that ends; *kept is 0 where that is not
 * known yet (deep.h). False: at one that did not belong there, and is gone, or the path has become
 * too long: walk again without. */
bool trampoline_met_as(struct rt_thread *t, struct unwind_result *walk, uint32_t *kept);
/* True if the walk has found an unwinder at work while there is a trampoline: it may be between two
 * looks at the marked frame's return address, which must not change then. */
bool trampoline_held_as(const struct rt_thread *t, const struct unwind_result *walk);
/* The walk met the trampoline at work, and nothing below: memo[0 .. n) is the path of the procedure
 * that is returned to, where n is what this returns. 0: it is not known. */
uint32_t trampoline_path_as(const struct rt_thread *t, const struct unwind_result *walk);
/* A walk from stack pointer sp did not meet the thread's trampoline, or it must go. */
void trampoline_left_as(struct rt_thread *t, uint64_t sp);
/* Before the path of a whole walk is added, memo[lead] its outermost frame: counts the edges of
 * frames that were sampled, but left without a trampoline in place: by a longjmp or an
 * exception. */
void trampoline_count_gone_as(struct rt_thread *t, uint32_t frames, uint32_t lead);
/* After a sample's path was added: moves the trampoline above the interrupted procedure. The path
 * is memo[0 .. kept) and then t->frames[walk->frames - 1 .. 0]. */
void trampoline_place_as(struct rt_thread *t, const struct unwind_result *walk, uint32_t kept,
                         uint64_t sp);

/* Sets the trampoline, of which there is none, in the outermost of t->frames[0 .. frames) that may
 * be marked, with a caller among them: that frame's index. 0: in none. */
uint32_t trampoline_anchor_as(struct rt_thread *t, uint32_t frames);
/* Whether the thread may have one. */
bool trampoline_allowed_as(const struct rt_thread *t);

/* What was to be returned to, of a word that is found where a return address lies. */
uint64_t trampoline_true_as(uint64_t word);

/* Trampolines are no longer used in this process, for the given reason. */
void trampoline_disable_as(enum trampoline_state why);

#endif
