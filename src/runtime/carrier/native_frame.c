#include "runtime/carrier/native_frame.h"

#include <stddef.h>
#include <stdint.h>

/* What the kernel's rt_sigframe has of a ucontext: its mask is 8 bytes. */
enum { CONTEXT_BYTES = offsetof(ucontext_t, uc_sigmask) + 8, CONTEXT_ROOM = 320 };
enum { XSAVE_HEADER = 512, XSAVE_HEADER_BYTES = 64, XSAVE_LEAST = 576, XSAVE_MOST = 24 << 10 };
_Static_assert(CONTEXT_BYTES <= CONTEXT_ROOM && CONTEXT_ROOM % 64 == 0,
               "the xsave area is aligned");

/* burst_leave.S */
_Noreturn void burst_leave(void *ucontext, void *fpstate, uint64_t features);

struct native_frame {
    uint8_t context[CONTEXT_ROOM]; /* ucontext_t, as far as the kernel reads it */
    uint8_t state[];               /* xsave area */
};

ucontext_t *native_frame_context(struct native_frame *f)
{
    return (ucontext_t *)(void *)f->context;
}

/* The kernel's struct _fpx_sw_bytes, in what the processor leaves to software. */
struct software_bytes {
    uint32_t magic1, extended_size;
    uint64_t features;
    uint32_t size, padding[7];
};
enum { SOFTWARE_BYTES = 464, MAGIC1 = 0x46505853, MAGIC2 = 0x46505845 };

static struct software_bytes *software_bytes(void *state)
{
    return (struct software_bytes *)(void *)((uint8_t *)state + SOFTWARE_BYTES);
}

bool native_frame_prepare_as(struct native_frame *f, const ucontext_t *u)
{
    void *from = u->uc_mcontext.fpregs;
    if (!from)
        return false;
    const struct software_bytes *s = software_bytes(from);
    bool extended = s->magic1 == MAGIC1;
    uint32_t size = extended ? s->size : XSAVE_HEADER;
    if (size > XSAVE_MOST || (extended && size < XSAVE_LEAST))
        return false;
    const uint64_t *words = (const uint64_t *)(const void *)u;
    uint64_t *to = (uint64_t *)(void *)f->context;
    for (unsigned i = 0; i < CONTEXT_BYTES / 8; i++)
        to[i] = words[i];
    native_frame_context(f)->uc_mcontext.fpregs = (fpregset_t)(void *)f->state;
    *software_bytes(f->state) = *s;
    if (!extended)
        return true;
    for (unsigned i = 0; i < XSAVE_HEADER_BYTES; i += 8)
        *(uint64_t *)(void *)(f->state + XSAVE_HEADER + i) = 0;
    *(uint32_t *)(void *)(f->state + size) = MAGIC2;
    return true;
}

_Noreturn void native_frame_enter_as(struct native_frame *f)
{
    const struct software_bytes *s = software_bytes(f->state);
    burst_leave(f->context, f->state, s->magic1 == MAGIC1 ? s->features : 0);
}
