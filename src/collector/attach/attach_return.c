#include "collector/attach/attach_return.h"

#include <asm/sigcontext.h>
#include <cpuid.h>
#include <string.h>

#include "collector/attach/attach_thread.h"

enum { RED_ZONE = 128, STATE_ALIGN = 64, XCR0_AT = 464, XSAVE_LEAF = 0xd, COMPONENTS = 63,
       KEEP_STACK = 0x7f /* flags of no alternate stack: the kernel then leaves it as it is */ };
/* uc_flags */
enum { FP_XSTATE = 1, SIGCONTEXT_SS = 2, STRICT_RESTORE_SS = 4 };
/* Tile data: a process that has not asked for it may not even have room for it in a frame. */
#define TILES (UINT64_C(3) << 17)

struct frame {
    uint64_t restorer;
    uint64_t flags, link;
    uint64_t stack, stack_flags, stack_size;
    struct sigcontext context;
    uint64_t mask;
};

/* The state components to be loaded again, and how far they reach. */
static uint64_t components_of(const struct attach_thread_state *state, size_t *size)
{
    uint64_t possible, there;
    memcpy(&possible, state->xstate + XCR0_AT, sizeof possible);
    memcpy(&there, state->xstate + sizeof(struct _fpstate_64), sizeof there);
    uint64_t kept = possible & (there | ~TILES);
    *size = sizeof(struct _fpstate_64) + sizeof(struct _header);
    for (unsigned i = 2; i < COMPONENTS; i++) {
        unsigned length = 0, offset = 0, c, d;
        if (kept >> i & 1 && __get_cpuid_count(XSAVE_LEAF, i, &length, &offset, &c, &d) &&
            offset + length > *size)
            *size = offset + length;
    }
    return kept;
}

/* As struct _fpstate_64 says it: the first marker tells the kernel that there is more than FXSAVE,
 * the second that nothing was cut off. */
static size_t put_state(uint8_t *to, const struct attach_thread_state *state)
{
    size_t size;
    const uint32_t end_marker = FP_XSTATE_MAGIC2;
    struct _fpx_sw_bytes marker = {.magic1 = FP_XSTATE_MAGIC1};
    marker.xfeatures = components_of(state, &size);
    if (size > state->xstate_size || size + sizeof end_marker > ATTACH_XSTATE_MAX)
        return 0;
    marker.xstate_size = (uint32_t)size;
    marker.extended_size = (uint32_t)(size + sizeof end_marker);
    memcpy(to, state->xstate, size);
    memcpy(to + XCR0_AT, &marker, sizeof marker);
    memcpy(to + size, &end_marker, sizeof end_marker);
    return size + sizeof end_marker;
}

static void put_registers(struct sigcontext *c, struct user_regs_struct regs)
{
    attach_thread_restart(&regs);
    c->r8 = regs.r8;
    c->r9 = regs.r9;
    c->r10 = regs.r10;
    c->r11 = regs.r11;
    c->r12 = regs.r12;
    c->r13 = regs.r13;
    c->r14 = regs.r14;
    c->r15 = regs.r15;
    c->rdi = regs.rdi;
    c->rsi = regs.rsi;
    c->rbp = regs.rbp;
    c->rbx = regs.rbx;
    c->rdx = regs.rdx;
    c->rax = regs.rax;
    c->rcx = regs.rcx;
    c->rsp = regs.rsp;
    c->rip = regs.rip;
    c->eflags = regs.eflags;
    c->cs = (uint16_t)regs.cs;
    c->ss = (uint16_t)regs.ss;
}

void attach_return_below(struct attach_return *r, const struct attach_landmarks *l, uint64_t end,
                         const struct attach_thread_state *state)
{
    uint8_t image[ATTACH_RETURN_MAX];
    struct frame frame = {.restorer = l->restorer, .stack_flags = KEEP_STACK, .mask = state->mask,
                          .flags = FP_XSTATE | SIGCONTEXT_SS | STRICT_RESTORE_SS};
    size_t head = (sizeof frame + STATE_ALIGN - 1) & ~(size_t)(STATE_ALIGN - 1);
    size_t length = put_state(image + head, state), size = head + length;
    uint64_t at = (end - size) & ~(uint64_t)(STATE_ALIGN - 1);
    r->frame = 0;
    r->size = size;
    if (!length || !l->restorer || !attach_read(l->mem, at, r->before, size))
        return;
    put_registers(&frame.context, state->regs);
    frame.context.fpstate = (struct _fpstate_64 *)(uintptr_t)(at + head);
    memset(image, 0, head);
    memcpy(image, &frame, sizeof frame);
    if (attach_write(l->mem, at, image, size))
        r->frame = at;
}

void attach_return_on_stack(struct attach_return *r, const struct attach_landmarks *l,
                            const struct attach_thread_state *state)
{
    uint64_t end = state->regs.rsp - RED_ZONE;
    const struct attach_map *m = attach_maps_at(l->maps, state->regs.rsp);
    r->frame = 0;
    if (m && m->writable && end - m->lo >= ATTACH_RETURN_MAX && end < m->hi)
        attach_return_below(r, l, end, state);
}

void attach_return_remove(struct attach_return *r, int mem)
{
    if (r->frame)
        attach_write(mem, r->frame, r->before, r->size);
    r->frame = 0;
}
