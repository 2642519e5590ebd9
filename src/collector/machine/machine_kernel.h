/* The kernel's functions: frames of trees, which the collector has as addresses, become entities
 * with the names of /proc/kallsyms.
 *
 * A key of no image has 48 bits of an address: one of the kernel's has its highest bit set, and one
 * of user space has not (x86-64, canonical addresses).
 *
 * Context: ordinary code. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_KERNEL_H
#define PENUMBRA_COLLECTOR_MACHINE_KERNEL_H

#include <stdbool.h>

#include "profile/profile.h"
#include "sigsafe/key.h"

static inline bool machine_kernel_is(uint64_t address)
{
    return address >> (KEY_OFFSET_BITS - 1) & 1;
}

/* same_boot: the kernel that runs is the one that was recorded. *hidden: there were such frames,
 * and /proc/kallsyms has no addresses for us. False without memory: the profile is fit for
 * profile_free only. spool: whose records say which instructions values are of; NULL: none are. */
struct spool;
bool machine_kernel_name(struct profile *p, const struct spool *spool, bool same_boot,
                         bool *hidden);

/* Addresses of functions in which stacks of waits, and of wakes, end (machine_sample.c). */
struct machine_ranges {
    uint64_t waits_lo, waits_hi; /* of the scheduler: who calls them waits */
    uint64_t wakes_lo, wakes_hi; /* who calls this one wakes */
    uint64_t interrupts_lo, interrupts_hi; /* what is called from there is an interrupt */
};
/* False: names are hidden, or not known; then all are empty. */
bool machine_kernel_ranges(struct machine_ranges *ranges);

/* The same by names that were read before, as those of /proc may be hidden by now. NULL without
 * memory. */
struct machine_symbols;
struct machine_symbols *machine_symbols_read(void);
/* Of a file like /proc/kallsyms. */
struct machine_symbols *machine_symbols_read_file(const char *path);
/* The address of a function; 0: there is none of that name. */
uint64_t machine_symbols_address(const struct machine_symbols *symbols, const char *name);
void machine_symbols_free(struct machine_symbols *s);
bool machine_kernel_name_by(struct profile *p, const struct spool *spool,
                            const struct machine_symbols *symbols, bool *hidden);
/* The function that an address is in, and its module, or ""; "" in none. */
const char *machine_symbols_function(const struct machine_symbols *symbols, uint64_t address,
                                     const char **module, uint64_t *start);
/* Where the next one begins; 0: there is none. */
uint64_t machine_symbols_next(const struct machine_symbols *symbols, uint64_t address);

#endif
