/* Frames of code that HotSpot (OpenJDK's virtual machine) has compiled, as it knows them itself.
 *
 *     gHotSpotVMStructs ──> offsets of fields, addresses of statics     (exported for its debugger)
 *     CodeCache::_heaps ──> CodeHeap ──> segment map ──> CodeBlob of pc ──> frame size, entry
 *
 *     CFA ->  | arguments           |
 *             | return address      |
 *             | the caller's rbp    |   ─┐
 *             | fixed, of the blob  |    │ frame size, the return address included
 *     rsp ->  |                     |   ─┘
 *
 * A blob's size and entry do not change, and a blob is not removed while one of its frames is on a
 * stack.
 *
 * Context: signal handlers. Ownership: the index's image of libjvm must stay mapped. */
#ifndef PENUMBRA_UNWIND_HOTSPOT_H
#define PENUMBRA_UNWIND_HOTSPOT_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/memory.h"

enum hotspot_kind {
    HOTSPOT_OTHER,    /* with the frame size that it says, if any: runtime stubs, native methods */
    HOTSPOT_METHOD,   /* compiled */
    HOTSPOT_JUMP,     /* without a frame, only jumps on: vtable and inline cache stubs */
    HOTSPOT_ROUTINES, /* many functions in one blob, with frames by rbp or none; their callers may
                       * have pushed words */
};

struct hotspot_blob {
    uint64_t begin;     /* of its code */
    uint64_t complete;  /* the first address at which the frame is whole, or 0: there is none */
    uint64_t size;      /* of a frame in bytes; 0: none, or of no fixed size */
    uint64_t deoptimized; /* what return addresses into it become when it is not valid, or 0 */
    enum hotspot_kind kind;
};

/* What HotSpot says of the code at pc. structs: where the image has gHotSpotVMStructs. False:
 * nothing. */
bool hotspot_find_as(struct unwind_memory *memory, uint64_t structs, uint64_t pc,
                     struct hotspot_blob *blob);

#endif
