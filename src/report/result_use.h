/* What the result of an instruction is for, as far as the code straight behind it says.
 *
 * Context: ordinary code; pure functions. Ownership: nothing is kept. */
#ifndef PENUMBRA_REPORT_RESULT_USE_H
#define PENUMBRA_REPORT_RESULT_USE_H

#include <stddef.h>
#include <stdint.h>

enum result_use {
    RESULT_USE_NONE,
    RESULT_USE_LOADED,  /* it is what was read from memory */
    RESULT_USE_DIVISOR, /* of div or idiv */
    RESULT_USE_SHIFT,   /* a shift count, in cl */
    RESULT_USE_TARGET   /* of an indirect jump or call */
};

/* "divisor" and so on; of RESULT_USE_NONE "". */
const char *result_use_name(enum result_use use);

/* Of the first general register that the first instruction of `code` writes, until it is written
 * again or control may go elsewhere: the first such use, else whether it was loaded (what pop reads
 * counts as none: the procedure has pushed it). What the instruction alone makes constant is of no
 * use. *at: where the instruction is that uses it, in bytes; 0 without one. */
enum result_use result_use_find(const uint8_t *code, size_t size, size_t *at);

#endif
