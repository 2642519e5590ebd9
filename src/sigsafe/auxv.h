/* What the kernel told the process when it began its program.
 *
 * Context: any; a system call.
 * Ownership: nothing is kept. */
#ifndef PENUMBRA_SIGSAFE_AUXV_H
#define PENUMBRA_SIGSAFE_AUXV_H

#include <elf.h>
#include <stdint.h>

#include "sigsafe/sys.h"

/* Where the kernel put what AT_RANDOM stands for, on the first stack, above the arguments; 0: it
 * does not tell. The program may have a getauxval of its own. Faster than a file of /proc by a
 * factor of ten. */
static inline uint64_t auxv_random_as(void)
{
    enum { GET_AUXV = 0x41555856, MOST = 64 }; /* Linux 6.4 */
    struct {
        uint64_t type, value;
    } all[MOST];
    for (unsigned i = 0; i < MOST; i++)
        all[i].type = all[i].value = 0;
    sys_call6_as(SYS_prctl, GET_AUXV, (long)all, sizeof all, 0, 0, 0);
    for (unsigned i = 0; i < MOST && all[i].type != AT_NULL; i++)
        if (all[i].type == AT_RANDOM)
            return all[i].value;
    return 0;
}

#endif
