#include "crack/crack.h"

#include <stdlib.h>
#include <string.h>

#include "sigsafe/hash.h"
#include "x86/insn.h"
#include "x86/operands.h"

enum { LINE = 64, TEMP_LOADED = UOP_TEMP, TEMP_RESULT = UOP_TEMP + 1, TEMP_CROSSED = UOP_TEMP + 2 };

/* What is known of an instruction while it is cracked. */
struct cracking {
    struct x86_insn insn;
    struct x86_memory memory[X86_MEMORY_MAX];
    unsigned memories;
    struct x86_operand operands[X86_OPERANDS_MAX];
    int operand_count;
    const char *mnemonic;
    struct crack_row row;
    struct uop main;      /* its operands; a template */
    uint32_t vector_bytes, vector_width; /* the machine's, and the widest operand's */
    bool general_source, general_result, vector_source, vector_result;
    bool x87;
    int pushes;           /* of x87 */
    struct uop_insn *out;
};

/* ---- lists ---- */

static void add_source(struct uop *u, unsigned reg)
{
    for (unsigned i = 0; i < u->source_count; i++)
        if (u->sources[i] == reg)
            return;
    if (u->source_count < UOP_SOURCES)
        u->sources[u->source_count++] = (uint8_t)reg;
}

static void add_result(struct uop *u, unsigned reg)
{
    for (unsigned i = 0; i < u->result_count; i++)
        if (u->results[i] == reg)
            return;
    if (u->result_count < UOP_RESULTS)
        u->results[u->result_count++] = (uint8_t)reg;
}

static struct uop *add_uop(struct cracking *c, const struct uop *u)
{
    if (c->out->count == UOPS_MOST)
        return NULL;
    c->out->uops[c->out->count] = *u;
    return &c->out->uops[c->out->count++];
}

/* ---- operands ---- */

static unsigned number_behind(const char *name)
{
    return (unsigned)strtoul(name + strcspn(name, "0123456789"), NULL, 10);
}

static bool is_vector(const char *name)
{
    return strchr("xyz", name[0]) && name[1] == 'm' && name[2] == 'm';
}

/* A register that is no general one; UOP_REGISTERS: none that is modelled. */
static unsigned special_register(const char *name)
{
    if (is_vector(name))
        return UOP_VECTOR + (number_behind(name) & 31);
    if (name[0] == 'k' && name[1] >= '0' && name[1] <= '7' && !name[2])
        return UOP_MASKS + number_behind(name);
    if (!strncmp(name, "st", 2) && name[2] >= '0' && name[2] <= '7')
        return UOP_STACK + number_behind(name);
    if (!strncmp(name, "mm", 2) && name[2] >= '0' && name[2] <= '7')
        return UOP_STACK + number_behind(name);
    if (!strcmp(name, "x87control") || !strcmp(name, "mxcsr"))
        return UOP_CONTROL;
    return UOP_REGISTERS;
}

/* Sources of what pushes onto the x87 stack are named as before the push. */
static unsigned source_number(const struct cracking *c, unsigned reg)
{
    return c->x87 && reg >= UOP_STACK && reg < UOP_STACK + 8
               ? UOP_STACK + ((reg - UOP_STACK + (unsigned)c->pushes) & 7)
               : reg;
}

static void note_special(struct cracking *c, const struct x86_operand *o)
{
    unsigned reg = o->kind == X86_OPERAND_REGISTER && o->name ? special_register(o->name)
                                                              : UOP_REGISTERS;
    if (o->kind == X86_OPERAND_MEMORY && o->index && is_vector(o->index))
        add_source(&c->main, UOP_VECTOR + (number_behind(o->index) & 31));
    if (reg == UOP_REGISTERS || (reg == UOP_CONTROL && !o->visible && !o->write))
        return;
    bool vector = reg >= UOP_VECTOR && reg < UOP_MASKS;
    if (vector && o->bits / 8u > c->vector_width)
        c->vector_width = o->bits / 8u;
    if (o->read || o->conditional) {
        add_source(&c->main, source_number(c, reg));
        c->vector_source |= reg >= UOP_VECTOR;
    }
    if (o->write) {
        add_result(&c->main, reg);
        c->vector_result |= reg >= UOP_VECTOR && reg < UOP_CARRY;
    }
}

static void note_general(struct cracking *c)
{
    struct x86_definition by[X86_DEFINITIONS_MAX];
    unsigned count = x86_sources_as(&c->insn, by);
    for (unsigned i = 0; i < count; i++) {
        add_source(&c->main, by[i].reg);
        c->general_source = true;
    }
    count = x86_definitions_as(&c->insn, by);
    for (unsigned i = 0; i < count; i++) {
        if (x86_moves_stack(&c->insn, &by[i]))
            continue;
        if (by[i].width <= 2 || by[i].conditional)
            add_source(&c->main, by[i].reg);
        add_result(&c->main, by[i].reg);
        c->general_result = true;
    }
}

static void note_flags(struct cracking *c)
{
    const struct x86_insn *insn = &c->insn;
    if (insn->flags_read & X86_CF)
        add_source(&c->main, UOP_CARRY);
    if (insn->flags_read & X86_STATUS_FLAGS & ~X86_CF)
        add_source(&c->main, UOP_FLAGS);
    if (insn->flags_changed & X86_CF)
        add_result(&c->main, UOP_CARRY);
    if (insn->flags_changed & X86_STATUS_FLAGS & ~X86_CF)
        add_result(&c->main, UOP_FLAGS);
}

static bool is_one_of(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(name, *list))
            return true;
    return false;
}

static void note_x87(struct cracking *c)
{
    static const char *const pushing[] = {"fld", "fild", "fbld", "fld1", "fldz", "fldpi", "fldl2e",
                                          "fldl2t", "fldlg2", "fldln2", "fptan", "fsincos",
                                          "fxtract", "fdecstp", NULL};
    static const char *const popping[] = {"fstp", "fistp", "fisttp", "fbstp", "faddp", "fmulp",
                                          "fsubp", "fsubrp", "fdivp", "fdivrp", "fcomp", "fucomp",
                                          "fcomip", "fucomip", "ficomp", "fyl2x", "fyl2xp1",
                                          "fpatan", "fincstp", "ffreep", NULL};
    static const char *const twice[] = {"fcompp", "fucompp", NULL};
    c->x87 = c->insn.class == X86_CLASS_X87;
    if (!c->x87)
        return;
    c->pushes = is_one_of(c->mnemonic, pushing);
    c->out->x87_before = (int8_t)-c->pushes;
    c->out->x87_after = is_one_of(c->mnemonic, twice) ? 2 : is_one_of(c->mnemonic, popping);
}

/* xor, sub, pxor and their like of one register with itself. */
static bool is_zero(const struct cracking *c)
{
    static const char *const names[] = {"xor", "sub", "pxor", "xorps", "xorpd", "vpxor", "vpxord",
                                        "vpxorq", "vxorps", "vxorpd", "psubb", "psubw", "psubd",
                                        "psubq", "vpsubb", "vpsubw", "vpsubd", "vpsubq", "pandn",
                                        "vpandn", NULL};
    const char *first = NULL;
    unsigned same = 0, visible = 0;
    if (!is_one_of(c->mnemonic, names))
        return false;
    for (int i = 0; i < c->operand_count; i++) {
        const struct x86_operand *o = &c->operands[i];
        if (!o->visible)
            continue;
        if (o->kind != X86_OPERAND_REGISTER || !o->name)
            return false;
        bool source = o->read || visible;
        first = source && !first ? o->name : first;
        same += source && !strcmp(first, o->name);
        visible++;
    }
    return same == 2 && (visible == 2 || visible == 3) && !(c->main.flags & UOP_COPY);
}

/* ---- memory ---- */

static void add_address(struct uop *u, const struct cracking *c, const struct x86_memory *m)
{
    if (m->base < X86_RIP)
        add_source(u, m->base);
    if (m->index < X86_RIP && !(c->insn.traits & X86_VSIB))
        add_source(u, m->index);
    if (m->add8 < X86_RIP)
        add_source(u, m->add8);
}

/* What is accessed at once: no more than the machine's vectors, and a line. */
static uint32_t part_of(const struct cracking *c, uint32_t size)
{
    uint32_t most = c->vector_bytes < 8 ? 8 : c->vector_bytes;
    return size > most ? most : size ? size : 8;
}

/* A load that is renamed is a general register's, as it is in memory: a byte, 4 bytes, or 8; by a
 * base alone. 0: it is not. push and pop go with the stack, whose pointer renaming follows.
 * Without the base: renaming knows which registers are copies of each other. */
static uint32_t form_of(const struct cracking *c, const struct x86_memory *m)
{
    static const char *const signs[] = {"movsx", "movsxd", NULL},
                      *const stack[] = {"push", "pop", NULL};
    if (is_one_of(c->mnemonic, stack) && c->memories == 1)
        return 1;
    /* neither is a sum in memory of what a register has */
    if (m->access & X86_MEM_READ && m->access & X86_MEM_WRITE && c->general_source)
        return 0;
    if (m->index != X86_NONE || m->size == 2 || m->size > 8 || c->vector_width || c->x87 ||
        is_one_of(c->mnemonic, signs))
        return 0;
    uint64_t text = (uint64_t)m->disp * 31 + m->index;
    return (uint32_t)(hash_word(text) >> 32) | 1;
}

static void add_loads(struct cracking *c, unsigned operand, unsigned to)
{
    const struct x86_memory *m = &c->memory[operand];
    uint32_t size = m->size > LINE ? LINE : m->size, part = part_of(c, size);
    for (uint32_t at = 0; at == 0 || at < size; at += part) {
        struct uop u = {.class = UOP_LOAD, .operand = (uint8_t)operand, .size = (uint8_t)part,
                        .offset = (uint8_t)at, .form = form_of(c, m)};
        add_address(&u, c, m);
        if (to != UOP_REGISTERS)
            add_result(&u, to);
        add_uop(c, &u);
    }
}

/* source: UOP_REGISTERS: nothing that is waited for. */
static void add_stores(struct cracking *c, unsigned operand, unsigned source)
{
    const struct x86_memory *m = &c->memory[operand];
    uint32_t size = m->size > LINE ? LINE : m->size, part = part_of(c, size);
    for (uint32_t at = 0; at == 0 || at < size; at += part) {
        struct uop address = {.class = UOP_STORE_ADDRESS, .operand = (uint8_t)operand,
                              .size = (uint8_t)part, .offset = (uint8_t)at,
                              .form = form_of(c, m)};
        struct uop data = address;
        add_address(&address, c, m);
        data.class = UOP_STORE_DATA;
        data.flags = UOP_FUSED;
        if (source != UOP_REGISTERS)
            add_source(&data, source);
        if (c->out->count + 2 <= UOPS_MOST) {
            add_uop(c, &address);
            add_uop(c, &data);
        }
    }
}

/* One load for each element of a gather, at addresses that are not known; likewise scatters. */
static void add_elements(struct cracking *c, bool stores)
{
    unsigned size = c->memory[0].size ? c->memory[0].size : 8;
    unsigned elements = c->vector_width / (size < 4 ? 4 : size > 8 ? 8 : size);
    c->memory[0].size = (uint16_t)(size > 8 ? 8 : size);
    for (unsigned i = 0; i < elements; i++)
        if (stores)
            add_stores(c, 0, UOP_REGISTERS);
        else
            add_loads(c, 0, TEMP_LOADED);
}

static unsigned find_operand(const struct cracking *c, uint8_t access)
{
    for (unsigned i = 0; i < c->memories && i < INSN_OPERANDS; i++)
        if (c->memory[i].access & access)
            return i;
    return INSN_OPERANDS;
}

/* ---- the whole ---- */

static void note_transfer(struct cracking *c)
{
    switch (c->insn.kind) {
    case X86_JCC:
        c->out->transfer = TRANSFER_BRANCH;
        c->out->flags |= INSN_FUSIBLE;
        break;
    case X86_LOOP: c->out->transfer = TRANSFER_BRANCH; break;
    case X86_JMP: c->out->transfer = TRANSFER_JUMP; break;
    case X86_CALL: c->out->transfer = TRANSFER_CALL; break;
    case X86_CALL_INDIRECT: c->out->transfer = TRANSFER_CALL_INDIRECT; break;
    case X86_RET: c->out->transfer = TRANSFER_RETURN; break;
    case X86_JMP_INDIRECT: case X86_FAR: c->out->transfer = TRANSFER_JUMP_INDIRECT; break;
    case X86_TSX: c->out->transfer = x86_is_xbegin(&c->insn) ? TRANSFER_JUMP : TRANSFER_NONE; break;
    default: break;
    }
}

static void note_row(struct cracking *c)
{
    static const struct crack_row unknown = {"", CRACK_UNKNOWN, UOP_COMPLEX, 1};
    const char *name = c->mnemonic;
    if (c->insn.encoding != X86_LEGACY && name[0] == 'v')
        name++;
    const struct crack_row *row = crack_row_of(name, c->x87);
    c->row = row ? *row : unknown;
    if (!row)
        c->out->flags |= INSN_UNKNOWN;
    if (c->row.class == UOP_DIV64 && !(c->insn.traits & X86_REX_W))
        c->row.class = UOP_DIV32;
    if (c->row.kind == CRACK_SERIAL)
        c->out->flags |= INSN_SERIAL;
    if (c->row.kind == CRACK_FENCE || c->insn.traits & X86_LOCK ||
        (!strcmp(c->mnemonic, "xchg") && c->memories))
        c->out->flags |= INSN_LOCKED;
    /* How often a comparison is repeated is not known before it. */
    if (c->insn.kind == X86_STRING_REP && c->row.kind == CRACK_MOVE)
        c->out->flags |= INSN_REPEATED;
    if (c->insn.class == X86_CLASS_MMX)
        c->out->flags |= INSN_MMX;
}

/* A scaled index takes longer. lea reads what makes its address. */
static void note_lea(struct cracking *c)
{
    const struct x86_insn *insn = &c->insn;
    if (strcmp(c->mnemonic, "lea") != 0)
        return;
    if (insn->base < X86_RIP)
        add_source(&c->main, insn->base);
    if (insn->index < X86_RIP)
        add_source(&c->main, insn->index);
    if (insn->index < X86_RIP && insn->scale > 1)
        c->row.class = UOP_LEA;
    else if (insn->base == X86_RIP)
        c->row.class = UOP_LEA_RIP;
}

static void note_fusion(struct cracking *c)
{
    static const char *const names[] = {"cmp", "test", "add", "sub", "and", "inc", "dec", NULL};
    if (is_one_of(c->mnemonic, names) && find_operand(c, X86_MEM_WRITE) == INSN_OPERANDS &&
        !(c->out->flags & INSN_LOCKED))
        c->out->flags |= INSN_FUSES;
}

static int32_t constant_at(const uint8_t *at, unsigned size)
{
    int32_t wide = 0;
    if (size == sizeof wide)
        memcpy(&wide, at, sizeof wide);
    return size == 1 ? (int8_t)*at : size == sizeof wide ? wide : UOP_ADDS_MOST;
}

/* add, sub, inc, dec and lea of 8 bytes, of a register and a small constant. */
static void note_adds(struct cracking *c, const uint8_t *code)
{
    static const char *const names[] = {"add", "sub", "inc", "dec", NULL};
    const struct x86_insn *insn = &c->insn;
    bool wide = c->operands[0].bits == 64, lea = !strcmp(c->mnemonic, "lea");
    int32_t by = UOP_ADDS_MOST;
    if (lea && insn->base < X86_RIP && insn->index == X86_NONE)
        by = constant_at(code + insn->at_disp, insn->disp_size);
    else if (is_one_of(c->mnemonic, names) && !c->memories)
        by = strchr("id", c->mnemonic[0]) ? 1 : constant_at(code + insn->at_imm, insn->imm_size);
    if (!wide || by >= UOP_ADDS_MOST || by <= -UOP_ADDS_MOST)
        return;
    c->main.flags |= UOP_ADDS;
    c->main.adds = (int16_t)(c->mnemonic[0] == 's' || c->mnemonic[0] == 'd' ? -by : by);
}

static bool is_vector_class(unsigned class)
{
    return class >= UOP_VEC_ALU && class <= UOP_MASK;
}

static unsigned parts(const struct cracking *c)
{
    return c->vector_width > c->vector_bytes ? c->vector_width / c->vector_bytes : 1;
}

/* General registers on the way to or from vectors take a micro-operation of their own. */
static void add_main(struct cracking *c, bool loaded, bool stored)
{
    struct uop u = c->main, cross = {.class = UOP_CROSS};
    unsigned times = c->row.count * parts(c);
    bool vector = is_vector_class(c->row.class);
    bool out = vector && c->general_result && c->vector_source && !c->vector_result;
    u.class = c->row.class;
    u.flags |= loaded ? UOP_FUSED : 0;
    if (vector && c->general_source && c->vector_result) {
        struct uop in = cross;
        for (unsigned i = 0; i < u.source_count; i++)
            if (u.sources[i] < UOP_VECTOR) {
                add_source(&in, u.sources[i]);
                u.sources[i] = TEMP_CROSSED;
            }
        add_result(&in, TEMP_CROSSED);
        add_uop(c, &in);
    }
    if (out) {
        cross.result_count = u.result_count;
        memcpy(cross.results, u.results, sizeof u.results);
        add_source(&cross, TEMP_CROSSED);
        u.result_count = 0;
        add_result(&u, TEMP_CROSSED);
    }
    if (loaded)
        add_source(&u, TEMP_LOADED);
    if (stored)
        add_result(&u, TEMP_RESULT);
    for (unsigned i = 0; i < times; i++) {
        add_uop(c, &u);
        u.flags &= (uint8_t)~UOP_FUSED;
    }
    if (out)
        add_uop(c, &cross);
}

/* The register that a move reads, rather than a mask; UOP_REGISTERS: none. */
static unsigned moved_from(const struct cracking *c)
{
    for (unsigned i = 0; i < c->main.source_count; i++)
        if (c->main.sources[i] >= UOP_VECTOR && c->main.sources[i] < UOP_MASKS)
            return c->main.sources[i];
    return c->main.source_count ? c->main.sources[0] : UOP_REGISTERS;
}

/* False: it is a copy between registers. */
static bool add_move(struct cracking *c, unsigned from, unsigned to)
{
    if (to == INSN_OPERANDS && from == INSN_OPERANDS)
        return false;
    if (from == INSN_OPERANDS) {
        add_stores(c, to, moved_from(c));
    } else if (to == INSN_OPERANDS) {
        add_loads(c, from, c->main.result_count ? c->main.results[0] : UOP_REGISTERS);
    } else {
        add_loads(c, from, TEMP_LOADED);
        add_stores(c, to, TEMP_LOADED);
    }
    return true;
}

/* Between registers of one kind, all of them. */
static bool is_copy(const struct cracking *c)
{
    bool whole = !c->general_result || c->main.source_count == 1;
    bool same = c->general_source == c->general_result && c->vector_source == c->vector_result;
    return whole && same && c->main.source_count == 1 && c->main.result_count == 1 &&
           c->row.class != UOP_VEC_SHUFFLE && c->row.class != UOP_VEC_CROSSING && !c->x87;
}

static bool extends_sign(const struct cracking *c)
{
    return !strncmp(c->mnemonic, "movsx", 5);
}

static void add_copy(struct cracking *c)
{
    bool crosses = c->general_source != c->general_result || c->vector_source != c->vector_result;
    if (is_copy(c) && !extends_sign(c))
        c->main.flags |= UOP_COPY;
    if (crosses && c->main.source_count && (c->general_source || c->general_result)) {
        c->row.class = UOP_CROSS;
    } else if (c->x87) { /* fld, fst and fxch rename */
        c->row.class = UOP_NONE;
        c->row.count = 1;
    }
    add_main(c, false, false);
}

static void add_all(struct cracking *c)
{
    unsigned from = find_operand(c, X86_MEM_READ), to = find_operand(c, X86_MEM_WRITE);
    bool loaded = from != INSN_OPERANDS, stored = to != INSN_OPERANDS;
    bool vsib = c->insn.traits & X86_VSIB && c->memories;
    if (c->row.kind == CRACK_NONE || (c->row.kind == CRACK_SERIAL && c->row.class == UOP_NONE)) {
        add_uop(c, &(struct uop){.class = UOP_NONE});
        return;
    }
    if (c->row.kind == CRACK_MOVE) {
        if (!add_move(c, from, to))
            add_copy(c);
        else if (c->insn.class == X86_CLASS_STRING || !strcmp(c->mnemonic, "leave"))
            add_uop(c, &(struct uop){.class = UOP_ALU});
        return;
    }
    if (vsib && loaded)
        add_elements(c, false);
    else
        for (unsigned i = 0; i < c->memories; i++)
            if (c->memory[i].access & X86_MEM_READ)
                add_loads(c, i, TEMP_LOADED);
    if (c->insn.class == X86_CLASS_CALL && stored) {
        add_stores(c, to, UOP_REGISTERS);
        add_main(c, loaded, false);
        return;
    }
    add_main(c, loaded && !vsib, stored);
    if (vsib && stored)
        add_elements(c, true);
    else if (stored)
        add_stores(c, to, TEMP_RESULT);
}

/* Nothing that is no operand in memory, and no element of a gather, has an address. */
static void find_memory(struct cracking *c, const uint8_t *code)
{
    c->memories = x86_memory_as(&c->insn, code, c->memory);
    if (c->memories > INSN_OPERANDS)
        c->memories = INSN_OPERANDS;
}

bool crack(const uint8_t *code, size_t available, uint32_t vector_bytes, struct uop_insn *out)
{
    struct cracking c = {.vector_bytes = vector_bytes, .out = out};
    *out = (struct uop_insn){0};
    if (!x86_decode_as(code, available, &c.insn))
        return false;
    out->length = c.insn.length;
    c.operand_count = x86_operands(code, available, c.operands);
    c.mnemonic = x86_mnemonic(code, available);
    if (c.operand_count < 0 || !c.mnemonic)
        return false;
    find_memory(&c, code);
    note_x87(&c);
    note_row(&c);
    note_general(&c);
    for (int i = 0; i < c.operand_count; i++)
        note_special(&c, &c.operands[i]);
    note_flags(&c);
    note_lea(&c);
    note_transfer(&c);
    note_fusion(&c);
    note_adds(&c, code);
    if (is_zero(&c)) {
        c.main.flags |= UOP_ZERO;
        c.main.source_count = 0;
        c.general_source = c.vector_source = false;
    }
    add_all(&c);
    return true;
}
