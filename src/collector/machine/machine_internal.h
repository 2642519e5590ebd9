/* What a recording of the whole machine consists of (machine.c, machine_lasting.c).
 *
 * Context and ownership: as in machine.h. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_INTERNAL_H
#define PENUMBRA_COLLECTOR_MACHINE_INTERNAL_H

#include <pthread.h>
#include <semaphore.h>

#include "collector/machine/bpf/machine_bpf.h"
#include "collector/machine/machine.h"
#include "collector/machine/machine_rings.h"
#include "collector/machine/machine_sample.h"
#include "collector/machine/machine_service.h"
#include "collector/machine/machine_values.h"

struct machine {
    struct machine_rings rings;
    struct machine_bpf *bpf; /* NULL: the kernel walks no stacks */
    struct err no_bpf;       /* why not */
    struct machine_images images;
    struct machine_processes processes;
    struct machine_services services;
    struct machine_ranges ranges; /* with waits */
    bool ranges_known;
    struct machine_sampler *sampler;
    bool values_wanted;
    struct machine_values *values; /* NULL: none */
    uint64_t period_ns;
    int cgroup;         /* descriptor; -1 */
    bool whole;         /* all processes are recorded */
    bool waits;         /* elapsed time, and not CPU time alone */
    bool lasting;
    /* the walker holds it while it counts a record; what is below belongs to it then */
    pthread_mutex_t walking;
    pthread_t reader, walker;
    bool reads, walks;  /* the threads run */
    bool stop;          /* atomic, the reader's: once more, and to the end */
    bool complete;      /* atomic, the walker's: nothing more will come */
    sem_t more;         /* the queue has been filled */
    /* The reader's: when the next look is due, when the next may tell of all who wait, and how
     * often records had been lost when one last did. */
    uint64_t look_ns, retell_ns, losses;
    uint64_t lost, throttled;
    uint64_t cpu_ns;    /* of both threads */
    uint64_t start_ns;  /* CLOCK_MONOTONIC */
    uint64_t begun_ns;  /* how long all processors had been busy then */
};

#endif
