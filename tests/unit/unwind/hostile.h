/* Everything that reads foreign unwind information, on given bytes: for the mutation test and the
 * fuzzer. Whatever the bytes are, it returns.
 *
 * Context: tests. Ownership: borrows the bytes. */
#ifndef PENUMBRA_TESTS_HOSTILE_H
#define PENUMBRA_TESTS_HOSTILE_H

#include <stddef.h>
#include <stdint.h>

/* `data` is a segment mapped at `address` with .eh_frame_hdr at `hdr`. Interprets it at pc and
 * walks a stack from there, with registers that are drawn from `seed`. */
void hostile_walk(const uint8_t *data, size_t size, uint64_t address, uint64_t hdr,
                  uint64_t hdr_size, uint64_t pc, uint64_t seed);

/* `data` is an .eh_frame: compiles it and looks up what came out. */
void hostile_compile(const uint8_t *data, size_t size, uint64_t address, uint64_t text_lo,
                     uint64_t text_hi);

/* `data` is code that no FDE covers, with symbols drawn from `seed`: compiles it likewise. */
void hostile_code(const uint8_t *data, size_t size, uint64_t seed);

uint64_t hostile_random(uint64_t *state);

#endif
