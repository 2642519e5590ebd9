#include "modules/conflict.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "x86/operands.h"

/* Registers that are no general ones. Vector registers of all widths are one; so are all masks, and
 * all of x87 and MMX. */
enum { REG_FLAGS = 16, REG_VECTOR = 17, REG_MASK = 49, REG_X87 = 50, REGS = 51 };

enum {
    FETCH_WIDTH = 4,  /* instructions a cycle */
    LOAD_CYCLES = 5,
    PLAIN_CYCLES = 1, MULTIPLY_CYCLES = 3, DIVIDE_CYCLES = 20, FLOAT_CYCLES = 4,
};

const char *const conflict_names[CONFLICT_KINDS + 1] = {"order", "size", "split", "synonym", NULL};

/* ---- what an instruction does ---- */

/* The bit of a register that is no general one; 0: a general one, or of no interest. */
static uint64_t bit_of(const char *name)
{
    size_t prefix = strcspn(name, "0123456789");
    unsigned number = (unsigned)strtoul(name + prefix, NULL, 10);
    if (prefix == 3 && strchr("xyz", name[0]) && name[1] == 'm' && name[2] == 'm' && number < 32)
        return UINT64_C(1) << (REG_VECTOR + number);
    if (prefix == 1 && name[0] == 'k')
        return UINT64_C(1) << REG_MASK;
    if (!strncmp(name, "mm", 2) || !strncmp(name, "st", 2))
        return UINT64_C(1) << REG_X87;
    return 0;
}

static void describe_operands(const uint8_t *code, uint32_t length, struct conflict_insn *out)
{
    struct x86_operand operands[X86_OPERANDS_MAX];
    int count = x86_operands(code, length, operands);
    for (int i = 0; i < count; i++) {
        const struct x86_operand *o = &operands[i];
        uint64_t bit = o->kind == X86_OPERAND_REGISTER && o->name ? bit_of(o->name) : 0;
        if (o->read || o->conditional)
            out->reads |= bit;
        if (o->write)
            out->writes |= bit;
        if (o->kind == X86_OPERAND_MEMORY && o->index)
            out->reads |= bit_of(o->index); /* gathers */
    }
}

static uint8_t latency_of(const struct x86_insn *insn, const uint8_t *code)
{
    switch (insn->class) {
    case X86_CLASS_MULDIV: {
        bool group3 = insn->map == X86_MAP_ONE_BYTE && (insn->opcode | 1) == 0xf7;
        return group3 && (code[insn->at_modrm] >> 3 & 7) >= 6 ? DIVIDE_CYCLES : MULTIPLY_CYCLES;
    }
    case X86_CLASS_X87:
    case X86_CLASS_SSE:
    case X86_CLASS_AVX:
    case X86_CLASS_AVX512:
        return FLOAT_CYCLES;
    default:
        return PLAIN_CYCLES;
    }
}

/* push, pop, call, ret: the stack pointer's new value is there at once. `leave` and `enter` compute
 * it. */
static bool moves_stack_only(const struct x86_insn *insn)
{
    bool frame = insn->map == X86_MAP_ONE_BYTE && (insn->opcode == 0xc8 || insn->opcode == 0xc9);
    return insn->implicit >> X86_RSP & 1 && !frame;
}

/* xor r, r and sub r, r: zero, whatever was there. */
static bool is_zeroing(const struct x86_insn *insn)
{
    unsigned op = insn->opcode & ~2u;
    return insn->map == X86_MAP_ONE_BYTE && (op == 0x31 || op == 0x29) &&
           insn->fields == (X86_FIELD_REG | X86_FIELD_RM) && insn->reg == insn->base;
}

static uint64_t address_registers(const struct x86_memory *m)
{
    uint64_t set = 0;
    if (m->base < X86_RIP)
        set |= UINT64_C(1) << m->base;
    if (m->index < X86_RIP)
        set |= UINT64_C(1) << m->index;
    if (m->add8 < X86_RIP)
        set |= UINT64_C(1) << m->add8;
    return set;
}

bool conflict_describe(const uint8_t *code, uint32_t length, struct conflict_insn *out)
{
    struct x86_insn insn;
    struct x86_memory memory[X86_MEMORY_MAX];
    *out = (struct conflict_insn){ 0 };
    if (!x86_decode_as(code, length, &insn))
        return false;
    out->reads = insn.reads;
    out->writes = insn.writes;
    if (is_zeroing(&insn))
        out->reads = 0;
    if (moves_stack_only(&insn)) {
        out->reads &= ~(UINT64_C(1) << X86_RSP);
        out->writes &= ~(UINT64_C(1) << X86_RSP);
    }
    if (insn.flags_read)
        out->reads |= UINT64_C(1) << REG_FLAGS;
    if (insn.flags_changed)
        out->writes |= UINT64_C(1) << REG_FLAGS;
    describe_operands(code, length, out);
    out->latency = latency_of(&insn, code);
    out->count = (uint8_t)x86_memory_as(&insn, code, memory);
    for (unsigned i = 0; i < out->count; i++)
        out->operands[i] = (struct conflict_operand){
            .registers = address_registers(&memory[i]), .size = memory[i].size,
            .access = insn.traits & X86_VSIB ? 0 : memory[i].access,
        };
    return true;
}

/* ---- the window ---- */

struct set { /* of steps */
    uint64_t words[CONFLICT_WINDOW / 64];
};

static bool has(const struct set *s, uint32_t step)
{
    return s->words[step / 64] >> step % 64 & 1;
}

static void add(struct set *s, const struct set *more)
{
    for (unsigned i = 0; i < CONFLICT_WINDOW / 64; i++)
        s->words[i] |= more->words[i];
}

struct access {
    uint64_t address;
    uint32_t step, size;
    uint32_t known_at; /* cycle at which its address is known */
};

struct window {
    struct set stores_of[REGS]; /* stores whose results this register's value was made from */
    uint32_t ready[REGS];       /* cycle */
    struct access stores[CONFLICT_WINDOW * X86_MEMORY_MAX];
    uint32_t written[CONFLICT_WINDOW]; /* cycle at which a step's results, and what it stores, are
                                          there */
    uint32_t store_count;
    struct conflict *out;
    uint32_t count, most;
};

static void report(struct window *w, const struct access *store, const struct access *load,
                   const struct set *depends, enum conflict_kind kind)
{
    if (!has(depends, store->step) && w->count < w->most)
        w->out[w->count++] = (struct conflict){ store->step, load->step, kind };
}

/* The load's bytes (bit i: byte i) that the store writes. */
static uint64_t overlap(const struct access *store, const struct access *load)
{
    uint64_t ahead = store->address - load->address, behind = load->address - store->address;
    if (ahead >= load->size && behind >= store->size)
        return 0;
    uint64_t first = ahead < load->size ? ahead : 0;
    uint64_t bytes = ahead < load->size ? store->size : store->size - behind;
    uint64_t mask = bytes >= 64 ? UINT64_MAX : (UINT64_C(1) << bytes) - 1;
    uint64_t whole = load->size >= 64 ? UINT64_MAX : (UINT64_C(1) << load->size) - 1;
    return mask << first & whole;
}

static bool is_alias(const struct access *store, const struct access *load)
{
    uint64_t ahead = (store->address - load->address) % CONFLICT_ALIAS;
    uint64_t behind = (load->address - store->address) % CONFLICT_ALIAS;
    return ahead < load->size || behind < store->size;
}

static bool crosses_line(const struct access *a)
{
    return a->address / CONFLICT_LINE != (a->address + a->size - 1) / CONFLICT_LINE;
}

/* Looks at the load, at all stores before it, youngest first. Returns the cycle at which its bytes
 * are there. */
static uint32_t load_look(struct window *w, const struct access *load, const struct set *depends)
{
    uint64_t whole = load->size >= 64 ? UINT64_MAX : (UINT64_C(1) << load->size) - 1;
    uint64_t left = whole;
    uint32_t ready = load->known_at;
    bool synonym = false;
    for (uint32_t i = w->store_count; i-- && left;) {
        const struct access *store = &w->stores[i];
        uint64_t bytes = overlap(store, load);
        if (!bytes && !synonym && is_alias(store, load)) {
            synonym = true;
            report(w, store, load, depends, CONFLICT_SYNONYM);
        }
        if (!(bytes & left))
            continue;
        if (bytes != whole)
            report(w, store, load, depends, CONFLICT_SIZE);
        else if (crosses_line(store) || crosses_line(load))
            report(w, store, load, depends, CONFLICT_SPLIT);
        else if (store->known_at > load->known_at)
            report(w, store, load, depends, CONFLICT_ORDER);
        if (w->written[store->step] > ready)
            ready = w->written[store->step];
        left &= ~bytes;
    }
    return ready + LOAD_CYCLES;
}

/* When all of the registers are there, not before cycle `from`; adds what they were made from to
 * *made. */
static uint32_t gather(const struct window *w, uint64_t registers, uint32_t from, struct set *made)
{
    for (unsigned r = 0; r < REGS; r++) {
        if (!(registers >> r & 1))
            continue;
        from = w->ready[r] > from ? w->ready[r] : from;
        add(made, &w->stores_of[r]);
    }
    return from;
}

static struct access access_of(const struct window *w, const struct conflict_step *s, uint32_t step,
                               uint32_t operand, struct set *depends)
{
    const struct conflict_operand *o = &s->insn->operands[operand];
    return (struct access){
        .address = s->address[operand], .step = step, .size = o->size,
        .known_at = gather(w, o->registers, step / FETCH_WIDTH, depends),
    };
}

static bool is_looked_at(const struct conflict_step *s, uint32_t operand, unsigned access)
{
    const struct conflict_operand *o = &s->insn->operands[operand];
    return s->known[operand] && o->access & access && o->size && o->size <= CONFLICT_WIDEST;
}

static void step_take(struct window *w, const struct conflict_step *s, uint32_t step)
{
    struct set made = { { 0 } };
    uint32_t begin = gather(w, s->insn->reads, step / FETCH_WIDTH, &made);
    for (uint32_t i = 0; i < s->insn->count; i++) {
        struct set depends = { { 0 } };
        if (!is_looked_at(s, i, X86_MEM_READ))
            continue;
        struct access load = access_of(w, s, step, i, &depends);
        uint32_t ready = load_look(w, &load, &depends);
        begin = ready > begin ? ready : begin;
    }
    w->written[step] = begin + s->insn->latency;
    for (uint32_t i = 0; i < s->insn->count; i++) {
        if (!is_looked_at(s, i, X86_MEM_WRITE))
            continue;
        w->stores[w->store_count++] = access_of(w, s, step, i, &(struct set){ { 0 } });
        made.words[step / 64] |= UINT64_C(1) << step % 64;
    }
    for (unsigned r = 0; r < REGS; r++)
        if (s->insn->writes >> r & 1) {
            w->ready[r] = w->written[step];
            w->stores_of[r] = made;
        }
}

uint32_t conflicts_find(const struct conflict_step *steps, uint32_t count, struct conflict *out,
                        uint32_t most)
{
    struct window w = { .out = out, .most = most };
    if (count > CONFLICT_WINDOW)
        count = CONFLICT_WINDOW;
    for (uint32_t i = 0; i < count; i++)
        if (steps[i].insn)
            step_take(&w, &steps[i], i);
    return w.count;
}
