/* Pieces of code natively, and by the interpreter (src/interpret): where it knows a bit it must be
 * the processor's.
 *
 * usage: interpreted forms | pieces SEED COUNT | integers SEED COUNT
 *
 *   forms     every form of every instruction
 *   pieces    COUNT random sequences of instructions
 *   integers  COUNT of those that are known in detail, most of them without memory
 *
 * Each piece once with all known but vector registers and segments, and some times with a random
 * part of the registers, the flags and the memory known. Exit status 1: something was different, or
 * nearly nothing was known; 77: this machine cannot run it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpret/interpret.h"
#include "run.h"

enum { STATUS = 0xcd5, STEPS = 64, PARTS = 4, LOADED = 2048, SHOWN = 10 };

static struct tally tally;
static struct batch batch;
static struct sums {
    uint64_t full, partial, reached[2], steps[2], ends[INTERPRET_END_COUNT], differences;
    uint64_t bits[2], known[2];
} sums;
static uint8_t data[DATA], stack[STACK];

/* ---- what is known at the begin ---- */

/* A part of the arena around where registers point: the interpreter has not room for all of it. */
static void memory_know(struct interpret_state *s, uint64_t at, const uint8_t *bytes,
                        uint64_t around, struct dice *d)
{
    uint64_t from = around - at < DATA ? around - at : DATA / 2;
    from = from > LOADED / 2 ? (from - LOADED / 2) & ~UINT64_C(7) : 0;
    for (uint64_t i = from; i < from + LOADED / 2 && i + 8 <= DATA; i += 8)
        if (!d || !chance(d, 4))
            interpret_remember(s, at + i, bytes + i, 8);
}

static void begin(struct interpret_state *s, const struct state *from, struct dice *d)
{
    interpret_begin(s);
    s->rip = from->rip;
    for (unsigned i = 0; i < 16; i++)
        if (!d || chance(d, 2))
            interpret_register(s, i, from->gpr[i]);
    if (d && chance(d, 2))
        for (unsigned i = 0; i < 16; i++)
            if (!s->reg[i].known) {
                s->reg[i].known = roll(d);
                s->reg[i].bits = from->gpr[i] & s->reg[i].known;
            }
    if (!d || chance(d, 2))
        interpret_flags(s, from->rflags);
    uint64_t around = machine_data(from->rip & ~(uint64_t)(SLOTS * SLOT - 1)) + 1024;
    for (unsigned i = 0; i < 16; i++)
        if (from->gpr[i] - (around - 1024) < DATA)
            around = from->gpr[i];
    memory_know(s, machine_data(from->rip & ~(uint64_t)(SLOTS * SLOT - 1)), data, around, d);
    memory_know(s, machine_stack(from->rip & ~(uint64_t)(SLOTS * SLOT - 1)), stack, from->gpr[4],
                d);
}

/* ---- running ---- */

/* int3 and kin: the processor says that they are over. */
static bool is_interrupt(const struct x86_insn *insn)
{
    return insn->kind == X86_INT || insn->kind == X86_INT3 || insn->kind == X86_INT1;
}

/* Executes until the native end. NEXT: it was reached, or the slot was left. */
static enum interpret_end run(struct interpret_state *s, const struct piece *p,
                              const struct outcome *native, unsigned *steps)
{
    uint8_t slot[SLOT];
    slot_fill(p, slot);
    for (*steps = 0; s->rip != native->state.rip && *steps < STEPS; ++*steps) {
        struct x86_insn insn;
        uint64_t at = s->rip - native->start;
        if (at >= SLOT)
            return INTERPRET_NEXT;
        if (!x86_decode_as(slot + at, SLOT - at, &insn))
            return insn.kind == X86_TRUNCATED ? INTERPRET_CODE : INTERPRET_INVALID;
        enum interpret_end end = interpret_step(s, &insn, slot + at);
        s->rip += end == INTERPRET_TRAP && is_interrupt(&insn) ? insn.length : 0;
        if (end != INTERPRET_NEXT)
            return end;
    }
    return INTERPRET_NEXT;
}

/* An instruction that faulted may have done a part of what it does. */
static bool did_part(const struct piece *p, const struct outcome *native, bool *all)
{
    struct x86_insn insn;
    uint8_t slot[SLOT];
    uint64_t at = native->state.rip - native->start;
    slot_fill(p, slot);
    *all = false;
    if (native->signal == SIGILL || at >= SLOT || !x86_decode_as(slot + at, SLOT - at, &insn))
        return false;
    *all = insn.kind == X86_STRING_REP;
    return insn.kind != X86_ORDINARY || insn.mem_size > 8 || insn.access & X86_MEM_STACK;
}

static bool differ(const char *what, unsigned number, const struct interpret_value *v,
                   uint64_t truth, uint64_t mask, bool part)
{
    sums.bits[part] += (uint64_t)__builtin_popcountll(mask);
    sums.known[part] += (uint64_t)__builtin_popcountll(v->known & mask);
    if (!((v->bits ^ truth) & v->known & mask))
        return false;
    if (sums.differences < SHOWN)
        fprintf(stderr, "%s %u: %016lx known %016lx, true %016lx\n", what, number, v->bits,
                v->known, truth);
    return true;
}

static bool memory_differs(const struct interpret_state *s, const struct outcome *native)
{
    uint64_t base = native->start & ~(uint64_t)(SLOTS * SLOT - 1);
    for (unsigned i = 0; i < INTERPRET_CELLS; i++) {
        const struct interpret_cell *c = &s->memory.cell[i];
        uint64_t at = c->address & ~UINT64_C(1), truth;
        uint64_t in_data = at - machine_data(base), in_stack = at - machine_stack(base);
        if (!c->address || (in_data >= DATA && in_stack >= STACK))
            continue;
        memcpy(&truth, native->memory + (in_data < DATA ? in_data : DATA + in_stack), 8);
        if (differ("memory", (unsigned)in_data,
                   &(struct interpret_value){.bits = c->bits, .known = c->known}, truth, UINT64_MAX,
                   true))
            return true;
    }
    return false;
}

static void show(const struct piece *p, const struct outcome *native, unsigned steps)
{
    for (unsigned i = 0; i < p->length; i++)
        fprintf(stderr, "%02x ", p->code[i]);
    fprintf(stderr, "\n  seed %lu, %u steps, native end at +%lx, signal %lu\n", p->seed, steps,
            native->state.rip - native->start, native->signal);
}

static bool outcome_differs(const struct interpret_state *s, const struct piece *p,
                            const struct outcome *native, bool part)
{
    bool partly, all, different = false;
    partly = did_part(p, native, &all);
    if (all)
        return false;
    for (unsigned i = 0; i < 16; i++)
        if (!(p->ignore >> i & 1))
            different |= differ("register", i, &s->reg[i], native->state.gpr[i], UINT64_MAX, part);
    different |= differ("rflags", 0, &s->rflags, native->state.rflags, STATUS, part);
    return different || (!partly && memory_differs(s, native));
}

static void compare(const struct piece *p, const struct outcome *native, struct dice *d)
{
    static struct state from;
    static struct interpret_state s;
    bool part = d != NULL;
    unsigned steps;
    state_make(p, native->start, &from, data, stack);
    begin(&s, &from, d);
    enum interpret_end end = run(&s, p, native, &steps);
    sums.steps[part] += steps;
    sums.partial += part;
    sums.full += !part;
    sums.ends[end]++;
    bool reached = s.rip == native->state.rip;
    bool inside = native->state.rip - native->start < SLOT && s.rip - native->start < SLOT;
    bool astray = !reached && inside && (end == INTERPRET_NEXT || end == INTERPRET_TRAP);
    sums.reached[part] += reached;
    /* without a step it may have come back there */
    if (!astray && !(reached && inside && steps && outcome_differs(&s, p, native, part)))
        return;
    if (sums.differences++ < SHOWN) {
        fprintf(stderr, astray ? "%s: it goes elsewhere\n" : "%s: different\n",
                part ? "partly known" : "all known");
        show(p, native, steps);
    }
}

static void flush(void)
{
    if (!batch.count)
        return;
    batch_run(&batch, 0, &tally);
    for (unsigned i = 0; i < batch.count; i++) {
        const struct outcome *native = batch_native(i);
        struct dice d = {batch.pieces[i].seed};
        if (!native)
            continue;
        compare(&batch.pieces[i], native, NULL);
        for (unsigned n = 0; n < PARTS; n++)
            compare(&batch.pieces[i], native, &d);
    }
    batch.place = (enum place)((batch.place + 1) % PLACE_NEAR);
    batch.count = 0;
}

static void add(const struct piece *p)
{
    batch.pieces[batch.count++] = *p;
    if (batch.count == SLOTS)
        flush();
}

static void forms(void)
{
    struct piece p;
    for (uint64_t form = 0; form < forms_count(); form++)
        if (piece_of_form(&p, form, form + 1, slot_address(batch.place, batch.count)))
            add(&p);
    flush();
}

static bool piece_of_integers(struct piece *p, uint64_t seed, uint64_t code)
{
    struct dice d = {seed};
    *p = (struct piece){.seed = roll(&d)};
    for (unsigned tries = 0; tries < 20000 && p->length + 15u <= CODE_MOST; tries++) {
        struct x86_insn insn;
        uint8_t *at = p->code + p->length;
        unsigned length = form_make(form_any(&d), &d, code, p->length, at, &insn);
        bool integer = insn.class <= X86_CLASS_MULDIV && insn.kind == X86_ORDINARY &&
                       !(insn.writes >> X86_RSP & 1);
        bool dull = insn.access & X86_MEM || insn.class == X86_CLASS_MULDIV;
        if (length && integer && (!dull || chance(&d, 8)))
            p->length = (uint8_t)(p->length + length);
    }
    return p->length && !bytes_are_unsafe(p->code, p->length);
}

static void pieces(bool integers, uint64_t seed, uint64_t count)
{
    struct dice d = {seed};
    struct piece p;
    while (count)
        if ((integers ? piece_of_integers
                      : piece_of_forms)(&p, roll(&d), slot_address(batch.place, batch.count))) {
            add(&p);
            count--;
        }
    flush();
}

int main(int argc, char **argv)
{
    const char *why;
    if (!batch_open(&why)) {
        printf("skipped: %s\n", why);
        return 77;
    }
    if (argc == 2 && !strcmp(argv[1], "forms"))
        forms();
    else if (argc == 4)
        pieces(!strcmp(argv[1], "integers"), strtoull(argv[2], NULL, 10),
               strtoull(argv[3], NULL, 10));
    else
        return 2;
    for (unsigned part = 0; part < 2; part++)
        printf("%s: %lu pieces, %.2f instructions each, %lu to the end, %.1f%% of bits known\n",
               part ? "partly known" : "all known", part ? sums.partial : sums.full,
               (double)sums.steps[part] / (double)(part ? sums.partial : sums.full),
               sums.reached[part], 100 * (double)sums.known[part] / (double)(sums.bits[part] + 1));
    static const char *const what[] = {
#define SENTENCE(id, sentence) sentence,
        INTERPRET_ENDS(SENTENCE)
#undef SENTENCE
    };
    for (unsigned i = 0; i < INTERPRET_END_COUNT; i++)
        printf("  %s %lu\n", what[i], sums.ends[i]);
    return sums.differences || sums.known[0] < sums.bits[0] / 2;
}
