/* The memory of a process as it was at a sample, as far as the sample tells: the piece of its
 * stack, and its code, which is in files. Of generated code what is there now has to do.
 *
 * Nothing else is read: what the process has elsewhere is another stack by now.
 *
 * Context: the machine's thread.
 * Ownership: borrows the sample and the process. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_MEMORY_H
#define PENUMBRA_COLLECTOR_MACHINE_MEMORY_H

#include "collector/machine/machine_process.h"
#include "collector/machine/machine_record.h"

enum { MACHINE_PAGE = 4096 };

struct machine_memory {
    const struct machine_record *sample;
    const struct machine_process *process;
    bool beyond; /* more of the stack was wanted than the sample has */
    uint64_t page_at; /* address of what `page` holds; 0: nothing */
    uint8_t page[MACHINE_PAGE];
};

void machine_memory_begin(struct machine_memory *m, const struct machine_process *process,
                          const struct machine_record *sample);
/* unwind_thread.fetch */
bool machine_memory_fetch(void *memory, uint64_t address, uint64_t *value);

#endif
