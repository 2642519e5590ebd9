/* Huge pages of the program, which copies split: after a fork the kernel copies what the program
 * writes to as small pages, and what was one entry of a page table is 512 from then on.
 *
 *      before the fork   |   huge   |   huge   |          noted
 *      the program writes     v
 *      afterwards        |::::.:::::|   huge   |          split
 *      at a trigger      |   huge   |   huge   |          put together: copied once more, by the kernel (MADV_COLLAPSE)
 *
 * Only what was a huge page at some fork, and is all there, becomes one. Looked for after ten
 * milliseconds of the program's CPU time since the fork, and then whenever that has doubled. Linux
 * 6.7 or later (PAGEMAP_SCAN); before it nothing is noted.
 *
 * Context: the monitor. */
#ifndef PENUMBRA_RUNTIME_CARRIER_SHADOW_SHADOW_HUGE_H
#define PENUMBRA_RUNTIME_CARRIER_SHADOW_SHADOW_HUGE_H

#include <stdbool.h>
#include <stdint.h>

struct huge_work {
    uint64_t pages; /* huge ones, put together */
    uint64_t ns;    /* CPU time */
};

/* Right before a fork, at this CPU time of the program. */
void shadow_huge_note_as(uint64_t cpu_ns);
/* It is time to look for what has been split. */
bool shadow_huge_due(uint64_t cpu_ns);
/* Puts it together, as far as it is likely to cost no more than room_ns. */
struct huge_work shadow_huge_restore_as(uint64_t cpu_ns, uint64_t room_ns);
/* In a forked child: nothing is known. */
void shadow_huge_forget(void);

#endif
