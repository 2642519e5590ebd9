/* How much memory this process uses, by /proc/self/statm.
 *
 * The program is asked that at each trigger that may fork a shadow: to open the file takes ten
 * times as long as to read it, so a descriptor is kept. Its number is high, as of all that are
 * ours; it belongs to one process, and where it is not there (a shadow, a child that has not made
 * its own yet, a program that has closed it) the file is opened.
 *
 * Context: any.
 * Ownership: the descriptor stays open until the program takes its number. */
#ifndef PENUMBRA_SIGSAFE_MEMORY_USED_H
#define PENUMBRA_SIGSAFE_MEMORY_USED_H

#include <stdint.h>

/* Pages in use that are no file's; UINT64_MAX: not known. */
uint64_t memory_used_pages_as(void);

/* From now on the descriptor is kept; -1: none any more. */
void memory_used_keep(int statm);
int memory_used_kept_as(void);

#endif
