/* The runtime of compiled-in instrumentation: a guest (docs/guest.md) that counts what the second
 * copy of the program's code observes (docs/instrumentation.md, penumbra/inst.h).
 *
 *      register.c   modules come: the first one opens the spool; tables are copied into it
 *      burst.c      is this sample to be counted? when is the next one due?
 *      events.c     blocks and values ─> rows, hotlists and pairs of the thread
 *      paths.c      steps of paths ─> the thread's table of paths
 *      thread.c     a thread's record, rows and pairs
 *      sites.c      checks of modules that were compiled with check=patched or check=switched
 *      counters.c   rows ─> the module's own counters, of -fprofile-generate
 *
 * In a process that is not recorded, or by another carrier, modules are never told of it: they stay
 * disarmed.
 *
 * Context: _as functions: any, signal handlers included. The rest: constructors, destructors, fork.
 * Ownership: records are the spool's; a thread's own memory is mapped by itself and unmapped at its
 * end. */
#ifndef PENUMBRA_INST_INST_H
#define PENUMBRA_INST_INST_H

#include "guest/guest.h"
#include "penumbra/inst.h"
#include "sigsafe/settings.h"
#include "sigsafe/spool_inst.h"

enum {
    INST_MODULES = 256,  /* of a process; more are not counted */
    INST_MET = 32,       /* blocks of a burst whose pairs are counted */
    INST_IDLE = 1 << 20, /* checks, until a thread looks again whether it is to observe */
};

/* A module of the process; penumbra_inst_module.data. */
struct inst_module {
    uint32_t first;  /* id of block 0 */
    uint32_t values; /* id of value 0 */
    uint32_t number; /* below INST_MODULES */
    bool pairs;      /* of its blocks are counted */
    bool switched;   /* it has the recording's switch: its checks are executed in windows */
    uint32_t blocks; /* of `flushed` */
    /* atomic: by block, what of its count has been added to the module's counters; NULL: it has
     * none */
    uint64_t *flushed;
    struct inst_places *places; /* of blocks of paths; NULL: it has none */
};

struct inst {
    uint32_t armed; /* atomic: a recording by this carrier runs */
    struct inst_settings *settings;
    struct spool_counts *counts; /* the process's */
    uint32_t threads;            /* atomic: that have begun, which number their seeds */
};
extern struct inst inst;

struct inst_met {
    uint32_t id, times;
};

struct inst_thread {
    struct spool_thread *record;
    struct spool_inst_thread *counted;
    struct spool_inst_pair *pairs; /* NULL: none yet */
    uint64_t random;               /* state of its generator; never 0 */
    uint32_t weight;  /* of the burst that it is in; 0: what it meets is not counted */
    uint32_t interval; /* when that began */
    uint32_t window;   /* in which it began; 0: in none */
    uint32_t burst;   /* that burst's number, from 1 */
    uint32_t bursting; /* the number of the module in which it began */
    uint32_t pairing; /* pairs of this burst count so many times; 0: they are not counted */
    uint32_t met_count;
    struct inst_met met[INST_MET];
    uint32_t busy; /* 1: it is at work on `met` or `pairs`: handlers keep off, and count misses */
    uint32_t drawn[INST_MODULES]; /* by module: the interval when its counter was set; 0: never */
    uint32_t left[INST_MODULES];  /* by module: checks that are still to be in its burst */
    struct hotlist_random draws; /* of values that are kept */
    struct rows_store rows, values;
    struct inst_paths *paths; /* that it is on; NULL: none yet */
    uint32_t in_step;         /* of a path: handlers keep off, and theirs are cut */
};

/* The calling thread's. NULL: it has none, as there was no room, it has ended, or it is just being
 * made; what it would have counted is counted as dropped. */
struct inst_thread *inst_thread_as(void);
/* The same where there is one already; nothing is dropped. */
struct inst_thread *inst_thread_known_as(void);
/* False: ends of threads will not be noticed. */
bool inst_threads_begin(void);
/* In a fork child: its only thread begins anew. */
void inst_thread_fork_child(void);

void inst_drop_as(enum drop_reason why);

/* The operations. */
void inst_sample_as(struct penumbra_inst_module *m, int32_t *counter);
void inst_event_as(struct penumbra_inst_module *m, const struct penumbra_inst_block *block);
void inst_value_as(struct penumbra_inst_module *m, const struct penumbra_inst_value *value,
                   uint64_t of);
/* A step of a path, in the frame at that address. */
void inst_path_as(struct penumbra_inst_module *m, const struct penumbra_inst_value *step,
                  uint64_t address);

/* For operations: the thread that counts, and how often an event counts; 0: it does not. Of a
 * module without checks all are counted, in bursts of one event. */
struct inst_thread *inst_counting_as(const struct penumbra_inst_module *m, uint32_t *weight);
/* Of an address in the program (sigsafe/key.h). */
uint64_t inst_key_as(uint64_t address);

/* A burst ends: its pairs are counted. */
void inst_pairs_as(struct inst_thread *t);

/* What legacy SSE and x87 code may change: around calls into libc. */
struct inst_vectors {
    uint8_t bytes[512];
} __attribute__((aligned(16)));
static inline void inst_vectors_save_as(struct inst_vectors *v)
{
    __asm__ volatile("fxsave64 %0" : "=m"(*v));
}
static inline void inst_vectors_restore_as(const struct inst_vectors *v)
{
    __asm__ volatile("fxrstor64 %0" : : "m"(*v));
}

/* Whether some block of the module has an event of these kinds: bits 1 << PENUMBRA_INST_*. */
bool inst_has_events(const struct penumbra_inst_module *m, uint32_t kinds);

/* Makes the module's sites jump to their checks. False: the kernel does not let code be written. */
bool inst_sites_arm(const struct penumbra_inst_module *m);
/* Gives the module, if it has a switch, the recording's. False: its checks are executed always. */
bool inst_switch_share(const struct penumbra_inst_module *m);

/* For a module that has counters (PENUMBRA_INST_COUNTER): flush() from then on. False: no memory.
 * Ordinary code. */
bool inst_counters_begin(struct penumbra_inst_module *m, struct inst_module *own);
/* In a fork child, whose rows are new. */
void inst_counters_fork_child(struct inst_module *own);

/* For a module that has paths. False: no memory. Ordinary code. */
bool inst_paths_begin(const struct penumbra_inst_module *m, struct inst_module *own);
/* Paths that have not ended are cut. NULL is none. */
void inst_paths_free_as(struct inst_paths *p);
void inst_paths_thread_end_as(struct inst_thread *t);

/* xorshift64* of the thread. */
uint64_t inst_random_as(struct inst_thread *t);

#endif
