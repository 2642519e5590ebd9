/* Tables of images and maps of processes, where the program in the kernel reads them (layout.h).
 *
 * Tables are kept in the order in which they were made. Where there is no room for one more, those
 * that walks needed last are kept, up to half of the room; the rest is made again if it is wanted.
 *
 * Context: one thread; the program reads meanwhile.
 * Ownership: the memory is the maps', and the caller's. Images must outlive their tables:
 * bpf_tables_forget. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_BPF_TABLES_H
#define PENUMBRA_COLLECTOR_MACHINE_BPF_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/machine/bpf/layout.h"
#include "collector/machine/machine_process.h"

struct bpf_tables {
    struct walk_control *control;
    struct walk_process *processes; /* WALK_PROCESSES */
    struct walk_table *tables;      /* WALK_TABLES */
    uint64_t *pool;
    uint32_t words, words_used; /* of the pool */
    uint32_t count;             /* of tables, the first included, which is none */
    struct machine_image *image[WALK_TABLES];
    uint64_t made, dropped;     /* tables */
};

/* The tables are empty. */
void bpf_tables_forget(struct bpf_tables *t);
/* Walks mark what they need with the time, in units of 2^34 ns (17 s). */
enum { BPF_EPOCH_SHIFT = 34 };
void bpf_tables_time(struct bpf_tables *t, uint64_t ns);
/* The image's table, put where the program finds it. False: there is none, or no room. */
bool bpf_tables_add(struct bpf_tables *t, struct machine_image *image);
/* What a process has mapped, as of a record. False: too much. */
bool bpf_tables_process(struct bpf_tables *t, const struct machine_images *images,
                        const struct machine_process *p, const struct machine_record *r);

#endif
