/* The stack that bench/handler.c samples, in a library of its own: the runtime's frames, which are
 * part of the program there, are never marked.
 *
 * Context: ordinary code. Ownership: the caller's. */
#ifndef PENUMBRA_BENCH_HANDLER_STACK_H
#define PENUMBRA_BENCH_HANDLER_STACK_H

#include <signal.h>
#include <stdint.h>

struct stack_work {
    void (*handler)(int, siginfo_t *, void *);
    siginfo_t *info;
    uint64_t *spent; /* ticks, by call */
    unsigned calls;
};

/* Calls the handler w->calls times, `depth` frames further down. */
int stack_descend(const struct stack_work *w, unsigned depth);

#endif
