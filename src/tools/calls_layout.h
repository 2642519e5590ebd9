/* Offsets that calls_line.S shares with calls.c, which asserts each of them.
 *
 *      t->lines[LINE_OF_CALLS] ─> struct line:  0 top ─> frame: 0 slot, 8 node, 12 callee (32 bits each); 16 bytes
 *                               8 limit           known call: 0 from, 8 to, 16 context, 20 node (32 bits each),
 *                              16 known ─────────>            24 entry ─> struct cct_node; 32 bytes
 *                              24 taken, 32 weight ─> of the thread's record
 *
 * Context: constants only; also read by the assembler. */
#ifndef PENUMBRA_TOOLS_CALLS_LAYOUT_H
#define PENUMBRA_TOOLS_CALLS_LAYOUT_H

#include "tools/lines.h"

#define LINE_TOP 0
#define LINE_LIMIT 8
#define LINE_KNOWN 16
#define LINE_TAKEN 24
#define LINE_WEIGHT 32

#define FRAME_SLOT 0
#define FRAME_NODE 8
#define FRAME_CALLEE 12
#define FRAME_SIZE 16

#define KNOWN_FROM 0
#define KNOWN_TO 8
#define KNOWN_CONTEXT 16
#define KNOWN_NODE 20
#define KNOWN_ENTRY 24
#define KNOWN_SHIFT 5 /* 32 bytes */
#define KNOWN_BITS 15 /* so many calls are remembered: 1 MB a thread */

/* of struct cct_node */
#define NODE_SAMPLES 8
#define NODE_CALLS 16

#define CALLS_NEAR (256 << 10) /* so far from what was seen of a stack it is still the same one */
#define CALLS_HASH_FROM                                                                            \
    0x85ebca6b /* of a known call: ((from * this + context) * that) >> (32 - KNOWN_BITS) */
#define CALLS_HASH_ALL 0x9e3779b1

#endif
