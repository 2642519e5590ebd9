/* Stacks for signals: ours, in place of the program's (docs/signal-stacks.md).
 *
 * Every thread that we sample has a stack of ours as its alternate one, whatever the program sets.
 * What the program sets is kept beside it, answered when it asks, and used for its own handlers:
 *
 *      signal ──> kernel ──> our stack: frame ──> SIGTRAP, ours: handler_as runs here
 *                                           └──> the program's, SA_ONSTACK: the frame is moved to where the kernel would have
 *                                                put it without us, and the handler begins there
 *      the program's without SA_ONSTACK: the kernel's business, as without us
 *
 * Not: where we are attached, under the engine, with SS_AUTODISARM, and in a sandbox that does not
 * let sigaltstack pass.
 *
 * Context: _as functions: signal handlers too. The rest: ordinary code.
 * Ownership: the stack is a part of the thread's state. */
#ifndef PENUMBRA_RUNTIME_INTERPOSE_ALTERNATE_H
#define PENUMBRA_RUNTIME_INTERPOSE_ALTERNATE_H

#include <signal.h>
#include <ucontext.h>

#include "guest/image.h"
#include "runtime/runtime.h"

/* What is kept about a thread's alternate stack. */
struct rt_alternate {
    uint64_t lo, hi; /* atomic: that stack; lo 0: none, or it changes */
    bool is_ours;
    bool too_short;  /* for a signal: the trigger is paused */
};

/* The calling thread, whose state is t, gets it, in a sandbox if that lets it; gives it back. */
void alternate_begin_as(struct rt_thread *t);
void alternate_end_as(struct rt_thread *t);
/* A child of a raw fork becomes ours: it may have set a stack meanwhile. */
void alternate_again_as(struct rt_thread *t);
/* The same from a handler in the interrupted thread, as its context is returned to. False: there
 * are none here. */
bool alternate_adopt_as(struct rt_thread *t, ucontext_t *u);

/* sigaltstack of the calling thread, whose state is t. */
int alternate_change(struct rt_thread *t, const stack_t *stack, stack_t *old);
/* The same in a vfork child, which has its parent's for now, and changes its own. */
int alternate_change_child(const struct rt_thread *t, const stack_t *stack, stack_t *old);

/* Handlers of the program's with SA_ONSTACK are entered through us from now on. */
bool alternate_takes_as(void);
/* In a child that the runtime is not in: its handlers run on the stack that the kernel has, which
 * becomes the program's. */
void alternate_give(void);
/* `action` is what the program wants for this signal, and becomes what the kernel is to be told.
 * Returns what was remembered of the signal's last one, for the following two: to undo it, and to
 * answer what the program's handler was. */
uint64_t alternate_wrap(int signal, struct sigaction *action);
void alternate_wrap_undo(int signal, uint64_t before);
uint64_t alternate_wrapped(int signal);
void alternate_answer(struct sigaction *answer, uint64_t before);

/* Runs a handler of the program's where the kernel would have. The context is the kernel's frame of
 * the signal whose handler calls this; all on the stack below it is given up. */
_Noreturn void alternate_deliver_as(uint64_t handler, bool on_stack, int signal, siginfo_t *info,
                                    void *context);

/* An image that has Go's runtime: its handlers begin where the kernel has put the frame. */
void alternate_note_go_as(const struct image_source *source);

/* Calls run(argument) on the stack of t's, on which nobody is, and returns. */
void alternate_call_as(struct rt_thread *t, void (*run)(void *argument), void *argument);
/* True if the address is on what the program has set for signals of this thread, as far as that is
 * known. */
bool alternate_is_program_as(const struct rt_thread *t, uint64_t address);
/* True if the address is on ours. */
bool alternate_holds_as(const struct rt_thread *t, uint64_t address);

#endif
