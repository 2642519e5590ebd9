#include "unwind/ahead.h"

#include "unwind/hotspot.h"
#include "x86/insn.h"

enum {
    REGISTERS = 16,
    SLOTS = 8,     /* words written on a path that are known */
    WAITING = 24,  /* ways not yet taken */
    SEGMENT = 48,  /* instructions, after which another way is taken */
    END = 8,       /* instructions, which are a function's last: it has no frame any more */
    BRANCHES = 64, /* places where paths meet or part */
    DISTANCE_MAX = 1 << 20,
    CALLER_SAVED =
        1 << X86_RAX | 1 << X86_RCX | 1 << X86_RDX | 1 << X86_RSI | 1 << X86_RDI | 0xf << X86_R8,
};

static const uint8_t dwarf_number[REGISTERS] = {
    UNWIND_RAX, UNWIND_RCX, UNWIND_RDX, UNWIND_RBX, UNWIND_RSP, UNWIND_RBP, UNWIND_RSI, UNWIND_RDI,
    UNWIND_R8,  UNWIND_R9,  UNWIND_R10, UNWIND_R11, UNWIND_R12, UNWIND_R13, UNWIND_R14, UNWIND_R15};

/* What is known before an instruction. Values are of registers and memory as they are at the walk's
 * pc. */
struct path {
    uint64_t at; /* the instruction */
    uint64_t pushed_at; /* the last instruction that pushed something, and what */
    struct ahead_value pushed;
    struct ahead_value reg[REGISTERS]; /* by enum x86_register */
    uint32_t slots;
    struct {
        struct ahead_value place, value; /* place: AHEAD_REGISTER */
    } slot[SLOTS];
};

union code {
    uint64_t word[X86_LOOKAHEAD / 8];
    uint8_t byte[X86_LOOKAHEAD];
};

/* What is kept of a path that waits: registers but rsp and rbp only as they were at pc, of what was
 * stored only rbp. The rest is unknown. */
struct waiting {
    uint64_t at;
    struct ahead_value rsp, rbp;
    struct ahead_value saved; /* where what rbp was at pc lies, or unknown */
    uint32_t kept;            /* registers with their own value, as a mask */
};

struct reader {
    struct unwind_memory *memory;
    uint64_t stop; /* where a frame of `size` bytes is whole; 0: it is not known */
    uint64_t size;
    uint32_t left; /* instructions */
    bool called;   /* a path has passed a call, which may have moved the stack pointer */
    uint32_t first, waiting;
    struct waiting wait[WAITING]; /* a ring */
    uint64_t branch[BRANCHES]; /* by hash: jumps that were read */
    struct path now;
    union code code; /* of its instruction */
};
_Static_assert(sizeof(struct reader) <= sizeof((struct unwind_thread *)0)->scratch,
               "a thread has room for it");

static const struct ahead_value unknown = {AHEAD_UNKNOWN, 0, 0, 0};

/* ---- values ---- */

static struct ahead_value moved(struct ahead_value v, int64_t by)
{
    int64_t sum = v.plus + by;
    if (v.kind == AHEAD_UNKNOWN || by < -DISTANCE_MAX || by > DISTANCE_MAX || sum < -DISTANCE_MAX ||
        sum > DISTANCE_MAX)
        return unknown;
    v.plus = (int32_t)sum;
    return v;
}

/* Whether two known values differ by a constant that is known. */
static bool comparable(const struct ahead_value *a, const struct ahead_value *b)
{
    return a->kind == b->kind && a->reg == b->reg && (a->kind == AHEAD_REGISTER || a->at == b->at);
}

static void slots_forget(struct path *p, const struct ahead_value *place, int64_t size)
{
    for (uint32_t i = p->slots; i-- > 0;) {
        int64_t off = (int64_t)p->slot[i].place.plus - place->plus;
        if (comparable(&p->slot[i].place, place) && off < size && off > -8)
            p->slot[i] = p->slot[--p->slots];
    }
}

/* Whether nothing is known of the word at place until it is stored: it is below the stack pointer
 * at pc. */
static bool is_new(const struct ahead_value *place)
{
    return place->reg == UNWIND_RSP && place->plus < 0;
}

static void store(struct path *p, struct ahead_value place, struct ahead_value value)
{
    if (place.kind != AHEAD_REGISTER)
        return;
    slots_forget(p, &place, 8);
    if (is_new(&place) && (value.kind == AHEAD_UNKNOWN || p->slots == SLOTS))
        return;
    /* An old word is not what it was, so it is remembered in any case. */
    uint32_t i = p->slots;
    if (i == SLOTS)
        for (i = 0; i < SLOTS - 1 && !is_new(&p->slot[i].place);)
            i++;
    else
        p->slots++;
    p->slot[i].place = place;
    p->slot[i].value = value;
}

/* The word at place. */
static struct ahead_value load(const struct path *p, struct ahead_value place)
{
    if (place.kind != AHEAD_REGISTER)
        return unknown;
    for (uint32_t i = 0; i < p->slots; i++)
        if (comparable(&p->slot[i].place, &place) && p->slot[i].place.plus == place.plus)
            return p->slot[i].value;
    if (is_new(&place))
        return unknown;
    return (struct ahead_value){AHEAD_WORD, place.reg, place.plus, 0};
}

/* ---- instructions ---- */

static void push(struct path *p, struct ahead_value value)
{
    p->pushed_at = p->at;
    p->pushed = value;
    p->reg[X86_RSP] = moved(p->reg[X86_RSP], -8);
    store(p, p->reg[X86_RSP], value);
}

static void pop(struct path *p, unsigned reg)
{
    struct ahead_value value = load(p, p->reg[X86_RSP]);
    p->reg[X86_RSP] = moved(p->reg[X86_RSP], 8);
    p->reg[reg] = value;
}

static bool pass_stack(struct path *p, const struct x86_insn *insn)
{
    unsigned field = insn->reg & 15u;
    switch (insn->opcode) {
    case 0x50 ... 0x57: push(p, p->reg[field]); return true;
    case 0x58 ... 0x5f: pop(p, field); return true;
    case 0x68: case 0x6a: case 0x9c: push(p, unknown); return true;
    case 0x9d: case 0x8f: p->reg[X86_RSP] = moved(p->reg[X86_RSP], 8); return true;
    case 0xc9: /* leave */
        p->reg[X86_RSP] = p->reg[X86_RBP];
        pop(p, X86_RBP);
        return true;
    case 0xff:
        if ((field & 7) != 6)
            return false;
        push(p, unknown);
        return true;
    default: return false;
    }
}

static struct ahead_value address(const struct path *p, const struct x86_insn *insn,
                                  const uint8_t *code)
{
    if (insn->base >= REGISTERS || insn->index != X86_NONE)
        return unknown;
    return moved(p->reg[insn->base], x86_displacement_as(insn, code));
}

/* mov, lea, add and sub of 64 bits. */
static bool pass_word(struct path *p, const struct x86_insn *insn, const uint8_t *code)
{
    enum { ADD = 0, SUB = 5 };
    if (!(insn->traits & X86_REX_W) || insn->at_modrm == 0)
        return false;
    bool memory = insn->access & X86_MEM;
    unsigned reg = insn->reg & 15u, rm = insn->base & 15u;
    struct ahead_value at = memory ? address(p, insn, code) : unknown;
    int64_t by;
    switch (insn->opcode) {
    case 0x89:
        if (memory)
            store(p, at, p->reg[reg]);
        else
            p->reg[rm] = p->reg[reg];
        return true;
    case 0x8b: p->reg[reg] = memory ? load(p, at) : p->reg[rm]; return true;
    case 0x8d: p->reg[reg] = at; return true;
    case 0x81: case 0x83:
        by = x86_relative_as(insn, code); /* the immediate, sign-extended */
        if (memory || ((reg & 7) != ADD && (reg & 7) != SUB))
            return false;
        p->reg[rm] = moved(p->reg[rm], (reg & 7) == ADD ? by : -by);
        return true;
    default: return false;
    }
}

static void registers_forget(struct path *p, unsigned mask)
{
    for (unsigned r = 0; mask; r++, mask >>= 1)
        if (mask & 1)
            p->reg[r] = unknown;
}

static void pass(struct path *p, const struct x86_insn *insn, const uint8_t *code)
{
    enum { LARGE = 1 << 14 }; /* xsave and kin, which have no fixed size */
    const unsigned unusual = X86_PREFIX66 | X86_ADDRESS32 | X86_FS | X86_GS;
    bool usual =
        insn->encoding == X86_LEGACY && insn->map == X86_MAP_ONE_BYTE && !(insn->traits & unusual);
    if (usual && (pass_stack(p, insn) || pass_word(p, insn, code)))
        return;
    if (insn->access & X86_MEM_WRITE && !(insn->traits & (X86_FS | X86_GS))) {
        struct ahead_value at = address(p, insn, code);
        slots_forget(p, &at, insn->mem_size ? insn->mem_size : LARGE);
    }
    registers_forget(p, insn->writes);
}

/* ---- paths ---- */

/* Copies the instruction at `at` and decodes it: AddressSanitizer has no say in where generated
 * code lies. Returns its length; 0: it is none, or cannot be read. */
static unsigned decode(struct unwind_memory *m, uint64_t at, union code *code,
                       struct x86_insn *insn)
{
    enum { PAGE = 4096 };
    unsigned available = X86_LOOKAHEAD, left = (unsigned)(PAGE - at % PAGE);
    uint64_t word;
    if (left >= X86_LOOKAHEAD || unwind_memory_probe_as(m, at + left)) {
        for (unsigned i = 0; i < X86_LOOKAHEAD / 8; i++)
            if (!unwind_memory_read_as(m, at + 8 * i, &code->word[i]))
                return 0;
    } else {
        available = left;
        for (unsigned i = 0; i < left; i++) {
            if (!unwind_memory_read_as(m, (at + i) & ~UINT64_C(7), &word))
                return 0;
            code->byte[i] = (uint8_t)(word >> (at + i) % 8 * 8);
        }
    }
    return x86_decode_as(code->byte, available, insn);
}

/* Whether the jump at `at` is read for the first time. Where the table is full of others it may
 * seem new twice. */
static bool branch_new(struct reader *r, uint64_t at)
{
    uint64_t *slot = &r->branch[at % BRANCHES];
    if (*slot == at)
        return false;
    *slot = at;
    return true;
}

static bool is_own(const struct path *p, unsigned r)
{
    return p->reg[r].kind == AHEAD_REGISTER && p->reg[r].reg == dwarf_number[r] &&
           p->reg[r].plus == 0;
}

static void put_off(struct reader *r, const struct path *p, uint64_t at)
{
    if (r->waiting == WAITING)
        return;
    struct waiting *w = &r->wait[(r->first + r->waiting++) % WAITING];
    w->at = at;
    w->rsp = p->reg[X86_RSP];
    w->rbp = p->reg[X86_RBP];
    w->saved = unknown;
    w->kept = 0;
    for (unsigned i = 0; i < REGISTERS; i++)
        w->kept |= (uint32_t)is_own(p, i) << i;
    for (uint32_t i = 0; i < p->slots; i++)
        if (p->slot[i].value.kind == AHEAD_REGISTER && p->slot[i].value.reg == UNWIND_RBP &&
            p->slot[i].value.plus == 0)
            w->saved = p->slot[i].place;
}

static void take_up(struct reader *r, struct path *p)
{
    const struct waiting *w = &r->wait[r->first];
    r->first = (r->first + 1) % WAITING;
    r->waiting--;
    p->at = w->at;
    p->pushed_at = 0;
    for (unsigned i = 0; i < REGISTERS; i++)
        p->reg[i] = w->kept >> i & 1 ? (struct ahead_value){AHEAD_REGISTER, dwarf_number[i], 0, 0}
                                     : unknown;
    p->reg[X86_RSP] = w->rsp;
    p->reg[X86_RBP] = w->rbp;
    p->slots = w->saved.kind == AHEAD_REGISTER;
    p->slot[0].place = w->saved;
    p->slot[0].value = (struct ahead_value){AHEAD_REGISTER, UNWIND_RBP, 0, 0};
}

enum path_next { PATH_ON, PATH_END, PATH_RETURNS };

static enum path_next path_step(struct reader *r, struct path *p, struct x86_insn *insn)
{
    unsigned length = decode(r->memory, p->at, &r->code, insn);
    if (!length)
        return PATH_END;
    const uint8_t *code = r->code.byte;
    uint64_t next = p->at + length, target = next + (uint64_t)(int64_t)x86_relative_as(insn, code);
    switch (insn->kind) {
    case X86_RET: return PATH_RETURNS;
    case X86_JMP:
        if (!branch_new(r, p->at))
            return PATH_END;
        p->at = target;
        return PATH_ON;
    case X86_JCC: case X86_LOOP:
        if (!branch_new(r, p->at))
            return PATH_END;
        put_off(r, p, target);
        break;
    case X86_CALL: case X86_CALL_INDIRECT: case X86_SYSCALL: case X86_INT:
        r->called = true;
        registers_forget(p, CALLER_SAVED);
        break;
    case X86_JMP_INDIRECT:
    case X86_FAR:
    case X86_NEAR16:
    case X86_SYSENTER:
    case X86_INT3:
    case X86_INT1:
    case X86_UD: case X86_PRIVILEGED: case X86_TSX: case X86_OTHER:
        return PATH_END;
    default: pass(p, insn, code); break;
    }
    p->at = next;
    return PATH_ON;
}

/* Whether what is returned to was taken off the stack, and put back after a number of arguments
 * that is in a register was taken off too. *cfa: above where it was. */
static bool is_moved_return(const struct path *p, struct ahead_value *cfa)
{
    enum { PUSH_MAX = 2 }; /* bytes */
    if (p->at - p->pushed_at > PUSH_MAX || p->reg[X86_RSP].kind != AHEAD_UNKNOWN ||
        p->pushed.kind != AHEAD_WORD || p->pushed.reg != UNWIND_RSP || p->pushed.plus != 0)
        return false;
    *cfa = (struct ahead_value){AHEAD_REGISTER, UNWIND_RSP, 0, p->pushed.at + 8};
    return true;
}

/* Before a return. False: it is a jump, to an address that the path has pushed. Where it returns to
 * what it has taken off the stack, with more above it (by a number that is in a register, say),
 * *found is not known. */
static bool returning(const struct path *p, const struct x86_insn *insn, const uint8_t *code,
                      struct unwind_ahead *found)
{
    const struct ahead_value *rsp = &p->reg[X86_RSP];
    struct ahead_value word = load(p, *rsp);
    bool own = rsp->kind == AHEAD_REGISTER ? word.kind == AHEAD_WORD && word.reg == rsp->reg &&
                                                 word.at == rsp->plus && word.plus == 0
                                           : rsp->kind == AHEAD_WORD;
    const uint8_t *immediate = code + insn->at_imm;
    found->cfa = own ? moved(*rsp, 8) : unknown;
    if (!own)
        is_moved_return(p, &found->cfa);
    found->rbp = p->reg[X86_RBP];
    found->popped = insn->imm_size == 2 ? (uint32_t)immediate[0] | (uint32_t)immediate[1] << 8 : 0;
    return rsp->kind != AHEAD_REGISTER || word.kind == AHEAD_WORD;
}

/* Where the frame is whole: at r->stop. */
static void arrived(const struct reader *r, const struct path *p, struct unwind_ahead *found)
{
    found->cfa = moved(p->reg[X86_RSP], (int64_t)r->size);
    found->rbp = load(p, moved(found->cfa, -16));
    found->popped = 0;
}

/* Goes on with one path, at most for a segment. True: it returns, and so *found is set; known or
 * not. */
static bool path_run(struct reader *r, struct path *p, struct unwind_ahead *found)
{
    struct x86_insn insn;
    for (unsigned i = 0; i < SEGMENT && r->left; i++) {
        if (p->at == r->stop) {
            arrived(r, p, found);
            return true;
        }
        r->left--;
        switch (path_step(r, p, &insn)) {
        case PATH_ON: break;
        case PATH_END: return false;
        case PATH_RETURNS:
            if (!returning(p, &insn, r->code.byte, found))
                return false;
            found->keeps_rbp =
                is_own(p, X86_RBP) && !r->called && AHEAD_INSTRUCTIONS - r->left <= END;
            return true;
        }
    }
    put_off(r, p, p->at);
    return false;
}

/* Sets what is to be remembered of pc. stop, size: see struct reader. */
static void read_ahead(struct unwind_memory *memory, uint64_t pc, uint64_t stop, uint64_t size,
                       struct unwind_ahead *found)
{
    struct reader *r = (struct reader *)(void *)memory->thread->scratch;
    struct path *p = &r->now;
    r->memory = memory;
    r->stop = stop;
    r->size = size;
    r->called = false;
    r->left = AHEAD_INSTRUCTIONS;
    r->first = r->waiting = 0;
    for (unsigned i = 0; i < BRANCHES; i++)
        r->branch[i] = 0;
    p->at = pc;
    p->pushed_at = 0;
    p->slots = 0;
    for (unsigned i = 0; i < REGISTERS; i++)
        p->reg[i] = (struct ahead_value){AHEAD_REGISTER, dwarf_number[i], 0, 0};
    found->cfa = unknown;
    while (!path_run(r, p, found) && r->waiting && r->left)
        take_up(r, p);
}

void ahead_whole_as(uint32_t size, struct unwind_ahead *found)
{
    found->cfa = (struct ahead_value){AHEAD_REGISTER, UNWIND_RSP, 0, (int32_t)size};
    found->rbp = (struct ahead_value){AHEAD_WORD, UNWIND_RSP, (int32_t)size - 16, 0};
    found->popped = 0;
}

/* Whether the call before a return address is of code that HotSpot's methods call with their frame
 * as it always is: of methods and of what HotSpot does for them, but not of C functions and of what
 * stands in for those. */
static bool is_method_call(struct unwind_memory *memory, uint64_t return_address)
{
    struct hotspot_blob blob;
    uint64_t before;
    if (!unwind_memory_read_as(memory, return_address - 8, &before) ||
        (before >> 24 & 0xff) != 0xe8)
        return false;
    uint64_t target = return_address + (uint64_t)(int64_t)(int32_t)(before >> 32);
    return hotspot_find_as(memory, memory->thread->vm_structs, target, &blob) &&
           blob.kind != HOTSPOT_ROUTINES;
}

/* By what HotSpot says of the code, if it does. What calls a method has a whole frame. What is
 * executed may be before that, be taking the frame down, or have pushed a word or two for a moment,
 * as the code that compares strings does; and so may what calls something else. */
static bool compiled_find(struct unwind_memory *memory, uint64_t pc, bool exact,
                          struct unwind_ahead *found)
{
    struct hotspot_blob blob;
    if (!hotspot_find_as(memory, memory->thread->vm_structs, exact ? pc : pc - 1, &blob))
        return false;
    if (exact && blob.kind == HOTSPOT_JUMP) {
        ahead_whole_as(8, found);
        found->rbp = (struct ahead_value){AHEAD_REGISTER, UNWIND_RBP, 0, 0};
        return true;
    }
    if (!blob.size)
        return false;
    found->compiled = blob.kind == HOTSPOT_METHOD;
    if (exact && pc < blob.complete) {
        read_ahead(memory, pc, blob.complete, blob.size, found);
    } else if (!exact && is_method_call(memory, pc)) {
        ahead_whole_as((uint32_t)blob.size, found);
    } else {
        read_ahead(memory, pc, 0, 0, found);
        found->size = (uint32_t)blob.size;
    }
    return true;
}

bool ahead_find_as(struct unwind_memory *memory, uint64_t pc, bool exact,
                   struct unwind_ahead *found)
{
    struct unwind_ahead *kept = &memory->thread->ahead[(pc ^ pc >> 7) % UNWIND_AHEAD_SLOTS];
    uint64_t code;
    if (!unwind_memory_read_as(memory, pc, &code) &&
        !unwind_memory_read_as(memory, pc - pc % 8, &code))
        return false;
    if (kept->pc != pc || kept->code != code || kept->exact != exact) {
        kept->pc = 0;
        kept->size = 0;
        kept->keeps_rbp = false;
        kept->compiled = false;
        if (!compiled_find(memory, pc, exact, kept))
            read_ahead(memory, pc, 0, 0, kept);
        kept->code = code;
        kept->exact = exact;
        kept->pc = pc;
    }
    *found = *kept;
    return found->cfa.kind != AHEAD_UNKNOWN || found->size;
}

bool ahead_value_as(struct unwind_memory *memory, const struct ahead_value *v,
                    const struct unwind_regs *regs, uint32_t known, uint64_t *value, bool *missing)
{
    uint64_t word;
    *missing = v->kind != AHEAD_UNKNOWN && !(known >> v->reg & 1);
    if (v->kind == AHEAD_UNKNOWN || *missing)
        return false;
    word = regs->r[v->reg];
    if (v->kind == AHEAD_WORD &&
        !unwind_memory_read_as(memory, word + (uint64_t)(int64_t)v->at, &word))
        return false;
    *value = word + (uint64_t)(int64_t)v->plus;
    return true;
}

bool ahead_by_rbp_as(struct unwind_memory *memory, uint64_t pc)
{
    enum { SOON = 4 };
    struct x86_insn insn;
    union code code;
    for (unsigned i = 0, length; i < SOON; i++, pc += length) {
        length = decode(memory, pc, &code, &insn);
        if (!length || insn.kind != X86_ORDINARY)
            return false;
        if (insn.access & X86_MEM && insn.base == X86_RBP && insn.index == X86_NONE)
            return true;
        if (insn.writes >> X86_RBP & 1)
            return false;
    }
    return false;
}

/* 48 89 e5 or 48 8b ec */
static bool is_frame_made(const union code *code)
{
    uint64_t three = code->word[0] & 0xffffff;
    return three == 0xe58948 || three == 0xec8b48;
}

bool ahead_enters_as(struct unwind_memory *memory, uint64_t pc, uint64_t *depth)
{
    enum { SOON = 10, PUSH_RBP = 0x55 };
    struct x86_insn insn;
    union code code = {{0}};
    /* other: where the last conditional jump leads, over a jump through a register. */
    uint64_t before, other = 0;
    *depth = 0;
    for (unsigned i = 0, length; i < SOON; i++, pc += length) {
        length = decode(memory, pc, &code, &insn);
        if (i == 0 && length && is_frame_made(&code)) {
            *depth = 8;
            return unwind_memory_read_as(memory, pc - 8, &before) && before >> 56 == PUSH_RBP;
        }
        if (length == 1 && code.byte[0] == PUSH_RBP)
            return decode(memory, pc + 1, &code, &insn) && is_frame_made(&code);
        if (length && insn.kind == X86_JMP_INDIRECT && other) {
            pc = other - length;
            other = 0;
        } else if (!length || (insn.kind != X86_ORDINARY && insn.kind != X86_JCC) ||
                   (insn.writes & (1u << X86_RSP | 1u << X86_RBP)))
            return false;
        else if (insn.kind == X86_JCC)
            other = pc + length + (uint64_t)(int64_t)x86_relative_as(&insn, code.byte);
    }
    return false;
}
