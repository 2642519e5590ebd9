/* Offsets that results_line.S shares with results.c, which asserts each of them.
 *
 *      t->lines[LINE_OF_RESULTS] ─> by id / 256: ─> [ front | front | ... ]   by id: {value, count} x 8; a count below 0 is none
 *      lead, by id                {left, bits}              in the thread's window
 *
 * Context: constants only; also read by the assembler. */
#ifndef PENUMBRA_TOOLS_RESULTS_LAYOUT_H
#define PENUMBRA_TOOLS_RESULTS_LAYOUT_H

#include "tools/lines.h"

#define CHUNK_SHIFT 8
#define FRONT_SHIFT 7 /* 128 bytes */
#define FRONT_COUNT 8
#define FRONT_SIZE 16
#define FRONT_ENTRIES 8
#define FRONT_MOST 128 /* then the row is looked at: whether it has too many */
#define LEAD_BITS 8
#define LEAD_SHIFT 4

#endif
