/* The programs in CIEs and FDEs (DWARF 5, section 6.4.2), and what their rows mean. */
#include "unwind/cfi.h"

#include "unwind/table.h"

/* DWARF 5, section 7.24, and the GNU extensions that compilers emit for x86-64. */
enum {
    CFA_ADVANCE_LOC = 0x40, CFA_OFFSET = 0x80, CFA_RESTORE = 0xc0, CFA_PRIMARY = 0xc0,
    CFA_NOP = 0x00, CFA_SET_LOC = 0x01, CFA_ADVANCE_LOC1 = 0x02, CFA_ADVANCE_LOC2 = 0x03,
    CFA_ADVANCE_LOC4 = 0x04, CFA_OFFSET_EXTENDED = 0x05, CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07, CFA_SAME_VALUE = 0x08, CFA_REGISTER = 0x09, CFA_REMEMBER_STATE = 0x0a,
    CFA_RESTORE_STATE = 0x0b, CFA_DEF_CFA = 0x0c, CFA_DEF_CFA_REGISTER = 0x0d,
    CFA_DEF_CFA_OFFSET = 0x0e, CFA_DEF_CFA_EXPRESSION = 0x0f, CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11, CFA_DEF_CFA_SF = 0x12, CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14, CFA_VAL_OFFSET_SF = 0x15, CFA_VAL_EXPRESSION = 0x16,
    CFA_GNU_ARGS_SIZE = 0x2e, CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* A loop and not an assignment: the compiler would call memcpy for that. */
static void row_copy(struct cfi_row *to, const struct cfi_row *from)
{
    typedef uint64_t __attribute__((may_alias)) word;
    word *t = (word *)to;
    const word *f = (const word *)from;
    for (unsigned i = 0; i < sizeof *to / sizeof *t; i++)
        t[i] = f[i];
}

static void rule_set(struct cfi_machine *m, uint64_t number, enum cfi_how how, int64_t value)
{
    if (number >= UNWIND_REGISTERS)
        return; /* a vector or segment register: nothing depends on it */
    m->row.how[number] = (uint8_t)how;
    m->row.value[number] = value;
}

static void rule_restore(struct cfi_machine *m, uint64_t number)
{
    if (number < UNWIND_REGISTERS)
        rule_set(m, number, (enum cfi_how)m->initial.how[number], m->initial.value[number]);
}

/* The position of an expression, which is skipped. */
static int64_t expression_skip(const struct cfi_machine *m, struct cursor *c)
{
    int64_t offset = c->at - m->space->data;
    cursor_skip(c, cursor_uleb(c));
    return offset;
}

static int64_t scaled(const struct cfi_machine *m, int64_t factor)
{
    return (int64_t)((uint64_t)factor * (uint64_t)m->fde.cie.data_align);
}

static bool cfa_set(struct cfi_machine *m, uint64_t number, int64_t offset)
{
    m->row.cfa_register = number;
    m->row.cfa_value = offset;
    return number < UNWIND_REGISTERS;
}

static bool location_set(struct cfi_machine *m, uint64_t location)
{
    if (location < m->next)
        return false;
    m->next = location;
    return true;
}

static bool location_advance(struct cfi_machine *m, uint64_t delta)
{
    return location_set(m, m->next + delta * m->fde.cie.code_align);
}

static bool state_remember(struct cfi_machine *m)
{
    if (m->depth == CFI_REMEMBERED)
        return false;
    row_copy(&m->remembered[m->depth++], &m->row);
    return true;
}

static bool state_restore(struct cfi_machine *m)
{
    if (m->depth == 0)
        return false;
    row_copy(&m->row, &m->remembered[--m->depth]);
    return true;
}

/* Instructions that define the CFA. */
static bool execute_cfa(struct cfi_machine *m, struct cursor *c, uint8_t op)
{
    bool by_register = m->row.cfa_register != CFI_CFA_EXPRESSION;
    uint64_t number;
    switch (op) {
    case CFA_DEF_CFA:
        number = cursor_uleb(c);
        return cfa_set(m, number, (int64_t)cursor_uleb(c));
    case CFA_DEF_CFA_SF:
        number = cursor_uleb(c);
        return cfa_set(m, number, scaled(m, cursor_sleb(c)));
    case CFA_DEF_CFA_REGISTER:
        return cfa_set(m, cursor_uleb(c), m->row.cfa_value) && by_register;
    case CFA_DEF_CFA_OFFSET:
        m->row.cfa_value = (int64_t)cursor_uleb(c);
        return by_register;
    case CFA_DEF_CFA_OFFSET_SF:
        m->row.cfa_value = scaled(m, cursor_sleb(c));
        return by_register;
    default: /* CFA_DEF_CFA_EXPRESSION */
        m->row.cfa_register = CFI_CFA_EXPRESSION;
        m->row.cfa_value = expression_skip(m, c);
        return true;
    }
}

/* Instructions whose first operand is the register that they give a rule. */
static bool execute_rule(struct cfi_machine *m, struct cursor *c, uint8_t op)
{
    uint64_t number = cursor_uleb(c);
    switch (op) {
    case CFA_OFFSET_EXTENDED:
        rule_set(m, number, HOW_OFFSET, scaled(m, (int64_t)cursor_uleb(c)));
        return true;
    case CFA_OFFSET_EXTENDED_SF:
        rule_set(m, number, HOW_OFFSET, scaled(m, cursor_sleb(c)));
        return true;
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        rule_set(m, number, HOW_OFFSET, scaled(m, (int64_t)(0 - cursor_uleb(c))));
        return true;
    case CFA_VAL_OFFSET:
        rule_set(m, number, HOW_VAL_OFFSET, scaled(m, (int64_t)cursor_uleb(c)));
        return true;
    case CFA_VAL_OFFSET_SF:
        rule_set(m, number, HOW_VAL_OFFSET, scaled(m, cursor_sleb(c)));
        return true;
    case CFA_RESTORE_EXTENDED: rule_restore(m, number); return true;
    case CFA_UNDEFINED: rule_set(m, number, HOW_UNDEFINED, 0); return true;
    case CFA_SAME_VALUE: rule_set(m, number, HOW_SAME, 0); return true;
    case CFA_REGISTER: rule_set(m, number, HOW_REGISTER, (int64_t)cursor_uleb(c)); return true;
    case CFA_EXPRESSION: rule_set(m, number, HOW_EXPRESSION, expression_skip(m, c)); return true;
    case CFA_VAL_EXPRESSION:
        rule_set(m, number, HOW_VAL_EXPRESSION, expression_skip(m, c));
        return true;
    default: return false;
    }
}

/* One instruction. False: it makes no sense here. */
static bool execute(struct cfi_machine *m, struct cursor *c)
{
    uint8_t op = cursor_u8(c);
    uint8_t low = op & (uint8_t)~CFA_PRIMARY;
    switch (op & CFA_PRIMARY) {
    case CFA_ADVANCE_LOC: return location_advance(m, low);
    case CFA_OFFSET: rule_set(m, low, HOW_OFFSET, scaled(m, (int64_t)cursor_uleb(c))); return true;
    case CFA_RESTORE: rule_restore(m, low); return true;
    default: break;
    }
    switch (op) {
    case CFA_NOP: return true;
    case CFA_SET_LOC:
        return location_set(m, cfi_pointer_as(m->space, c, m->fde.cie.encoding, 0));
    case CFA_ADVANCE_LOC1: return location_advance(m, cursor_u8(c));
    case CFA_ADVANCE_LOC2: return location_advance(m, cursor_fixed(c, 2));
    case CFA_ADVANCE_LOC4: return location_advance(m, cursor_fixed(c, 4));
    case CFA_REMEMBER_STATE: return state_remember(m);
    case CFA_RESTORE_STATE: return state_restore(m);
    case CFA_DEF_CFA:
    case CFA_DEF_CFA_SF:
    case CFA_DEF_CFA_REGISTER:
    case CFA_DEF_CFA_OFFSET:
    case CFA_DEF_CFA_OFFSET_SF:
    case CFA_DEF_CFA_EXPRESSION: return execute_cfa(m, c, op);
    case CFA_GNU_ARGS_SIZE: cursor_uleb(c); return true; /* matters to landing pads only */
    default: return execute_rule(m, c, op);
    }
}

bool cfi_machine_start_as(struct cfi_machine *m, const struct cfi_space *space)
{
    m->space = space;
    m->lo = m->hi = m->next = m->fde.lo;
    m->ended = false;
    m->depth = 0;
    m->row.cfa_register = CFI_CFA_EXPRESSION;
    m->row.cfa_value = -1; /* not defined yet */
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++) {
        m->row.how[i] = HOW_UNSPECIFIED;
        m->row.value[i] = 0;
    }
    row_copy(&m->initial, &m->row);
    struct cursor c = m->fde.cie.program;
    while (c.at != c.end)
        if (!execute(m, &c) || c.bad)
            return false;
    row_copy(&m->initial, &m->row);
    return m->next == m->fde.lo;
}

enum cfi_status cfi_machine_next_as(struct cfi_machine *m)
{
    struct cursor *c = &m->fde.program;
    if (m->ended)
        return CFI_NONE;
    m->lo = m->next;
    while (c->at != c->end) {
        if (!execute(m, c) || c->bad)
            return CFI_BAD;
        if (m->next != m->lo) {
            m->hi = m->next;
            return CFI_OK;
        }
    }
    m->ended = true;
    m->hi = m->fde.hi;
    return CFI_OK;
}

enum cfi_status cfi_machine_seek_as(struct cfi_machine *m, uint64_t pc)
{
    for (;;) {
        enum cfi_status status = cfi_machine_next_as(m);
        if (status != CFI_OK)
            return status;
        /* A row whose end is not above its beginning can only be the last one, and then pc, which
         * is below fde.hi, is not in it. */
        if (pc >= m->lo && pc < m->hi)
            return CFI_OK;
    }
}

static struct cursor expression_at(const struct cfi_space *space, int64_t offset)
{
    struct cursor c = {space->data, space->data, true};
    if (offset < 0 || (uint64_t)offset > space->size)
        return c;
    c.at = space->data + offset;
    c.end = space->data + space->size;
    c.bad = false;
    uint64_t length = cursor_uleb(&c);
    if (c.bad || length > cursor_left(&c)) {
        c.bad = true;
        return c;
    }
    c.end = c.at + length;
    return c;
}

static bool bytes_match(struct cursor c, const uint8_t *pattern, unsigned size, unsigned hole,
                        uint8_t *hole_value)
{
    if (c.bad || cursor_left(&c) != size)
        return false;
    for (unsigned i = 0; i < size; i++) {
        if (i == hole)
            *hole_value = c.at[i];
        else if (c.at[i] != pattern[i])
            return false;
    }
    return true;
}

/* The two CFA expressions that have a kind of their own. */
static uint32_t pack_expression(const struct cfi_machine *m)
{
    /* breg7 (rsp) 8; breg16 (rip) 0; lit15; and; lit N; ge; lit3; shl; plus */
    static const uint8_t plt[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22};
    /* breg7 (rsp) 160; deref: the interrupted rsp, in the ucontext */
    static const uint8_t restorer[] = {0x77, 0xa0, 0x01, 0x06};
    enum { PLT_HOLE = 6, NO_HOLE = 255, LIT0 = 0x30, LIT15 = 0x3f };
    struct cursor c = expression_at(m->space, m->row.cfa_value);
    uint8_t hole = 0;
    if (m->fde.cie.signal)
        return rule_make(bytes_match(c, restorer, sizeof restorer, NO_HOLE, &hole) ? RULE_SIGNAL
                                                                                  : RULE_COMPLEX,
                         0, 0);
    if (bytes_match(c, plt, sizeof plt, PLT_HOLE, &hole) && hole >= LIT0 && hole <= LIT15)
        return rule_make(RULE_PLT, 0, (uint32_t)(hole - LIT0));
    return rule_make(RULE_COMPLEX, 0, 0);
}

uint32_t cfi_rule_pack_as(const struct cfi_machine *m)
{
    const struct cfi_row *row = &m->row;
    const uint32_t complex_rule = rule_make(RULE_COMPLEX, 0, 0);
    bool by_register = row->cfa_register != CFI_CFA_EXPRESSION;
    bool fits = by_register && row->cfa_value > 0 && row->cfa_value % 8 == 0 &&
                row->cfa_value / 8 <= RULE_OFFSET_MAX;
    uint32_t offset = fits ? (uint32_t)(row->cfa_value / 8) : 0;
    if (row->how[UNWIND_RIP] == HOW_UNDEFINED)
        return rule_make(RULE_ROOT, 0, row->cfa_register == UNWIND_RSP ? offset : 0);
    if (m->fde.cie.signal)
        return by_register ? complex_rule : pack_expression(m);
    if (row->how[UNWIND_RIP] != HOW_OFFSET || row->value[UNWIND_RIP] != -8)
        return complex_rule;
    if (row->how[UNWIND_RSP] != HOW_UNSPECIFIED &&
        !(row->how[UNWIND_RSP] == HOW_VAL_OFFSET && row->value[UNWIND_RSP] == 0))
        return complex_rule;

    uint32_t slot = 0;
    int64_t at = row->value[UNWIND_RBP];
    if (row->how[UNWIND_RBP] == HOW_OFFSET) {
        if (at >= 0 || at % 8 != 0 || at < -8 * (int64_t)RULE_SLOT_MAX)
            return complex_rule;
        slot = (uint32_t)(-at / 8);
    } else if (row->how[UNWIND_RBP] != HOW_UNSPECIFIED && row->how[UNWIND_RBP] != HOW_SAME) {
        return complex_rule;
    }

    if (!by_register)
        return slot == 0 ? pack_expression(m) : complex_rule;
    if (!fits || (row->cfa_register != UNWIND_RSP && row->cfa_register != UNWIND_RBP))
        return complex_rule;
    return rule_make(row->cfa_register == UNWIND_RSP ? RULE_RSP : RULE_RBP, slot, offset);
}

static enum cfi_status cfa_compute(const struct cfi_machine *m, const struct cfi_frame *frame,
                                   struct unwind_memory *memory, uint64_t *cfa)
{
    const struct cfi_row *row = &m->row;
    if (row->cfa_register != CFI_CFA_EXPRESSION) {
        if (!(frame->known >> row->cfa_register & 1))
            return CFI_UNKNOWN;
        *cfa = frame->regs.r[row->cfa_register] + (uint64_t)row->cfa_value;
        return CFI_OK;
    }
    struct cursor code = expression_at(m->space, row->cfa_value);
    if (code.bad)
        return CFI_BAD;
    return expr_evaluate_as(code, &frame->regs, frame->known, memory, 0, cfa);
}

/* The caller's register `number`. popped: it has its value already, whatever its rule says. */
static enum cfi_status register_compute(const struct cfi_machine *m, unsigned number, bool popped,
                                        uint64_t cfa, const struct cfi_frame *frame,
                                        struct unwind_memory *memory, uint64_t *result)
{
    enum cfi_how how = popped ? HOW_SAME : (enum cfi_how)m->row.how[number];
    int64_t value = m->row.value[number];
    if (how == HOW_UNSPECIFIED && number == UNWIND_RSP) {
        *result = cfa;
        return CFI_OK;
    }
    switch (how) {
    case HOW_UNDEFINED: return CFI_UNKNOWN;
    case HOW_UNSPECIFIED:
    case HOW_SAME: value = number; break;
    case HOW_REGISTER: break;
    case HOW_OFFSET:
        return unwind_memory_read_as(memory, cfa + (uint64_t)value, result) ? CFI_OK
                                                                            : CFI_UNREADABLE;
    case HOW_VAL_OFFSET: *result = cfa + (uint64_t)value; return CFI_OK;
    case HOW_EXPRESSION:
    case HOW_VAL_EXPRESSION: {
        struct cursor code = expression_at(m->space, value);
        if (code.bad)
            return CFI_BAD;
        enum cfi_status status =
            expr_evaluate_as(code, &frame->regs, frame->known, memory, &cfa, result);
        if (status != CFI_OK || how == HOW_VAL_EXPRESSION)
            return status;
        return unwind_memory_read_as(memory, *result, result) ? CFI_OK : CFI_UNREADABLE;
    }
    }
    if ((uint64_t)value >= UNWIND_REGISTERS)
        return CFI_BAD;
    *result = frame->regs.r[value];
    return frame->known >> value & 1 ? CFI_OK : CFI_UNKNOWN;
}

/* Where gcc has realigned the stack, it saves registers below rbp and says so by expressions:
 *
 *     lea -16(%rbp), %rsp                CFA = [rbp - 8], rbp = [rbp], rbx = [rbp - 16]
 *     pop %rbx; pop %r10; pop %rbp       CFA = r10
 *     lea -8(%r10), %rsp                 CFA = r10          here rbp is the caller's already,
 *     ret                                CFA = rsp + 8      but its rule is still [rbp]
 *
 * Where the CFA is no longer found through rbp, the frame still stands only in the instruction at
 * which rbp equals rsp (just set up, or about to be popped). */
static bool frame_dismantled(const struct cfi_machine *m, const struct cfi_frame *frame)
{
    static const uint8_t at_rbp[] = {0x76, 0}; /* breg6 (rbp) 0 */
    enum { NO_HOLE = 255 };
    uint8_t hole;
    return m->row.how[UNWIND_RBP] == HOW_EXPRESSION &&
           m->row.cfa_register != CFI_CFA_EXPRESSION && m->row.cfa_register != UNWIND_RBP &&
           frame->regs.r[UNWIND_RBP] != frame->regs.r[UNWIND_RSP] &&
           bytes_match(expression_at(m->space, m->row.value[UNWIND_RBP]), at_rbp, sizeof at_rbp,
                       NO_HOLE, &hole);
}

enum cfi_status cfi_apply_as(const struct cfi_machine *m, struct cfi_frame *frame,
                             struct unwind_memory *memory, uint64_t *cfa, bool *root)
{
    struct cfi_frame caller;
    *root = m->row.how[UNWIND_RIP] == HOW_UNDEFINED;
    enum cfi_status status = cfa_compute(m, frame, memory, cfa);
    if (*root)
        return CFI_OK;
    if (status != CFI_OK)
        return status;
    if (m->row.how[UNWIND_RIP] == HOW_UNSPECIFIED || m->row.how[UNWIND_RIP] == HOW_SAME)
        return CFI_BAD; /* would return to itself */
    bool dismantled = frame_dismantled(m, frame);
    caller.known = 0;
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++) {
        bool popped = dismantled && m->row.how[i] == HOW_EXPRESSION;
        status = register_compute(m, i, popped, *cfa, frame, memory, &caller.regs.r[i]);
        if (status == CFI_OK)
            caller.known |= 1u << i;
        else if (i == UNWIND_RIP || i == UNWIND_RSP)
            return status;
        else
            caller.regs.r[i] = 0; /* matters only if something asks for it */
    }
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        frame->regs.r[i] = caller.regs.r[i];
    frame->known = caller.known;
    return CFI_OK;
}
