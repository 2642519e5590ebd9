/* The key of a calling-context-tree node: where one frame is, independent of where its image was
 * loaded.
 *
 *    63        62 ........ 48  47 ............................ 0
 *   +---------+--------------+----------------------------------+
 *   | guessed | image number |  offset                          |
 *   +---------+--------------+----------------------------------+
 *
 * - image number: of the session (spool_image.number), 1 .. KEY_IMAGE_MAX. 0: no image is known at
 *   that address (JIT code, a hand-made mapping); the offset is the address itself.
 *   KEY_IMAGE_PSEUDO: not code at all; the offset is an enum key_pseudo.
 * - offset: link-time virtual address in the image (address - load bias), so that it means the same
 *   in the ELF file, in another process and on another machine.
 *     leaf frame:    the interrupted instruction's address;
 *     caller frame:  return address - 1, the last byte of the call instruction. A leaf's address
 *                    is the first byte of an instruction and a call is at least two bytes long, so
 *                    the two never collide, and the call is what symbolizers want.
 *     frame interrupted by a signal (above a signal frame): its exact address, like a leaf.
 * - guessed: there was no CFI at this frame; its caller was found by what its code does, or by a
 *   heuristic.
 *
 * Context: pure functions, any context. */
#ifndef PENUMBRA_SIGSAFE_KEY_H
#define PENUMBRA_SIGSAFE_KEY_H

#include <stdbool.h>
#include <stdint.h>

#define KEY_OFFSET_BITS 48
#define KEY_OFFSET_MASK ((UINT64_C(1) << KEY_OFFSET_BITS) - 1)
#define KEY_IMAGE_PSEUDO 0x7fffu
#define KEY_IMAGE_MAX 0x7ffeu
#define KEY_GUESSED (UINT64_C(1) << 63)

enum key_pseudo {
    KEY_ROOT = 0,      /* the root of a tree */
    KEY_TRUNCATED = 1, /* child of the root under which incomplete stacks hang */
    KEY_UNATTRIBUTED = 2, /* child of the root: cost whose calling context is unknown */
    /* of exact calls: contexts that the tree has no room for, below the last that it has
     * (tools/calls.c) */
    KEY_FOLDED = 3,
    KEY_RUN_QUEUE = 4, /* below what a thread did last: it is ready, and waits for a processor */
    KEY_WAKES = 5, /* below a stack that wakes a thread: what follows is where that one waited */
    KEY_PSEUDO_COUNT
};

static inline uint64_t key_make(unsigned image, uint64_t offset)
{
    return (uint64_t)image << KEY_OFFSET_BITS | (offset & KEY_OFFSET_MASK);
}

static inline uint64_t key_pseudo(enum key_pseudo what)
{
    return key_make(KEY_IMAGE_PSEUDO, (uint64_t)what);
}

static inline unsigned key_image(uint64_t key)
{
    return (unsigned)(key >> KEY_OFFSET_BITS) & 0x7fffu;
}

static inline uint64_t key_offset(uint64_t key)
{
    return key & KEY_OFFSET_MASK;
}

/* An address of the kernel: in no image, and the same in all processes. */
static inline bool key_is_kernel(uint64_t key)
{
    return !key_image(key) && key >> (KEY_OFFSET_BITS - 1) & 1;
}

static inline bool key_guessed(uint64_t key)
{
    return key >> 63;
}

#endif
