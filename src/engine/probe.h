/* Reading memory of the program that another thread may be taking away at this moment: hooks that
 * look at what an instruction has just accessed.
 *
 * Context: hooks; engine_probe_fault_as: the carriers' handlers of SIGSEGV and SIGBUS.
 * Ownership: none. */
#ifndef PENUMBRA_ENGINE_PROBE_H
#define PENUMBRA_ENGINE_PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/ucontext.h>

/* The little-endian integer of `bytes` (1 to 8) bytes there. False: it cannot be read. */
bool engine_probe_as(uint64_t address, unsigned bytes, uint64_t *value);

/* The 64 bytes there. False: not all can be read. */
bool engine_probe_64_as(uint64_t address, uint64_t out[8]);

/* Whether they are the same as these: value 0. Or they cannot be read. */
struct engine_probed {
    uint64_t value, failed;
};
struct engine_probed engine_probe_compare_64(uint64_t address, const uint64_t with[8])
    __attribute__((visibility("hidden")));

/* A fault in the context gregs: true if it was of these, which then goes on and answers false. */
bool engine_probe_fault_as(greg_t *gregs);

#endif
