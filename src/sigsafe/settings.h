/* What a recording is to do: blocks of settings, each of whom it concerns.
 *
 *      header.settings ─> spool_settings ─> spool_settings ─> ...
 *                          ├ type, version, size
 *                          └ `size` bytes: a struct of the list below
 *
 * The collector writes all blocks before the program starts; after that only fields that say so
 * change. Who reads a block asks for its type and version. A block of a type that a reader does not
 * know is of no interest to it. In one version fields are only added, at the end: a block may be
 * larger than its reader knows, and is never smaller.
 *
 * Context: any.
 * Ownership: blocks live in the spool and are never freed. */
#ifndef PENUMBRA_SIGSAFE_SETTINGS_H
#define PENUMBRA_SIGSAFE_SETTINGS_H

#include "sigsafe/hash.h"
#include "sigsafe/spool.h"

enum { SPOOL_DEPTH_LEAST = 4 }; /* of max_depth */

/* Triggers and their handler, and who observes at a trigger. */
struct spool_config {
    uint32_t trigger;       /* enum trigger_kind */
    uint32_t mechanism;     /* enum trigger_mechanism */
    uint32_t perf_type;     /* perf_event_attr.type and .config */
    uint32_t signal;        /* the signal that carries a sample */
    uint64_t perf_config;
    uint64_t period;        /* mean, in the trigger's unit (ns or events) */
    uint32_t exclude_kernel; /* 1: only user-mode samples (unprivileged) */
    uint32_t budget_ppm;    /* of the program's CPU time; 0: no bound was asked for */
    uint32_t bound_ppm;     /* what the first trigger's samples may cost of a thread's CPU time: the
                               budget, or else a bound by default; 0: anything */
    uint32_t max_depth;     /* frames kept of one stack */
    /* Calibrated by the collector, in a loop. */
    uint32_t delivery_ns;   /* cost of an empty handler's signal, ... */
    uint32_t latency_ns;    /* ... of which until the handler begins, ... */
    uint32_t tick_ns;       /* ... of one that comes at a kernel tick, ... */
    uint32_t switch_ns;     /* ... and, at a switch of threads, of stopping the events of one and
                               starting another's, ... */
    uint32_t switch_far_ns; /* ... of which where none of them is soon to expire */
    uint32_t randomize;     /* 1: the period is drawn anew from [P/2, 3P/2] every few samples */
    uint32_t carrier;       /* enum carrier_kind */
    uint32_t rank;          /* of a parallel program: 0: none; else 1 + its number */
    uint64_t tools;         /* bit n: enum tool_kind n observes (tools.h) */
    uint64_t native_ns;     /* CPU time of a native run, as the user gave it; 0: not given */
    char runtime_path[SPOOL_PATH_MAX]; /* libpenumbra-rt.so: for LD_PRELOAD across exec */
    uint32_t trampoline;    /* 1: calls are counted where they return, unless the process is one in
                               which that is not safe */
    uint32_t outside;       /* 1: with TRIGGER_CPU: what threads wait is counted too, by the
                               collector: the wall clock */
    /* nodes of a thread's tree before new contexts are folded; 0: no bound */
    uint32_t contexts;
    /* 1: a function that is active is not a context of its own once more */
    uint32_t fold_recursion;
    uint32_t timeline;      /* 1: threads keep when their samples fell (timeline.h) */
    uint32_t arm_sandboxes; /* 1: the collector sets the triggers of threads that are made in
                               sandboxes */
    uint32_t more_triggers; /* beside the one above, CARRIER_HANDLER only; events and synchronous
                               ones */
    uint32_t watch;         /* 1: with TRIGGER_WALL: threads that wait often may leave their waits
                               to the collector */
    uint32_t kernel_stacks; /* 1: stacks have a part in the kernel (runtime/trigger/kernel.h) */
    uint32_t reserved;
    struct spool_trigger more[TRIGGERS_MAX - 1];
};

/* The collector looks at waiting threads from outside: at all, or at those that wait often. */
static inline bool settings_look_outside(const struct spool_config *c)
{
    return c->outside || c->watch;
}

/* The engine in bursts. */
struct burst_settings {
    uint64_t length;       /* instructions of a burst */
    uint64_t length_least; /* bursts are of any length from this to `length`; 0: of `length` */
    uint32_t every;        /* one of so many triggers begins a burst, at most; 0 is 1 */
    /* most instructions between the interrupted one and the first observed */
    uint32_t skip;
    uint32_t ppm;          /* fewer than one in `every` where bursts would cost more of the CPU
                              time; 0: no bound */
    uint32_t beside_shadows; /* 1: of CARRIER_AUTO */
};

/* Copies of the process. */
struct shadow_settings {
    uint64_t length;      /* instructions of a shadow */
    uint64_t memory;      /* bytes that a shadow may change */
    uint64_t seed;        /* of how shadows schedule the threads they have */
    uint32_t flags;       /* SHADOW_* */
    uint32_t barrier_us;  /* how long the monitor waits for all threads to stop */
    uint32_t small_pages; /* 1: a page fault makes one page, but where the program asks for huge
                             ones */
    /* Atomic: the collector calibrates them anew each second. */
    uint32_t cow_ns;      /* of the first write to a page that is shared with a shadow, ... */
    uint32_t reuse_ns;    /* ... and to one that no longer is */
    /* With SHADOW_FINISHES: CPU time of the program after a fork in which there is no other one,
     * since its shadow can still come to the program's end in time. */
    uint32_t alone_ms;
    uint64_t cpus[SPOOL_CPUS / 64]; /* where shadows may run: the collector's own affinity */
};

/* What modules' processes are told (tuples.h). */
/* Sampled simulation (docs/simulate.md, "Sampled simulation"): of `period` instructions of a thread
 * one window is modelled. In instructions.
 *
 *     |<------------- period ------------->|<------------------- period ------------------->|
 *     begin    |warming|measured|            |warming|measured|3 x warming|measured|
 *     |<--x1-->|window 1                   |x2|window 2, if bias_every is 2                 */
struct sample_settings {
    uint64_t period;     /* 0: everything is modelled */
    uint64_t seed;       /* of where in its period each window begins */
    uint32_t warming, measured;
    uint32_t bias_every; /* each so-manieth window is long */
    uint32_t lines;      /* between windows, what is touched is told to the model, but for lines
                            that are the last of those equal modulo this (tools/values_warm.h): a
                            power of two, at most 64; 0: nothing is told */
};

enum { SAMPLE_LONGER = 3 }; /* times the warming, between the measured parts of a long window */
static inline bool sample_is_long(const struct sample_settings *s, uint32_t window)
{
    return s->bias_every && window % s->bias_every == 0;
}
/* Instructions of the window of this number, from 1. */
static inline uint64_t sample_length(const struct sample_settings *s, uint32_t window)
{
    uint64_t length = (uint64_t)s->warming + s->measured;
    return sample_is_long(s, window) ? length + (uint64_t)SAMPLE_LONGER * s->warming + s->measured
                                     : length;
}

/* Instructions of the thread before the window of this number, if it begins where it is to:
 * somewhere in its period, by a mixer of 64 bits (Steele et al., SplitMix, 2014). */
static inline uint64_t sample_place(const struct sample_settings *s, uint32_t window)
{
    uint64_t x = s->seed + hash_word(window);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (window - UINT64_C(1)) * s->period + (x ^ x >> 31) % s->period;
}

struct value_settings {
    uint32_t capture; /* spool_ref of a struct tuple_capture; 0: none */
    uint32_t context; /* bits of enum penumbra_context */
    struct sample_settings sample;
};

enum {
    SHADOW_SKIP_SHARED = 1,   /* an instruction that writes to shared memory is skipped */
    SHADOW_COLD = 2,          /* no shadow uses what another has translated */
    SHADOW_LOG_INPUT = 4,     /* what the program reads while shadows are active is kept for them */
    SHADOW_FINISHES = 8,      /* after its program has ended, too, until the collector ends it */
    /* a shadow has all threads of the program, not only the interrupted one */
    SHADOW_THREADS = 16,
    SHADOW_GOES_ON = 32,      /* behind its `length`, until another one is wanted */
    /* as SHADOW_THREADS where several run, or wait for each other; else the one */
    SHADOW_THREADS_AUTO = 64,
};

/* Compiled-in instrumentation (spool_inst.h). */
struct inst_settings {
    uint32_t interval; /* atomic: checks from one burst to the next, on average; 0: none begins. The
                          collector's, and `penumbra control`'s */
    uint32_t fixed;    /* 1: not on average */
    uint64_t seed;     /* of intervals; 0: each thread draws one */
    uint32_t modules;  /* atomic spool_ref of a struct spool_module, newest first; runtimes push */
    uint32_t ids;      /* atomic: given to modules so far; runtimes add */
    uint32_t iterations; /* checks of a burst, at most INST_ITERATIONS_MOST */
    spool_ref page; /* a page whose first word is the switch of modules that have one: atomic, 0:
                       they execute no checks. The collector's; runtimes map it into modules */
    uint32_t windows;  /* they execute checks in one part of the time in so many; 0 and 1: always */
    uint32_t window;   /* atomic: how many windows have been opened; the collector's */
    uint32_t timer_us; /* or from when this much time is over to the next sample; 0: no timer */
};

/* What is done at which instructions. */
struct production_settings_block {
    uint32_t program; /* spool_ref of a struct production_program (production.h); 0: none */
};

/* X(enumerator, name, number, version, the block's struct). A number is never given a second
 * meaning. */
#define SETTINGS(X)                                                                                \
    X(SETTINGS_SAMPLING, sampling, 1, 1, struct spool_config)                                      \
    X(SETTINGS_BURST, burst, 2, 1, struct burst_settings)                                          \
    X(SETTINGS_SHADOW, shadow, 3, 1, struct shadow_settings)                                       \
    X(SETTINGS_VALUES, values, 4, 1, struct value_settings)                                        \
    X(SETTINGS_INST, inst, 5, 1, struct inst_settings)                                             \
    X(SETTINGS_PRODUCTIONS, productions, 6, 1, struct production_settings_block)

#define SETTINGS_ENUMERATOR(id, name, number, version, type) id = number,
enum settings_type { SETTINGS(SETTINGS_ENUMERATOR) };
#undef SETTINGS_ENUMERATOR

struct spool_settings {
    spool_ref next;
    uint16_t type;    /* enum settings_type */
    uint16_t version;
    uint32_t size;    /* of what follows */
    uint32_t reserved;
};
_Static_assert(sizeof(struct spool_settings) == SPOOL_UNIT, "what follows is aligned");

/* The first block of this type and version that has `size` bytes at least; NULL: there is none. */
void *settings_find_as(const struct spool *s, uint32_t type, uint32_t version, uint64_t size);
/* A block of zeroes, linked. NULL: the spool is full. */
void *settings_add(const struct spool *s, uint32_t type, uint32_t version, uint32_t size);

/* settings_burst_as(s): the block of bursts; NULL: there is none. */
#define SETTINGS_OF(id, name, number, version, type)                                               \
    static inline type *settings_##name##_as(const struct spool *s)                                \
    {                                                                                              \
        return settings_find_as(s, id, version, sizeof(type));                                     \
    }
SETTINGS(SETTINGS_OF)
#undef SETTINGS_OF

/* The block of sampling; where there is none, one that is all 0. */
const struct spool_config *settings_sampling(const struct spool *s);

/* All blocks of a recording. */
struct settings {
#define SETTINGS_MEMBER(id, name, number, version, type) type name;
    SETTINGS(SETTINGS_MEMBER)
#undef SETTINGS_MEMBER
};

/* Writes the blocks. False: the spool is full. */
bool settings_put(const struct spool *s, const struct settings *from);
/* Reads them: of one that is missing all is 0. False: some are. */
bool settings_get(const struct spool *s, struct settings *to);

/* How many triggers there are: 1 at least. */
static inline uint32_t spool_triggers(const struct spool_config *c)
{
    return 1 + (c->more_triggers < TRIGGERS_MAX ? c->more_triggers : TRIGGERS_MAX - 1);
}

/* By number, from 0. */
static inline struct spool_trigger spool_trigger_at(const struct spool_config *c, uint32_t which)
{
    if (which)
        return c->more[which - 1];
    return (struct spool_trigger){c->trigger, c->perf_type, c->perf_config,
                                  c->period,  c->bound_ppm, 0};
}

/* The number of the trigger of this kind; UINT32_MAX: there is none. */
static inline uint32_t spool_trigger_find(const struct spool_config *c, uint32_t kind)
{
    for (uint32_t which = 0; which < spool_triggers(c); which++)
        if (kind == (which ? c->more[which - 1].trigger : c->trigger))
            return which;
    return UINT32_MAX;
}

#endif
