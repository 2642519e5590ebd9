#include "unwind/step.h"

#include "sigsafe/sample_path.h"
#include "unwind/padding.h"
#include "unwind/table.h"

/* The kernel's page of emulated system calls. Only called, never read. */
#define VSYSCALL_LO UINT64_C(0xffffffffff600000)
#define VSYSCALL_HI UINT64_C(0xffffffffff601000)

/* Below this no process has code: a null pointer with an offset was called. */
#define LOWEST_CODE UINT64_C(4096)

SAMPLE_PATH
static bool table_rule(const struct unwind_image *image, uint64_t pc, uint32_t *rule)
{
    if (!image->table_ref)
        return false;
    uint64_t at = 16 * (uint64_t)__atomic_load_n(image->table_ref, __ATOMIC_ACQUIRE);
    if (at == 0 || at >= image->table_limit)
        return false;
    const struct unwind_table *table = (const struct unwind_table *)(const void *)(
        image->table_base + at);
    if (!unwind_table_valid(table, image->table_limit - at))
        return false;
    *rule = unwind_table_find_as(table, image->table_limit - at, pc - image->bias);
    return true;
}

static bool has_frames(const struct unwind_image *image)
{
    uint64_t hdr = (uint64_t)image->eh_frame_hdr;
    return hdr != 0 && hdr >= image->readable_lo && hdr < image->readable_hi;
}

static enum cfi_status interpret(const struct unwind_image *image, uint64_t pc,
                                 struct cfi_machine *m, struct cfi_space *space)
{
    space->data =
        image->readable_copy ? image->readable_copy : (const uint8_t *)image->readable_lo;
    space->size = image->readable_hi - image->readable_lo;
    space->address = image->readable_lo;
    enum cfi_status status =
        cfi_fde_find_as(space, (uint64_t)image->eh_frame_hdr - image->readable_lo,
                        image->eh_frame_hdr_size, pc, &m->fde);
    if (status != CFI_OK)
        return status;
    if (!cfi_machine_start_as(m, space))
        return CFI_BAD;
    return cfi_machine_seek_as(m, pc);
}

static bool has_cfi(uint32_t rule)
{
    return rule_kind(rule) != RULE_NONE && rule_kind(rule) != RULE_CODE;
}

/* A restorer without CFI may follow a function that has some, and then the byte before the return
 * address is that function's. Only what is at the return address itself tells. */
static bool ends_before_restorer(struct step_state *s, const struct step_place *place, bool table)
{
    uint64_t rip = place->pc + 1;
    uint32_t rule = 0;
    if (s->exact || !has_cfi(place->rule) || rule_kind(place->rule) == RULE_SIGNAL)
        return false;
    if (place->interpreted ? rip < place->machine.fde.hi
                           : !table || !table_rule(place->image, rip, &rule) || has_cfi(rule))
        return false;
    return step_is_restorer_as(s, rip);
}

/* Where the no-operations at pc end; pc, if there are none. */
static uint64_t behind_padding(struct step_state *s, uint64_t pc)
{
    union {
        uint64_t word[PADDING_MAX / sizeof(uint64_t)];
        uint8_t byte[PADDING_MAX];
    } code;
    uint32_t words = 0;
    while (words < PADDING_MAX / sizeof(uint64_t) &&
           unwind_memory_read_as(&s->memory, pc + words * sizeof(uint64_t), &code.word[words]))
        words++;
    return pc + padding_length_as(code.byte, words * (uint32_t)sizeof(uint64_t));
}

/* The rule at pc, an address in place->image. Whether it has a table. */
SAMPLE_PATH
static bool rule_at(const struct step_state *s, struct step_place *place, uint64_t pc)
{
    bool frames = has_frames(place->image);
    bool table = !(s->full && frames) && table_rule(place->image, pc, &place->rule);
    if (frames && (!table || rule_kind(place->rule) == RULE_COMPLEX)) {
        place->interpreter = interpret(place->image, pc, &place->machine, &place->space);
        place->interpreted = place->interpreter == CFI_OK;
        if (place->interpreted)
            place->rule = cfi_rule_pack_as(&place->machine);
    }
    uint32_t rule;
    /* The interpreter has no rows of code without CFI. */
    if (!table && place->interpreter == CFI_NONE && table_rule(place->image, pc, &rule) &&
        rule_kind(rule) == RULE_CODE)
        place->rule = rule;
    return table;
}

SAMPLE_PATH
void step_locate_as(struct step_state *s, struct step_place *place)
{
    uint64_t rip = s->frame.regs.r[UNWIND_RIP];
    place->pc = s->exact ? rip : rip - 1;
    place->image = unwind_index_find_as(s->index, place->pc);
    place->rule = rule_make(RULE_NONE, 0, 0);
    place->interpreted = false;
    place->interpreter = CFI_NONE;
    if (!place->image)
        return;
    bool table = rule_at(s, place, place->pc);
    /* Only what is executed: a return address may be the beginning of a function that nothing has
     * called. */
    if (s->exact && rule_kind(place->rule) == RULE_NONE && place->interpreter == CFI_NONE) {
        uint64_t pc = behind_padding(s, rip);
        if (pc != rip)
            table = rule_at(s, place, pc);
    }
    if (ends_before_restorer(s, place, table))
        place->rule = rule_make(RULE_SIGNAL, 0, 0);
}

/* The kernel's frame, with rsp where a handler's return leaves it:
 *
 *     rsp +   0  uc_flags, uc_link, uc_stack (40 bytes)
 *          +  40  r8 .. r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip
 */
static enum step_outcome apply_signal(struct step_state *s, struct step_result *result)
{
    static const uint8_t order[UNWIND_REGISTERS] = {
        UNWIND_R8,  UNWIND_R9,  UNWIND_R10, UNWIND_R11, UNWIND_R12, UNWIND_R13,
        UNWIND_R14, UNWIND_R15, UNWIND_RDI, UNWIND_RSI, UNWIND_RBP, UNWIND_RBX,
        UNWIND_RDX, UNWIND_RAX, UNWIND_RCX, UNWIND_RSP, UNWIND_RIP};
    enum { GREGS = 40 };
    struct cfi_frame *f = &s->frame;
    uint64_t base = f->regs.r[UNWIND_RSP] + GREGS, unused;
    if (!unwind_memory_read_as(&s->memory, base, &unused) ||
        !unwind_memory_read_as(&s->memory, base + 8 * (UNWIND_REGISTERS - 1), &unused)) {
        result->truncation = TRUNC_BAD_STACK;
        return STEP_FAILED;
    }
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        if (!unwind_memory_read_as(&s->memory, base + 8 * i, &f->regs.r[order[i]]))
            f->regs.r[order[i]] = 0; /* its first and last words are there, so this one is */
    f->known = UNWIND_KNOWN_ALL;
    s->exact = true;
    result->cfa = f->regs.r[UNWIND_RSP];
    return STEP_OK;
}

static enum step_outcome failed(struct step_state *s, struct step_result *result,
                                enum cfi_status status)
{
    if (status == CFI_UNKNOWN && !s->full)
        return STEP_RESTART;
    result->truncation = status == CFI_UNREADABLE ? TRUNC_BAD_STACK : TRUNC_BAD_CFI;
    return STEP_FAILED;
}

/* By the interpreter's row, all registers. */
static enum step_outcome apply_row(struct step_state *s, const struct step_place *place,
                                   struct step_result *result)
{
    uint64_t rsp = s->frame.regs.r[UNWIND_RSP], rip = s->frame.regs.r[UNWIND_RIP];
    bool root;
    enum cfi_status status =
        cfi_apply_as(&place->machine, &s->frame, &s->memory, &result->cfa, &root);
    if (status != CFI_OK)
        return failed(s, result, status);
    if (root)
        return STEP_ROOT;
    s->exact = place->machine.fde.cie.signal;
    /* A frame is above its callee's, unless the stack was switched, which ordinary rules cannot
     * do. Whatever does not move at all would be walked for ever. */
    bool may_switch = rule_kind(place->rule) == RULE_COMPLEX;
    if (may_switch ? s->frame.regs.r[UNWIND_RSP] == rsp && s->frame.regs.r[UNWIND_RIP] == rip
                   : result->cfa <= rsp) {
        result->truncation = TRUNC_NO_PROGRESS;
        return STEP_FAILED;
    }
    return STEP_OK;
}

/* By a packed rule: rsp, rbp and rip only. */
SAMPLE_PATH
static enum step_outcome apply_rule(struct step_state *s, const struct step_place *place,
                                    uint32_t rule, struct step_result *result)
{
    struct cfi_frame *f = &s->frame;
    uint64_t rsp = f->regs.r[UNWIND_RSP], rbp = f->regs.r[UNWIND_RBP], rip, saved;
    bool rbp_known = f->known >> UNWIND_RBP & 1;
    uint64_t offset = rule_offset(rule), cfa;
    if (rule_kind(rule) == RULE_RBP && !rbp_known && s->memory.thread->fetch && !s->tries) {
        rbp = step_search_as(s, place, offset - 1);
        rbp_known = result->guessed = rbp != 0;
    }
    if (rule_kind(rule) == RULE_PLT)
        cfa = rsp + 8 + ((f->regs.r[UNWIND_RIP] & 15) >= offset ? 8 : 0);
    else if (rule_kind(rule) == RULE_RSP)
        cfa = rsp + 8 * offset;
    else if (rbp_known)
        cfa = rbp + 8 * offset;
    else
        return failed(s, result, CFI_UNKNOWN);
    result->cfa = cfa;
    if (cfa <= rsp) {
        result->truncation = TRUNC_NO_PROGRESS;
        return STEP_FAILED;
    }
    if (!unwind_memory_read_as(&s->memory, cfa - 8, &rip))
        return failed(s, result, CFI_UNREADABLE);
    uint32_t slot = rule_slot(rule);
    if (slot != 0) {
        rbp_known = unwind_memory_read_as(&s->memory, cfa - 8 * (uint64_t)slot, &saved);
        f->regs.r[UNWIND_RBP] = rbp_known ? saved : 0;
    }
    f->regs.r[UNWIND_RSP] = cfa;
    f->regs.r[UNWIND_RIP] = rip;
    f->known = 1u << UNWIND_RSP | 1u << UNWIND_RIP | (uint32_t)rbp_known << UNWIND_RBP;
    s->exact = false;
    return STEP_OK;
}

static enum step_outcome apply_vsyscall(struct step_state *s, const struct step_place *place,
                                        struct step_result *result)
{
    return apply_rule(s, place, rule_make(RULE_RSP, 0, 1), result);
}

static enum step_outcome apply_none(struct step_state *s, const struct step_place *place,
                                    struct step_result *result)
{
    uint64_t rip = s->frame.regs.r[UNWIND_RIP];
    if (rip >= VSYSCALL_LO && rip < VSYSCALL_HI)
        return apply_vsyscall(s, place, result);
    if (rip < LOWEST_CODE && !s->exact) {
        result->truncation = TRUNC_NO_CFI;
        return STEP_FAILED;
    }
    if (step_is_restorer_as(s, rip))
        return apply_signal(s, result);
    enum step_outcome outcome = step_guess_as(s, place->image, result);
    if (outcome != STEP_FAILED)
        return outcome;
    if (place->interpreter == CFI_BAD) {
        result->truncation = TRUNC_BAD_CFI;
        return outcome;
    }
    result->planted = place->image && step_is_planted_as(s, place->image);
    return result->planted ? STEP_ROOT : outcome;
}

/* By what the code does. It may be wrong where code comes into a function otherwise than is
 * understood, so what it leads to must be an address behind a call; else it is as if there were no
 * rule. */
static enum step_outcome apply_code(struct step_state *s, const struct step_place *place,
                                    struct step_result *result)
{
    struct cfi_frame *f = &s->frame;
    unsigned reg = rule_code_register(place->rule);
    uint32_t slot = rule_slot(place->rule);
    uint64_t rip, rbp = f->regs.r[UNWIND_RBP],
                  cfa = f->regs.r[reg] + 8 * (uint64_t)rule_code_offset(place->rule);
    bool rbp_known = slot == 0 && (f->known >> UNWIND_RBP & 1);
    if (!(f->known >> reg & 1) && !s->full)
        return STEP_RESTART;
    if (!(f->known >> reg & 1) || cfa <= f->regs.r[UNWIND_RSP] || cfa % 8 != 0 ||
        (!s->exact && step_is_restorer_as(s, f->regs.r[UNWIND_RIP])) ||
        !unwind_memory_read_as(&s->memory, cfa - 8, &rip) || !step_is_called_as(s, rip))
        return apply_none(s, place, result);
    if (slot != 0 && slot != RULE_SLOT_LOST)
        rbp_known = unwind_memory_read_as(&s->memory, cfa - 8 * (uint64_t)slot, &rbp);
    f->regs.r[UNWIND_RSP] = cfa;
    f->regs.r[UNWIND_RIP] = rip;
    f->regs.r[UNWIND_RBP] = rbp_known ? rbp : 0;
    f->known = 1u << UNWIND_RSP | 1u << UNWIND_RIP | (rbp_known ? 1u << UNWIND_RBP : 0);
    s->exact = false;
    result->cfa = cfa;
    result->guessed = true;
    return STEP_OK;
}

SAMPLE_PATH
enum step_outcome step_apply_as(struct step_state *s, const struct step_place *place,
                                struct step_result *result)
{
    enum step_outcome outcome;
    result->cfa = 0;
    result->truncation = TRUNC_NONE;
    result->guessed = result->planted = false;
    switch (rule_kind(place->rule)) {
    case RULE_RSP:
    case RULE_RBP:
    case RULE_PLT:
        outcome = place->interpreted && s->full ? apply_row(s, place, result)
                                                : apply_rule(s, place, place->rule, result);
        break;
    case RULE_CODE: outcome = apply_code(s, place, result); break;
    case RULE_SIGNAL: outcome = apply_signal(s, result); break;
    case RULE_ROOT:
        result->cfa = s->frame.regs.r[UNWIND_RSP] + 8 * (uint64_t)rule_offset(place->rule);
        return STEP_ROOT;
    case RULE_COMPLEX:
        outcome = place->interpreted ? apply_row(s, place, result)
                                     : failed(s, result, CFI_BAD);
        break;
    default: outcome = apply_none(s, place, result); break;
    }
    /* Thread and process starts without CFI clear the place where a return address would be. */
    if (outcome == STEP_OK && s->frame.regs.r[UNWIND_RIP] == 0 && !s->exact)
        return STEP_ROOT;
    return outcome;
}

enum truncation unwind_step_as(struct unwind_thread *thread, const struct unwind_index *index,
                               struct unwind_regs *regs, bool *exact, bool *root, uint64_t *cfa,
                               bool *guessed)
{
    struct step_state s;
    struct step_place place;
    struct step_result result;
    s.index = index;
    unwind_memory_init_as(&s.memory, thread, regs->r[UNWIND_RSP]);
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        s.frame.regs.r[i] = regs->r[i];
    s.frame.known = UNWIND_KNOWN_ALL;
    s.exact = *exact;
    s.tries = false;
    s.full = true;
    s.sender_for = 0;
    step_locate_as(&s, &place);
    enum step_outcome outcome = step_apply_as(&s, &place, &result);
    *root = outcome == STEP_ROOT;
    *cfa = result.cfa;
    *guessed = result.guessed;
    if (outcome == STEP_OK) {
        for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
            regs->r[i] = s.frame.regs.r[i];
        *exact = s.exact;
    }
    return result.truncation;
}
