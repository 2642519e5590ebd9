#include "piece.h"

#include <string.h>

#include "x86/operands.h"

/* Instructions whose results are another each time; others of their kind
 * (cpuid, xgetbv, rdpid, smsw ...) give the same on the same processor. */
static bool differs(const uint8_t *code, const struct x86_insn *insn)
{
    static const char *const names[] = { "rdtsc", "rdtscp", "rdrand", "rdseed", "rdpmc", "rdpru" };
    const char *mnemonic = insn->kind == X86_NONDET ? x86_mnemonic(code, insn->length) : NULL;
    for (unsigned i = 0; mnemonic && i < sizeof names / sizeof *names; i++)
        if (!strcmp(mnemonic, names[i]))
            return true;
    return false;
}

void slot_fill(const struct piece *p, uint8_t *slot)
{
    for (unsigned i = 0; i < SLOT; i++)
        slot[i] = i < p->length ? p->code[i] : (i - p->length) & 1 ? 0x0b : 0x0f;
}

static void note(struct piece *p, const uint8_t *code, const struct x86_insn *insn)
{
    if (differs(code, insn))
        p->ignore |= insn->writes;
    if (insn->kind == X86_FPU_STATE)
        p->loose = 1;
}

bool piece_of_form(struct piece *p, uint64_t form, uint64_t seed, uint64_t code)
{
    struct dice d = { seed };
    struct x86_insn insn;
    *p = (struct piece){ .seed = roll(&d) };
    p->length = (uint8_t)form_make(form, &d, code, 0, p->code, &insn);
    if (!p->length)
        return false;
    note(p, p->code, &insn);
    return true;
}

bool piece_of_forms(struct piece *p, uint64_t seed, uint64_t code)
{
    struct dice d = { seed };
    *p = (struct piece){ .seed = roll(&d) };
    unsigned most = 20 + (unsigned)(roll(&d) % (CODE_MOST - 20));
    for (unsigned tries = 0; tries < 2000 && p->length + 15u <= most; tries++) {
        struct x86_insn insn;
        uint8_t *at = p->code + p->length;
        unsigned length = form_make(form_any(&d), &d, code, p->length, at, &insn);
        /* Privileged ones and the like end every piece at once. */
        bool dull = insn.kind == X86_PRIVILEGED || insn.kind == X86_UD || insn.kind == X86_INVALID;
        if (!length || differs(at, &insn) || (dull && !chance(&d, 16)))
            continue;
        p->length = (uint8_t)(p->length + length);
        note(p, at, &insn);
    }
    return p->length && !bytes_are_unsafe(p->code, p->length);
}

bool piece_of_bytes(struct piece *p, uint64_t seed)
{
    struct dice d = { seed };
    *p = (struct piece){ .seed = roll(&d), .loose = 1 };
    p->length = (uint8_t)(1 + roll(&d) % CODE_MOST);
    for (unsigned i = 0; i < p->length; i++)
        p->code[i] = (uint8_t)roll(&d);
    return !bytes_are_unsafe(p->code, p->length);
}
