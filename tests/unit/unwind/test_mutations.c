/* The C library's own .eh_frame, with bits flipped, under AddressSanitizer and
 * UndefinedBehaviorSanitizer: it must be survived, in the interpreter and in the compiler. The copy
 * has exactly the segment's size, so a read past its end is seen. Likewise this program's own code,
 * as code without CFI, compiled and read ahead. */
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hostile.h"
#include "self_index.h"
#include "unwind/ahead.h"

enum { INTERPRETED = 100000, COMPILED = 300, PIECES = 5000, FLIPS = 4 };

static const struct unwind_image *c_library(const struct self_index *self)
{
    for (uint32_t i = 0; i < self->index->count; i++)
        if (strstr(self->names[self->index->image[i].number - 1], "libc.so"))
            return &self->index->image[i];
    return NULL;
}

/* A damaged place near where it matters: in the header, or in the FDE that pc leads to. */
static uint64_t place(uint64_t *random, uint64_t size, uint64_t hdr, uint64_t hdr_size)
{
    uint64_t r = hostile_random(random);
    switch (r & 7) {
    case 0: return hdr + (r >> 8) % 64;
    case 1: return hdr + (r >> 8) % hdr_size;
    case 2: return hdr + hdr_size + (r >> 8) % 64; /* .eh_frame's first CIE */
    default: return hdr + hdr_size + (r >> 8) % (size - hdr - hdr_size);
    }
}

/* Instructions of this program itself, damaged, as code without CFI. */
static void code_piece(uint64_t *random)
{
    enum { PIECE = 4096 };
    static uint8_t piece[PIECE];
    /* what follows it is long enough */
    const uint8_t *text = (const uint8_t *)(uintptr_t)hostile_walk;
    uint64_t size = hostile_random(random) % PIECE + 1;
    memcpy(piece, text + hostile_random(random) % (4 * PIECE), size);
    for (uint64_t k = hostile_random(random) % 16; k > 0; k--)
        piece[hostile_random(random) % size] ^= (uint8_t)(1u << (hostile_random(random) & 7));
    hostile_code(piece, size, hostile_random(random));
}

/* The same, read ahead from anywhere in it; it ends where memory does. */
static void code_ahead(uint64_t *random)
{
    enum { PIECE = 4096, STARTS = 16 };
    static uint8_t *piece;
    static struct unwind_thread thread;
    struct unwind_memory memory;
    struct unwind_ahead found;
    if (!piece) {
        piece = mmap(NULL, 2 * PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(piece + PIECE, PIECE, PROT_NONE);
    }
    memcpy(piece, (const uint8_t *)(uintptr_t)hostile_walk + hostile_random(random) % (4 * PIECE),
           PIECE);
    for (uint64_t k = hostile_random(random) % 64; k > 0; k--)
        piece[hostile_random(random) % PIECE] ^= (uint8_t)(1u << (hostile_random(random) & 7));
    for (int i = 0; i < STARTS; i++) {
        uint64_t r = hostile_random(random);
        unwind_memory_init_as(&memory, &thread, (uint64_t)&memory);
        ahead_find_as(&memory,
                      (uint64_t)piece + (r & 1 ? (r >> 8) % PIECE : PIECE - 1 - (r >> 8) % 32),
                      r & 2, &found);
        ahead_by_rbp_as(&memory, (uint64_t)piece + (r >> 20) % PIECE);
    }
}

int main(void)
{
    struct self_index self = self_index_build(false);
    const struct unwind_image *image = c_library(&self);
    uint64_t random = 20240229;
    if (!image) {
        fprintf(stderr, "the C library is not loaded\n");
        return 1;
    }
    uint64_t size = image->readable_hi - image->readable_lo;
    uint64_t hdr = (uint64_t)image->eh_frame_hdr - image->readable_lo;
    uint8_t *data = malloc(size);
    memcpy(data, (const void *)image->readable_lo, size);
    for (int i = 0; i < INTERPRETED; i++) {
        uint64_t at[FLIPS];
        uint8_t was[FLIPS];
        for (int k = 0; k < FLIPS; k++) {
            at[k] = place(&random, size, hdr, image->eh_frame_hdr_size);
            was[k] = data[at[k]];
            data[at[k]] ^= (uint8_t)(1u << (hostile_random(&random) & 7));
        }
        uint64_t pc = image->lo + hostile_random(&random) % (image->hi - image->lo);
        hostile_walk(data, size, image->readable_lo, hdr, image->eh_frame_hdr_size, pc,
                     hostile_random(&random));
        for (int k = FLIPS - 1; k >= 0; k--)
            data[at[k]] = was[k];
    }
    /* The compiler reads it all each time, so the damage may add up. */
    uint64_t frames = hdr + image->eh_frame_hdr_size;
    for (int i = 0; i < COMPILED; i++) {
        for (int k = 0; k < FLIPS * 8; k++)
            data[place(&random, size, hdr, image->eh_frame_hdr_size)] ^=
                (uint8_t)(1u << (hostile_random(&random) & 7));
        hostile_compile(data + frames, size - frames, image->readable_lo + frames, image->lo,
                        image->hi);
    }
    for (int i = 0; i < PIECES; i++)
        code_piece(&random);
    for (int i = 0; i < PIECES; i++)
        code_ahead(&random);
    printf("%d damaged images interpreted, %d compiled; %d pieces of code\n", INTERPRETED, COMPILED,
           PIECES);
    free(data);
    self_index_free(&self);
    return 0;
}
