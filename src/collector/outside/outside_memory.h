/* Memory of another process, page by page, as it is at one moment.
 *
 * Context: one thread. Ownership: the caller's; nothing is allocated. */
#ifndef PENUMBRA_COLLECTOR_OUTSIDE_MEMORY_H
#define PENUMBRA_COLLECTOR_OUTSIDE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { OUTSIDE_PAGE = 4096, OUTSIDE_PAGES = 64 };

struct outside_memory {
    pid_t pid;
    uint64_t moment; /* pages of other moments are stale */
    int error;       /* errno of the last page that could not be read; 0: none */
    bool later;      /* some page was read since it began, one at a time */
    struct {
        uint64_t address, moment;
        uint8_t bytes[OUTSIDE_PAGE];
    } page[OUTSIDE_PAGES];
};

/* From now on it is the memory of this process, as it is now. */
void outside_memory_begin(struct outside_memory *m, pid_t pid);
/* Reads the first pages from the address on at once. */
void outside_memory_ahead(struct outside_memory *m, uint64_t address);
/* For unwind_thread.fetch. */
bool outside_memory_fetch(void *memory, uint64_t address, uint64_t *value);

#endif
