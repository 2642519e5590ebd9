#include "compare.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "x86/format.h"

/* fnstenv and kin store the address of the last x87 instruction: up to 8 bytes, in one place. */
static bool memory_differs(const struct piece *p, const struct outcome *a, const struct outcome *b)
{
    if (!memcmp(a->memory, b->memory, sizeof a->memory))
        return false;
    if (!p->loose)
        return true;
    unsigned first = sizeof a->memory, last = 0;
    for (unsigned i = 0; i < sizeof a->memory; i++)
        if (a->memory[i] != b->memory[i]) {
            first = i < first ? i : first;
            last = i;
        }
    return last - first >= 8;
}

static uint64_t eflags(unsigned flags)
{
    static const uint16_t bits[] = { 1, 4, 16, 64, 128, 2048 }; /* X86_CF ... X86_OF */
    uint64_t out = 0;
    for (unsigned i = 0; i < 6; i++)
        out |= flags >> i & 1 ? bits[i] : 0u;
    return out;
}

/* Status flags that the code so many bytes behind the first slot overwrites without reading them,
 * looked for behind so many direct transfers. */
static unsigned dead_at(const struct batch *b, uint64_t place, unsigned transfers)
{
    static const struct piece none;
    uint8_t code[2 * SLOT];
    unsigned live = 0, dead = 0, length = 0;
    struct x86_insn insn = {0};
    uint64_t slot = place / SLOT;
    if (slot >= SLOTS)
        return 0;
    slot_fill(slot < b->count ? &b->pieces[slot] : &none, code);
    slot_fill(slot + 1 < b->count ? &b->pieces[slot + 1] : &none, code + SLOT);
    unsigned at = place % SLOT;
    for (; (length = x86_decode_as(code + at, 2 * SLOT - at, &insn)); at += length) {
        live |= insn.flags_read & ~dead;
        dead |= insn.flags_killed & ~live;
        if (insn.class >= X86_CLASS_BRANCH && insn.class <= X86_CLASS_RETURN)
            break;
    }
    bool branches = insn.kind == X86_JCC || insn.kind == X86_LOOP;
    if (!length || !transfers || !(branches || insn.kind == X86_JMP || insn.kind == X86_CALL))
        return dead;
    uint64_t next = slot * SLOT + at + length;
    uint64_t target = next + (uint64_t)(int64_t)x86_relative_as(&insn, code + at);
    unsigned behind = dead_at(b, target, transfers - 1);
    if (branches)
        behind &= dead_at(b, next, transfers - 1);
    return dead | (behind & ~live);
}

/* Those that it overwrites from where it ended on: where there are hooks, or a budget, a fault may
 * show them changed (docs/engine.md, "Hooks"). It may have run on into other slots. */
static uint64_t dead_flags(const struct batch *b, unsigned index, const struct outcome *out)
{
    uint64_t slot = index + (out->state.rip / SLOT - out->start / SLOT);
    return eflags(dead_at(b, slot * SLOT + out->state.rip % SLOT, 1) & X86_STATUS_FLAGS);
}

static bool registers_differ(const struct piece *p, const struct outcome *a,
                             const struct outcome *b, uint64_t flags_ignored)
{
    for (unsigned i = 0; i < 16; i++)
        if (!(p->ignore >> i & 1) && a->state.gpr[i] != b->state.gpr[i])
            return true;
    return a->state.rip != b->state.rip ||
           ((a->state.rflags ^ b->state.rflags) & ~flags_ignored);
}

/* A branch to an address that is not canonical faults where it stands; under the engine, when it
 * has been executed. All but the stack (pointer and return address) is the same. */
static bool nowhere_differs(const struct outcome *native, const struct outcome *engine)
{
    for (unsigned i = 0; i < 16; i++)
        if (i != 4 && native->state.gpr[i] != engine->state.gpr[i])
            return true;
    return native->trap != 13 || native->address ||
           memcmp(&native->state.vectors, &engine->state.vectors, sizeof(struct vectors));
}

static bool signal_differs(const struct outcome *a, const struct outcome *b)
{
    return a->ending != b->ending || a->signal != b->signal || a->code != b->code ||
           a->address != b->address || a->trap != b->trap || a->error != b->error ||
           a->cr2 != b->cr2 || a->segments != b->segments || a->fs_base != b->fs_base;
}

bool outcomes_differ(const struct batch *b, unsigned index, const struct mode *mode,
                     const struct outcome *native, const struct outcome *engine)
{
    const struct piece *p = &b->pieces[index];
    if (engine->ending == ENDED_NOWHERE)
        return nowhere_differs(native, engine);
    /* What the decoder knows nothing of must be what the processor refuses. */
    if (engine->stopped == 1 + STOP_INVALID && native->state.rip != engine->stop_rip)
        return true;
    uint64_t ignored = p->ignore ? eflags(X86_STATUS_FLAGS) : 0;
    if (mode->tool || mode->budget)
        ignored |= dead_flags(b, index, native);
    return signal_differs(native, engine) || registers_differ(p, native, engine, ignored) ||
           memcmp(&native->state.vectors, &engine->state.vectors, sizeof(struct vectors)) ||
           memory_differs(p, native, engine);
}

static void field(const char *name, uint64_t native, uint64_t engine)
{
    if (native != engine)
        fprintf(stderr, "    %-8s %16lx natively, %16lx translated\n", name, native, engine);
}

static void bytes(const char *name, const uint8_t *native, const uint8_t *engine, unsigned size)
{
    unsigned shown = 0;
    for (unsigned i = 0; i + 8 <= size && shown < 6; i += 8) {
        uint64_t a, b;
        memcpy(&a, native + i, 8);
        memcpy(&b, engine + i, 8);
        char label[32];
        snprintf(label, sizeof label, "%s+%x", name, i);
        field(label, a, b);
        shown += a != b;
    }
}

static void listing(const struct piece *p, uint64_t code)
{
    for (unsigned at = 0; at < p->length;) {
        char text[X86_TEXT_SIZE];
        unsigned length = x86_format(p->code + at, p->length - at, code + at, NULL, NULL, text,
                                     sizeof text);
        fprintf(stderr, "    ");
        for (unsigned i = 0; i < length; i++)
            fprintf(stderr, "%02x", p->code[at + i]);
        fprintf(stderr, "  %s\n", text);
        at += length ? length : 1;
    }
}

void describe(const struct batch *b, unsigned index, const struct mode *mode,
              const struct outcome *native, const struct outcome *engine)
{
    static const char *const registers[] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi",
        "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15" };
    const struct piece *p = &b->pieces[index];
    fprintf(stderr, "%s, place %d, slot %u, seed %#lx:\n", mode->name, (int)b->place, index,
            p->seed);
    listing(p, slot_address(b->place, index));
    fprintf(stderr, "    native: signal %lu code %ld address %lx rip %lx flags %lx\n",
            native->signal, (long)native->code, native->address, native->state.rip,
            native->state.rflags);
    if (engine->stopped)
        fprintf(stderr, "    the engine stopped: %lu at %lx\n", engine->stopped - 1,
                engine->stop_rip);
    field("ending", native->ending, engine->ending);
    if (engine->ending != ENDED_SIGNAL)
        return;
    field("signal", native->signal, engine->signal);
    field("code", native->code, engine->code);
    field("address", native->address, engine->address);
    field("trap", native->trap, engine->trap);
    field("error", native->error, engine->error);
    field("cr2", native->cr2, engine->cr2);
    field("segments", native->segments, engine->segments);
    field("fs base", native->fs_base, engine->fs_base);
    field("rip", native->state.rip, engine->state.rip);
    field("flags", native->state.rflags, engine->state.rflags);
    for (unsigned i = 0; i < 16; i++)
        field(registers[i], native->state.gpr[i], engine->state.gpr[i]);
    bytes("xsave", native->state.vectors.bytes, engine->state.vectors.bytes, XSAVE_MOST);
    bytes("memory", native->memory, engine->memory, sizeof native->memory);
}
