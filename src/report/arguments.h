/* Which registers are a procedure's arguments, as far as its code says.
 *
 * Context: ordinary code; a pure function but for memory. Ownership: nothing is kept. */
#ifndef PENUMBRA_REPORT_ARGUMENTS_H
#define PENUMBRA_REPORT_ARGUMENTS_H

#include <stddef.h>
#include <stdint.h>

enum { ARGUMENTS_ALL = 63 };

/* Of rdi, rsi, rdx, rcx, r8, r9 (bits 0 to 5) those that the procedure's own instructions read, on
 * some way from its entry, before they are written. What it hands on to another one, by a call or a
 * jump, it does not read. Where the way is not known (an indirect jump, a branch out of these
 * bytes), what is not written yet counts as read. `code`: all of the procedure. */
unsigned arguments_read(const uint8_t *code, size_t size);

#endif
