/* Call frame information made by hand: .eh_frame_hdr and .eh_frame with one CIE and a few FDEs, for
 * pretended functions.
 *
 *     synthetic_start(&s, "zR", cie program)
 *     synthetic_fde(&s, lo, size, program)        in ascending order of lo
 *     synthetic_image(&s)                         an unwind_image that has them
 *
 * Context: tests. Ownership: the struct owns everything. */
#ifndef PENUMBRA_TESTS_SYNTHETIC_H
#define PENUMBRA_TESTS_SYNTHETIC_H

#include "unwind/cfi.h"
#include "unwind/unwind.h"

enum { SYNTHETIC_MAX = 4096, SYNTHETIC_FDES = 8, SYNTHETIC_FRAMES = 1024 };

/* A string literal of bytes, and its length. */
#define BYTES(literal) (const uint8_t *)(literal), sizeof(literal) - 1

/* def_cfa rsp, 8; offset rip, 1: what every x86-64 CIE says. */
#define USUAL_CIE BYTES("\x0c\x07\x08\x90\x01")

struct synthetic {
    /* [0, SYNTHETIC_FRAMES) .eh_frame_hdr, then .eh_frame */
    _Alignas(16) uint8_t bytes[SYNTHETIC_MAX];
    uint32_t size;
    uint32_t fdes;
};

void synthetic_start(struct synthetic *s, const char *augmentation, const uint8_t *program,
                     size_t size);
void synthetic_fde(struct synthetic *s, uint64_t lo, uint64_t size, const uint8_t *program,
                   size_t program_size);
struct cfi_space synthetic_space(const struct synthetic *s);
struct unwind_image synthetic_image(const struct synthetic *s, uint64_t lo, uint64_t hi);

#endif
