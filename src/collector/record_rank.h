/* Which of the processes of a parallel program this recording is about, as mpirun, srun and their
 * like say in the environment; and the names of files when there are several recordings.
 *
 * Context: the main thread. */
#ifndef PENUMBRA_COLLECTOR_RECORD_RANK_H
#define PENUMBRA_COLLECTOR_RECORD_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct record_rank {
    bool known;
    uint32_t rank;
    uint32_t size; /* how many there are; 0: not known */
};

/* Open MPI, MPICH, Intel MPI, MVAPICH, PMIx, Slurm: the launcher nearest to the program counts. */
struct record_rank record_rank_find(void);

/* Where the profile goes. output: as typed, or NULL. A name that ends with '/' is a directory,
 * which is made if it is missing; in it a rank's file is rank-0003.pnb, any other NAME-PID.pnb.
 * Without `output`: penumbra.pnb, or penumbra-rank-0003.pnb for one of several ranks. path:
 * PATH_MAX bytes. */
bool record_rank_output(const char *output, const struct record_rank *r, const char *name,
                        int pid, char *path, struct err *e);

#endif
