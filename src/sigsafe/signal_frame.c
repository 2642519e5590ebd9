#include "sigsafe/signal_frame.h"

#include <stddef.h>

#include "sigsafe/sys.h"

enum { LEGACY = 512, HEADER = 64, FIRST_EXTENDED = 2, RED_ZONE = 128, RESTORER = 8 };
enum { VECTORS_ALIGNED = 64, FRAME_ALIGNED = 16, MAGIC2_BYTES = 4 };

/* The kernel's struct _fpx_sw_bytes, in what the legacy state leaves to software. */
struct software_bytes {
    uint32_t magic1, extended_size;
};
enum { SOFTWARE_BYTES = 464, MAGIC1 = 0x46505853 };

uint64_t signal_frame_size(uint64_t features,
                           const struct signal_frame_component components[SIGNAL_FRAME_COMPONENTS])
{
    uint64_t vectors = features ? LEGACY + HEADER + MAGIC2_BYTES : LEGACY;
    for (unsigned i = FIRST_EXTENDED; i < SIGNAL_FRAME_COMPONENTS; i++) {
        uint64_t end = (uint64_t)components[i].offset + components[i].size + MAGIC2_BYTES;
        if (features >> i & 1 && end > vectors)
            vectors = end;
    }
    return vectors + VECTORS_ALIGNED + SIGNAL_FRAME_BYTES + FRAME_ALIGNED + RESTORER;
}

struct cpuid {
    uint32_t a, b, c, d;
};

static struct cpuid cpuid(uint32_t leaf, uint32_t part)
{
    struct cpuid r;
    __asm__ volatile("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "0"(leaf), "2"(part));
    return r;
}

/* What the operating system has switched on: XCR0. */
static uint64_t features_on(void)
{
    enum { LEAF_FEATURES = 1, OSXSAVE = 1 << 27 };
    uint32_t low, high;
    if (!(cpuid(LEAF_FEATURES, 0).c & OSXSAVE))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

uint64_t signal_frame_size_here_as(void)
{
    enum { LEAF_STATE = 0xd, GET_XCOMP_PERM = 0x1022 };
    struct signal_frame_component components[SIGNAL_FRAME_COMPONENTS];
    uint64_t features = features_on(), permitted = 0;
    if (sys_call3_as(SYS_arch_prctl, GET_XCOMP_PERM, (long)&permitted, 0) == 0)
        features &= permitted; /* before Linux 5.16 all that is on */
    for (unsigned i = 0; i < SIGNAL_FRAME_COMPONENTS; i++) {
        struct cpuid r = {0, 0, 0, 0};
        if (i >= FIRST_EXTENDED && features >> i & 1)
            r = cpuid(LEAF_STATE, i);
        components[i] = (struct signal_frame_component){r.b, r.a};
    }
    return signal_frame_size(features, components);
}

bool signal_frame_is_on(uint64_t sp, const stack_t *stack)
{
    uint64_t lo = (uint64_t)stack->ss_sp;
    return !(stack->ss_flags & SS_DISABLE) && sp > lo && sp - lo <= stack->ss_size;
}

/* What uc_mcontext.fpregs points to; 0: nothing. */
static uint64_t vectors_size(const ucontext_t *u)
{
    const uint8_t *vectors = (const uint8_t *)u->uc_mcontext.fpregs;
    const struct software_bytes *s =
        (const struct software_bytes *)(const void *)(vectors + SOFTWARE_BYTES);
    if (!vectors)
        return 0;
    return s->magic1 == MAGIC1 ? s->extended_size : LEGACY;
}

static uint64_t vectors_place(const ucontext_t *u, uint64_t below)
{
    return (below - vectors_size(u)) / VECTORS_ALIGNED * VECTORS_ALIGNED;
}

/* Between the frame and its vectors there may be as much as aligns both. */
static uint64_t vectors_behind(const ucontext_t *u, uint64_t frame)
{
    uint64_t least = frame + SIGNAL_FRAME_BYTES;
    return u->uc_mcontext.fpregs ? (least + VECTORS_ALIGNED - 1) / VECTORS_ALIGNED * VECTORS_ALIGNED
                                 : least;
}

uint64_t signal_frame_place(const ucontext_t *u, const stack_t *stack)
{
    uint64_t sp = (uint64_t)u->uc_mcontext.gregs[REG_RSP] - RED_ZONE;
    bool enters = stack && !(stack->ss_flags & SS_DISABLE) && stack->ss_size;
    if (enters && !signal_frame_is_on(sp, stack))
        sp = (uint64_t)stack->ss_sp + stack->ss_size;
    uint64_t vectors = vectors_place(u, sp);
    uint64_t frame = (vectors - SIGNAL_FRAME_BYTES) / FRAME_ALIGNED * FRAME_ALIGNED - RESTORER;
    return enters && !signal_frame_is_on(frame, stack) ? 0 : frame;
}

static void copy(uint64_t to, uint64_t from, uint64_t size)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

void signal_frame_move_as(const ucontext_t *u, uint64_t to)
{
    uint64_t size = vectors_size(u), vectors = vectors_behind(u, to);
    ucontext_t *moved = (ucontext_t *)(to + RESTORER);
    copy(vectors, (uint64_t)u->uc_mcontext.fpregs, size);
    copy(to, (uint64_t)u - RESTORER, SIGNAL_FRAME_BYTES);
    if (size)
        moved->uc_mcontext.fpregs = (fpregset_t)vectors;
}
