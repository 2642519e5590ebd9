#include "sigsafe/filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>

struct run {
    const struct sock_filter *code;
    uint32_t count, number;
    const struct filter_argument *known; /* NULL: no argument is */
    struct filter_state *states;
};

/* False: it leads out of the program. */
static bool reach(const struct run *r, uint64_t at, struct filter_state from)
{
    if (at >= r->count)
        return false;
    struct filter_state *to = &r->states[at];
    if (!to->reached)
        *to = from;
    else if (to->accumulator != from.accumulator || !from.known)
        to->known = false;
    return true;
}

static bool lets(uint32_t value)
{
    uint32_t action = value & SECCOMP_RET_ACTION_FULL;
    return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

static bool lets_or_refuses(uint32_t value)
{
    return lets(value) || (value & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO;
}

/* Whoever is asked then, a tracer or another process, may let it through. */
static bool denies(uint32_t value)
{
    uint32_t action = value & SECCOMP_RET_ACTION_FULL;
    return action == SECCOMP_RET_ERRNO || action == SECCOMP_RET_TRAP ||
           action == SECCOMP_RET_KILL_THREAD || action == SECCOMP_RET_KILL_PROCESS;
}

static bool loads(const struct sock_filter *i, uint64_t field)
{
    return BPF_MODE(i->code) == BPF_ABS && i->k == field;
}

/* The half of the argument that is known, of which `half` is 0 or 1, from the lower one on. */
static bool loads_known(const struct run *r, const struct sock_filter *i, uint32_t half)
{
    enum { ARGUMENT = sizeof(uint64_t), HALF = sizeof(uint32_t) };
    return r->known &&
           loads(i, offsetof(struct seccomp_data, args) + r->known->index * ARGUMENT + half * HALF);
}

static void load(const struct run *r, const struct sock_filter *i, struct filter_state *s)
{
    s->known = true;
    if (BPF_MODE(i->code) == BPF_IMM)
        s->accumulator = i->k;
    else if (BPF_MODE(i->code) == BPF_LEN)
        s->accumulator = sizeof(struct seccomp_data);
    else if (loads(i, offsetof(struct seccomp_data, nr)))
        s->accumulator = r->number;
    else if (loads(i, offsetof(struct seccomp_data, arch)))
        s->accumulator = AUDIT_ARCH_X86_64;
    else if (loads_known(r, i, 0))
        s->accumulator = r->known->low;
    else if (loads_known(r, i, 1))
        s->accumulator = 0;
    else
        s->known = false;
}

static void calculate(const struct sock_filter *i, struct filter_state *s)
{
    uint32_t *a = &s->accumulator, k = i->k;
    bool negates = BPF_OP(i->code) == BPF_NEG;
    s->known = s->known && (negates || BPF_SRC(i->code) == BPF_K);
    switch (BPF_OP(i->code)) {
    case BPF_ADD: *a += k; break;
    case BPF_SUB: *a -= k; break;
    case BPF_MUL: *a *= k; break;
    case BPF_AND: *a &= k; break;
    case BPF_OR: *a |= k; break;
    case BPF_XOR: *a ^= k; break;
    case BPF_NEG: *a = -*a; break;
    /* division and shifts: of numbers of system calls, nobody needs them */
    default: s->known = false;
    }
}

static bool jump(const struct run *r, uint64_t at, struct filter_state s)
{
    const struct sock_filter *i = &r->code[at];
    uint32_t a = s.accumulator, k = i->k;
    bool taken = false, known = s.known && BPF_SRC(i->code) == BPF_K;
    switch (BPF_OP(i->code)) {
    case BPF_JA: return reach(r, at + 1 + k, s);
    case BPF_JEQ: taken = a == k; break;
    case BPF_JGT: taken = a > k; break;
    case BPF_JGE: taken = a >= k; break;
    case BPF_JSET: taken = a & k; break;
    default: return false;
    }
    return (known && !taken ? true : reach(r, at + 1 + i->jt, s)) &&
           (known && taken ? true : reach(r, at + 1 + i->jf, s));
}

/* What the path ends with, which ends there. *known: as far as that can be told. */
static uint32_t end(const struct sock_filter *i, const struct filter_state *s, bool *known)
{
    *known = BPF_RVAL(i->code) == BPF_K || s->known;
    return BPF_RVAL(i->code) == BPF_K ? i->k : s->accumulator;
}

/* False: it leads out of the program, or cannot be followed. */
static bool step(const struct run *r, uint64_t at)
{
    const struct sock_filter *i = &r->code[at];
    struct filter_state s = r->states[at];
    switch (BPF_CLASS(i->code)) {
    case BPF_LD: load(r, i, &s); break;
    case BPF_ALU: calculate(i, &s); break;
    case BPF_JMP: return jump(r, at, s);
    case BPF_MISC: s.known = s.known && BPF_MISCOP(i->code) == BPF_TAX; break;
    default: break; /* the index register and the memory */
    }
    return reach(r, at + 1, s);
}

/* Does every way through it end with an action that is known and one of these? */
static bool ends_so(const struct run *r, bool (*is)(uint32_t action))
{
    bool known;
    for (uint32_t i = 0; i < r->count; i++)
        r->states[i].reached = false;
    if (!reach(r, 0, (struct filter_state){true, true, 0}))
        return false;
    for (uint32_t i = 0; i < r->count; i++) {
        if (!r->states[i].reached)
            continue;
        bool ends = BPF_CLASS(r->code[i].code) == BPF_RET;
        if (ends ? !is(end(&r->code[i], &r->states[i], &known)) || !known : !step(r, i))
            return false;
    }
    return true;
}

bool filter_lets_as(const struct sock_filter *code, uint32_t count, uint32_t number,
                    struct filter_state *states)
{
    return ends_so(&(struct run){code, count, number, NULL, states}, lets);
}

bool filter_may_as(const struct sock_filter *code, uint32_t count, uint32_t number,
                   const uint32_t *first, struct filter_state *states)
{
    const struct filter_argument known = {0, first ? *first : 0};
    return !ends_so(&(struct run){code, count, number, first ? &known : NULL, states}, denies);
}

bool filter_spares_as(const struct sock_filter *code, uint32_t count, uint32_t number,
                      const struct filter_argument *known, bool may_be_refused,
                      struct filter_state *states)
{
    return ends_so(&(struct run){code, count, number, known, states},
                   may_be_refused ? lets_or_refuses : lets);
}
