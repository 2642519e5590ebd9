/* `record --tool values`: what instructions compute, read and go to, and what is worth specializing
 * for. */
#include <string.h>

#include "modules/builtin.h"
#include "sigsafe/hash.h"
#include "x86/insn.h"

enum kind {
    KIND_RESULT,
    KIND_SOURCE,
    KIND_FLAGS,
    KIND_ADDRESS,
    KIND_LOADED,
    KIND_STORED,
    KIND_TAKEN,
    KIND_TARGET,
    KIND_SYSTEM_CALL,
    KIND_RETURNED,
    KIND_FLOAT,
    KIND_DOUBLE,
    KIND_LOADED_FLOAT,
    KIND_LOADED_DOUBLE,
    KIND_STORED_FLOAT,
    KIND_STORED_DOUBLE,
    KIND_DIVISOR,
    KIND_SHIFT,
    KIND_ARGUMENT, /* six of them */
    KINDS = KIND_ARGUMENT + 6
};

#define ARGUMENT(n) [KIND_ARGUMENT + (n) - 1] =                                                    \
    { "argument " #n, PENUMBRA_SHOW_GUESS, PENUMBRA_ROLE_ARGUMENT, NULL }

static const char *const taken_names[] = { "not taken", "taken", NULL };
static const struct penumbra_kind kinds[KINDS] = {
    [KIND_RESULT] = { "result", PENUMBRA_SHOW_GUESS, PENUMBRA_ROLE_RESULT, NULL },
    [KIND_SOURCE] = { "source", PENUMBRA_SHOW_GUESS, PENUMBRA_ROLE_OTHER, NULL },
    [KIND_FLAGS] = { "flags", PENUMBRA_SHOW_HEX, PENUMBRA_ROLE_OTHER, NULL },
    [KIND_ADDRESS] = { "address", PENUMBRA_SHOW_ADDRESS, PENUMBRA_ROLE_OTHER, NULL },
    [KIND_LOADED] = { "loaded", PENUMBRA_SHOW_GUESS, PENUMBRA_ROLE_LOADED, NULL },
    [KIND_STORED] = { "stored", PENUMBRA_SHOW_GUESS, PENUMBRA_ROLE_OTHER, NULL },
    [KIND_TAKEN] = { "branch", PENUMBRA_SHOW_NAME, PENUMBRA_ROLE_OTHER, taken_names },
    [KIND_TARGET] = { "target", PENUMBRA_SHOW_CODE, PENUMBRA_ROLE_TARGET, NULL },
    [KIND_SYSTEM_CALL] = { "system call", PENUMBRA_SHOW_DECIMAL, PENUMBRA_ROLE_OTHER, NULL },
    [KIND_RETURNED] = { "returned", PENUMBRA_SHOW_SIGNED, PENUMBRA_ROLE_OTHER, NULL },
    [KIND_FLOAT] = { "result float", PENUMBRA_SHOW_FLOAT, PENUMBRA_ROLE_RESULT, NULL },
    [KIND_DOUBLE] = { "result double", PENUMBRA_SHOW_DOUBLE, PENUMBRA_ROLE_RESULT, NULL },
    [KIND_LOADED_FLOAT] = { "loaded float", PENUMBRA_SHOW_FLOAT, PENUMBRA_ROLE_LOADED, NULL },
    [KIND_LOADED_DOUBLE] = { "loaded double", PENUMBRA_SHOW_DOUBLE, PENUMBRA_ROLE_LOADED, NULL },
    [KIND_STORED_FLOAT] = { "stored float", PENUMBRA_SHOW_FLOAT, PENUMBRA_ROLE_OTHER, NULL },
    [KIND_STORED_DOUBLE] = { "stored double", PENUMBRA_SHOW_DOUBLE, PENUMBRA_ROLE_OTHER, NULL },
    [KIND_DIVISOR] = { "divisor", PENUMBRA_SHOW_GUESS, PENUMBRA_ROLE_DIVISOR, NULL },
    [KIND_SHIFT] = { "shift count", PENUMBRA_SHOW_DECIMAL, PENUMBRA_ROLE_SHIFT, NULL },
    ARGUMENT(1), ARGUMENT(2), ARGUMENT(3), ARGUMENT(4), ARGUMENT(5), ARGUMENT(6),
};

static bool divides(unsigned map, unsigned opcode, unsigned digit)
{
    return map == X86_MAP_ONE_BYTE && (opcode | 1) == 0xf7 && digit >= 6;
}

static bool shifts_by_cl(unsigned map, unsigned opcode)
{
    return map == X86_MAP_ONE_BYTE && (opcode | 1) == 0xd3;
}

/* Divisions need their divisor, shifts by a register their count; flags say nothing that results do
 * not. */
static uint32_t capture(const struct penumbra_opcode *opcode)
{
    uint32_t what = PENUMBRA_RESULT | PENUMBRA_LOADED | PENUMBRA_STORED | PENUMBRA_ADDRESS |
                    PENUMBRA_TAKEN | PENUMBRA_TARGET | PENUMBRA_ARGUMENTS | PENUMBRA_SYSTEM_CALL;
    bool sources = divides(opcode->map, opcode->opcode, opcode->digit) ||
                   shifts_by_cl(opcode->map, opcode->opcode);
    return what | (sources ? PENUMBRA_SOURCES : 0);
}

static bool is_division(const struct x86_insn *i)
{
    return divides(i->map, i->opcode, i->reg & 7);
}

static bool is_shift_by_cl(const struct x86_insn *i)
{
    return shifts_by_cl(i->map, i->opcode);
}

/* The operand that divides: in the register that the encoding names, or in memory. */
static bool is_divisor(const struct x86_insn *insn, const struct penumbra_item *item)
{
    if (insn->access & X86_MEM)
        return item->what == PENUMBRA_LOADED;
    return item->what == PENUMBRA_SOURCES && item->reg == insn->base;
}

static uint32_t by_form(const struct penumbra_item *item, uint32_t integer, uint32_t one,
                        uint32_t two)
{
    return item->form == PENUMBRA_FLOAT ? one : item->form == PENUMBRA_DOUBLE ? two : integer;
}

static uint32_t kind_of(const struct penumbra_item *item)
{
    switch (item->what) {
    case PENUMBRA_RESULT: return by_form(item, KIND_RESULT, KIND_FLOAT, KIND_DOUBLE);
    case PENUMBRA_LOADED: return by_form(item, KIND_LOADED, KIND_LOADED_FLOAT, KIND_LOADED_DOUBLE);
    case PENUMBRA_STORED: return by_form(item, KIND_STORED, KIND_STORED_FLOAT, KIND_STORED_DOUBLE);
    case PENUMBRA_FLAGS: return KIND_FLAGS;
    case PENUMBRA_ADDRESS: return KIND_ADDRESS;
    case PENUMBRA_TAKEN: return KIND_TAKEN;
    case PENUMBRA_TARGET: return KIND_TARGET;
    case PENUMBRA_SYSTEM_CALL:
        return item->index == 0 ? KIND_SYSTEM_CALL : item->index == 7 ? KIND_RETURNED : KINDS;
    default: return KINDS; /* sources are kept where they are divisors and the like */
    }
}

static void show_item(struct penumbra_host *host, const struct penumbra_tuple *t,
                      const struct x86_insn *insn, const struct penumbra_item *item)
{
    uint32_t kind = kind_of(item);
    /* What a return reads and goes to is its caller: the call path says that. */
    if (kind < KINDS && insn->kind != X86_RET)
        penumbra_emit(host, t->pc, kind, 0, item->value);
    if (item->what == PENUMBRA_ARGUMENTS)
        penumbra_emit(host, t->pc, KIND_ARGUMENT + item->index, t->return_address, item->value);
    if (is_division(insn) && is_divisor(insn, item))
        penumbra_emit(host, t->pc, KIND_DIVISOR, 0, item->value);
    if (is_shift_by_cl(insn) && item->what == PENUMBRA_SOURCES && item->reg == X86_RCX)
        penumbra_emit(host, t->pc, KIND_SHIFT, 0, item->value & 63);
}

/* The decoded instruction; NULL: it is none. Those that were decoded last are remembered. */
static const struct x86_insn *decoded_find(const struct penumbra_tuple *t)
{
    enum { REMEMBERED = 1 << 12, LONGEST = 15 };
    static struct {
        uint8_t code[LONGEST], length;
        struct x86_insn insn;
    } decoded[REMEMBERED];
    uint32_t at = (uint32_t)(hash_word(t->pc) >> 52);
    _Static_assert(REMEMBERED == 1 << (64 - 52), "as many as there are values of the hash");
    if (!t->length || t->length > LONGEST)
        return NULL;
    if (decoded[at].length != t->length || memcmp(decoded[at].code, t->code, t->length) != 0) {
        decoded[at].length = 0;
        if (!x86_decode_as(t->code, t->length, &decoded[at].insn))
            return NULL;
        memcpy(decoded[at].code, t->code, t->length);
        decoded[at].length = t->length;
    }
    return &decoded[at].insn;
}

static void sequence(struct penumbra_host *host, const struct penumbra_sequence *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct penumbra_tuple *t = &s->tuples[i];
        const struct x86_insn *insn = decoded_find(t);
        for (uint32_t k = 0; insn && k < t->count; k++)
            show_item(host, t, insn, &t->items[k]);
    }
}

const struct penumbra_module module_values = {
    .abi = PENUMBRA_MODULE_ABI,
    .size = sizeof(struct penumbra_module),
    .name = "values",
    .kinds = kinds,
    .kind_count = KINDS,
    .capture = capture,
    .sequence = sequence,
};
