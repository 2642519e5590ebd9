/* Finding the caller of code that has no CFI: generated code, hand-written assembly, the prologue
 * of nothing. Each result is marked as guessed. */
#include "unwind/step.h"

#include "unwind/ahead.h"
#include "unwind/hotspot.h"

enum {
    CHAIN_MAX = 1 << 20, /* bytes between rsp and rbp where the stack's end is not known */
    SENDER_MAX = 1 << 14, /* bytes of variables and arguments */
    NEAR = 1 << 28,      /* between pieces of code that one compiler has made: HotSpot reserves 240
                            MB */
};

/* Whether the bytes before a return address end in a call instruction (Intel SDM vol. 2A, CALL):
 *
 *     e8 rel32                            5 bytes
 *     ff /2, mod 11 or mod 00             2 bytes     call *%rax        call *(%rax)
 *     ff /2, mod 00, SIB                  3           call *(%rax,%rbx)
 *     ff /2, mod 01, disp8                3           call *8(%rax)
 *     ff /2, mod 01, SIB, disp8           4
 *     ff /2, mod 10, disp32 or RIP-rel.   6           call *symbol(%rip)
 *     ff /2, SIB and disp32               7
 *
 * before holds the 8 bytes up to the return address, the last in the highest byte. */
bool unwind_follows_call(uint64_t before)
{
    static const uint8_t lengths[] = {2, 3, 4, 6, 7};
    if ((before >> 24 & 0xff) == 0xe8)
        return true;
    for (unsigned i = 0; i < sizeof lengths; i++) {
        unsigned length = lengths[i];
        uint64_t code = before >> (64 - 8 * length);
        unsigned modrm = (unsigned)(code >> 8 & 0xff), mod = modrm >> 6, rm = modrm & 7;
        if ((code & 0xff) != 0xff || (modrm >> 3 & 7) != 2)
            continue;
        unsigned sib = (unsigned)(code >> 16 & 0xff);
        unsigned wants = mod == 3 ? 2 : rm == 4 ? 3 : 2;
        if (mod == 1)
            wants += 1;
        else if (mod == 2 || (mod == 0 && (rm == 5 || (rm == 4 && (sib & 7) == 5))))
            wants += 4;
        if (wants == length)
            return true;
    }
    return false;
}

static bool plausible(struct step_state *s, uint64_t return_address, bool must_be_known)
{
    uint64_t before;
    if (return_address < 8)
        return false;
    const struct unwind_image *image = unwind_index_find_as(s->index, return_address - 1);
    if (image ? return_address - 8 < image->lo : must_be_known)
        return false;
    return unwind_memory_read_as(&s->memory, return_address - 8, &before) &&
           unwind_follows_call(before);
}

bool step_is_called_as(struct step_state *s, uint64_t return_address)
{
    const struct unwind_marks *marks = &s->memory.thread->marks;
    return return_address - marks->stop_lo < marks->stop_hi - marks->stop_lo ||
           plausible(s, return_address, false);
}

bool step_is_planted_as(struct step_state *s, const struct unwind_image *image)
{
    uint64_t before, rip = s->frame.regs.r[UNWIND_RIP];
    return !s->exact && rip - 8 >= image->lo &&
           unwind_memory_read_as(&s->memory, rip - 8, &before) && !unwind_follows_call(before);
}

static enum step_outcome guessed(struct step_state *s, struct step_result *result, uint64_t rip,
                                 uint64_t cfa)
{
    s->frame.regs.r[UNWIND_RIP] = rip;
    s->frame.regs.r[UNWIND_RSP] = cfa;
    s->exact = false;
    result->cfa = cfa;
    result->guessed = true;
    return STEP_OK;
}

bool step_is_restorer_as(struct step_state *s, uint64_t pc)
{
    /* 48 c7 c0 0f 00 00 00 0f 05: the second read is the last 8 of the 9 bytes. */
    uint64_t first, last;
    return unwind_memory_read_as(&s->memory, pc, &first) &&
           first == UINT64_C(0x0f0000000fc0c748) &&
           unwind_memory_read_as(&s->memory, pc + 1, &last) &&
           last == UINT64_C(0x050f0000000fc0c7);
}

/* The address up to which a frame that begins at rsp may reach. */
static uint64_t frame_limit(const struct step_state *s, uint64_t rsp)
{
    bool bounded = rsp - s->memory.low < s->memory.span;
    return bounded ? s->memory.low + s->memory.span - 9 : rsp + CHAIN_MAX;
}

static bool near(uint64_t a, uint64_t b)
{
    return a - b < NEAR || b - a < NEAR;
}

/* Whether an address behind no call, in generated code near the callee's, goes on in a frame with
 * the frame pointer rbp, which is above cfa: so interpreters made at run time jump to what they
 * call, and have it return to where they go on. */
static bool resumes(struct step_state *s, uint64_t rip, uint64_t cfa, uint64_t rbp)
{
    uint64_t above;
    return near(rip, s->frame.regs.r[UNWIND_RIP]) && !unwind_index_find_as(s->index, rip) &&
           rbp % 8 == 0 && rbp >= cfa && rbp <= frame_limit(s, cfa) &&
           unwind_memory_read_as(&s->memory, rbp + 8, &above) &&
           (near(above, rip) || plausible(s, above, false)) && ahead_by_rbp_as(&s->memory, rip);
}

/* Whether HotSpot has put an address into the stack in the place of one that followed a call: the
 * method is to be taken apart there. */
static bool is_deoptimized(struct step_state *s, uint64_t rip)
{
    struct hotspot_blob blob;
    return hotspot_find_as(&s->memory, s->memory.thread->vm_structs, rip, &blob) &&
           blob.deoptimized == rip;
}

/* The caller's state, by what ahead says of this one's, if that makes sense. *missing: it is in a
 * register that is not known. */
static bool ahead_caller(struct step_state *s, const struct unwind_ahead *ahead,
                         struct step_result *result, bool *missing)
{
    struct cfi_frame *f = &s->frame;
    uint64_t cfa, rip, rbp = 0, rsp = f->regs.r[UNWIND_RSP];
    bool lost;
    if (!ahead_value_as(&s->memory, &ahead->cfa, &f->regs, f->known, &cfa, missing))
        return false;
    /* The stack may be another one only once: from that on which the thread began. */
    bool bounded = rsp - s->memory.low < s->memory.span;
    bool inside = cfa > rsp && cfa - 8 <= frame_limit(s, rsp);
    bool switched =
        ahead->cfa.kind == AHEAD_WORD && bounded && cfa - s->memory.low >= s->memory.span;
    if (cfa % 8 != 0 || !(inside || switched) || !unwind_memory_read_as(&s->memory, cfa - 8, &rip))
        return false;
    bool rbp_known = ahead_value_as(&s->memory, &ahead->rbp, &f->regs, f->known, &rbp, &lost);
    if (!step_is_called_as(s, rip) && !(rbp_known && resumes(s, rip, cfa, rbp)) &&
        !is_deoptimized(s, rip))
        return false;
    guessed(s, result, rip, cfa);
    f->regs.r[UNWIND_RSP] += ahead->popped;
    f->regs.r[UNWIND_RBP] = rbp;
    f->known = 1u << UNWIND_RSP | 1u << UNWIND_RIP | (uint32_t)rbp_known << UNWIND_RBP;
    return true;
}

/* The same with another stack pointer; without effect if that makes no sense. */
static bool ahead_apply(struct step_state *s, const struct unwind_ahead *ahead, uint64_t rsp,
                        struct step_result *result, bool *missing)
{
    uint64_t own = s->frame.regs.r[UNWIND_RSP];
    s->frame.regs.r[UNWIND_RSP] = rsp;
    bool found = ahead_caller(s, ahead, result, missing);
    if (!found)
        s->frame.regs.r[UNWIND_RSP] = own;
    return found;
}

/* By the size of the frame, on which some words more may lie: those that the code has pushed for a
 * moment. */
static bool sized_apply(struct step_state *s, uint32_t size, struct step_result *result)
{
    enum { PUSHED_MAX = 2 };
    uint64_t rsp = s->frame.regs.r[UNWIND_RSP];
    struct unwind_ahead whole;
    bool missing;
    ahead_whole_as(size, &whole);
    for (unsigned pushed = 0; pushed <= PUSHED_MAX; pushed++)
        if (ahead_apply(s, &whole, rsp + 8 * pushed, result, &missing))
            return true;
    return false;
}

/* By what the code will do before it returns. *foreign: rbp is not this frame's pointer, and no
 * other guess is to be made. */
static enum step_outcome guess_ahead(struct step_state *s, struct step_result *result,
                                     bool *foreign)
{
    uint64_t rsp = s->frame.regs.r[UNWIND_RSP];
    struct unwind_ahead ahead;
    bool missing = false;
    ahead.compiled = ahead.keeps_rbp = false;
    bool found = ahead_find_as(&s->memory, s->frame.regs.r[UNWIND_RIP], s->exact, &ahead);
    *foreign = ahead.compiled || (s->exact && ahead.keeps_rbp);
    if (!found)
        return STEP_FAILED;
    if (s->sender_for == rsp && ahead_apply(s, &ahead, s->sender, result, &missing))
        return STEP_OK;
    if (ahead_apply(s, &ahead, rsp, result, &missing) ||
        (ahead.size && sized_apply(s, ahead.size, result)))
        return STEP_OK;
    return missing && !s->full && ahead.cfa.reg != UNWIND_RBP ? STEP_RESTART : STEP_FAILED;
}

/* HotSpot's interpreter makes room for a method's variables between the return address and what its
 * caller has on the stack, and notes the caller's stack pointer below the frame pointer. */
static void note_sender(struct step_state *s, uint64_t rbp)
{
    uint64_t sender;
    if (!unwind_memory_read_as(&s->memory, rbp - 8, &sender) || sender % 8 != 0 ||
        sender <= rbp + 16 || sender - rbp > SENDER_MAX)
        return;
    s->sender_for = rbp + 16;
    s->sender = sender;
}

/* Whether code of an image was called by generated code, with a frame pointer each: V8's
 * builtins. */
static bool links_on(struct step_state *s, uint64_t rip, uint64_t rbp, uint64_t saved)
{
    uint64_t above;
    return plausible(s, rip, false) && saved % 8 == 0 && saved > rbp &&
           saved <= frame_limit(s, rbp) && unwind_memory_read_as(&s->memory, saved + 8, &above) &&
           plausible(s, above, false);
}

/* A leaf that is about to make its frame: the frame pointer is its caller's, pushed or not yet. */
static enum step_outcome guess_entered(struct step_state *s, uint64_t at,
                                       struct step_result *result)
{
    uint64_t rip;
    if (!unwind_memory_read_as(&s->memory, at, &rip) || !plausible(s, rip, false))
        return STEP_FAILED;
    s->frame.known &= UNWIND_KNOWN_FAST;
    return guessed(s, result, rip, at + 8);
}

enum step_outcome step_guess_as(struct step_state *s, const struct unwind_image *image,
                                struct step_result *result)
{
    uint64_t rsp = s->frame.regs.r[UNWIND_RSP], rbp = s->frame.regs.r[UNWIND_RBP], rip, saved,
             depth;
    bool foreign;
    result->truncation = TRUNC_NO_CFI;
    enum step_outcome outcome = guess_ahead(s, result, &foreign);
    if (outcome != STEP_FAILED || foreign)
        return outcome;
    /* A leaf, before it has pushed anything. */
    if (s->exact && unwind_memory_read_as(&s->memory, rsp, &rip) && plausible(s, rip, true)) {
        s->frame.known &= UNWIND_KNOWN_FAST;
        return guessed(s, result, rip, rsp + 8);
    }
    if (s->exact && ahead_enters_as(&s->memory, s->frame.regs.r[UNWIND_RIP], &depth))
        return guess_entered(s, rsp + depth, result);
    /* A frame pointer. Generated code calls generated code, so from there any address that follows
     * a call will do. */
    if ((s->frame.known >> UNWIND_RBP & 1) && rbp % 8 == 0 && rbp >= rsp &&
        rbp <= frame_limit(s, rsp) && unwind_memory_read_as(&s->memory, rbp, &saved) &&
        unwind_memory_read_as(&s->memory, rbp + 8, &rip)) {
        bool called = rip == 0 || plausible(s, rip, image != 0) ||
                      (image ? links_on(s, rip, rbp, saved) : resumes(s, rip, rbp + 16, saved));
        /* No frame pointer before it, and it returns to code that has not called it: a goroutine's
         * first frame. */
        if (called || (saved == 0 && unwind_index_find_as(s->index, rip))) {
            note_sender(s, rbp);
            s->frame.regs.r[UNWIND_RBP] = saved;
            s->frame.known = UNWIND_KNOWN_FAST;
            guessed(s, result, rip, rbp + 16);
            return called ? STEP_OK : STEP_ROOT;
        }
    }
    return STEP_FAILED;
}
