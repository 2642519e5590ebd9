/* What a seccomp filter (a program of the classic BPF) does with a system call of which only the
 * number is known.
 *
 * Jumps lead forward only, so one pass over the instructions sees each after all that may lead to
 * it. What is known of the accumulator is kept for each; what paths that meet do not agree on, and
 * what comes from the index register or the scratch memory, is not known. Then a conditional jump
 * leads both ways.
 *
 * Context: any.
 * Ownership: the caller's. */
#ifndef PENUMBRA_SIGSAFE_FILTER_H
#define PENUMBRA_SIGSAFE_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

/* Before an instruction. */
struct filter_state {
    bool reached;
    bool known;
    uint32_t accumulator;
};

/* What is known of one argument of a call. */
struct filter_argument {
    uint32_t index; /* 0 to 5 */
    uint32_t low;   /* its lower half; the upper one is 0 */
};

/* True if the system call is made on every path, from anywhere and whatever its arguments. False
 * too if the kernel will not take the program. `states` has room for `count` and needs no
 * initialization. */
bool filter_lets_as(const struct sock_filter *code, uint32_t count, uint32_t number,
                    struct filter_state *states);

/* False if it is certainly not made, wherever from and whatever its arguments, the lower half of
 * the first of which is `first` if that is not NULL (the upper one is 0). */
bool filter_may_as(const struct sock_filter *code, uint32_t count, uint32_t number,
                   const uint32_t *first, struct filter_state *states);

/* True if the system call is made on every path, from anywhere, where `known` (NULL: nothing) is
 * one of its arguments; or, if it may_be_refused, at worst fails with an error number. */
bool filter_spares_as(const struct sock_filter *code, uint32_t count, uint32_t number,
                      const struct filter_argument *known, bool may_be_refused,
                      struct filter_state *states);

#endif
