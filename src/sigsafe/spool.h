/* The spool: one file, created and owned by the collector, mapped shared by the collector and by
 * every process that is profiled. All that is counted is in it at the moment it is counted, so a
 * program, a collector, or both can die by SIGKILL and nothing is lost.
 *
 *   0          header   lists, allocation state
 *   4096 ...   bump-allocated, 16-byte aligned, zero-filled, never freed:
 *              process records, thread records, image records, maps, strings,
 *              unwind tables (compiled by the collector), blocks of tree nodes
 *   next       first free byte (advanced by compare-and-swap, by anyone)
 *   limit      first byte with no storage behind it. The collector keeps limit ahead of next with
 *              fallocate(), so that a store below it can never raise SIGBUS.
 *   size       end of the mapping (sparse)
 *
 *   header.settings  ─> settings ─> settings ...      what is to be done (settings.h)
 *   header.processes ─> process ─> process ...        (newest first; pushed by compare-and-swap)
 *                        ├ threads ─> thread ─> ...   thread.tree ─> cct root
 *                        ├ maps ─> map ─> ...         map.image ─> image
 *                        └ phases ─> phase ─> ...     thread.phase is a phase's id
 *   header.images ─> image ─> image ...               (one per ELF file, shared by all processes)
 *
 * Every record is complete before it is linked (release store), and links never change afterwards.
 *
 * The program holds no descriptor for the spool. A forked child inherits the mapping; an exec'ed
 * image opens the path in the environment variable PENUMBRA_SPOOL.
 *
 * Context: _as functions: any context, signal handlers included. Field comments say who writes.
 * A reader must treat every reference as hostile: spool_at checks bounds.
 * Ownership: the file belongs to the collector; records are never freed. */
#ifndef PENUMBRA_SIGSAFE_SPOOL_H
#define PENUMBRA_SIGSAFE_SPOOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sigsafe/cct.h"
#include "sigsafe/reasons.h"
#include "sigsafe/shadow_common.h"

#define SPOOL_MAGIC UINT64_C(0x4c4f4f5053424e50) /* "PNBSPOOL" */
#define SPOOL_VERSION 1u /* of the cores: see struct spool_header */
#define SPOOL_LAYOUT 39u /* of everything */
#define SPOOL_UNIT 16u
#define SPOOL_PAGE 4096u
#define SPOOL_HEADER_SIZE 4096u
#define SPOOL_ENV "PENUMBRA_SPOOL"
#define SPOOL_PATH_MAX 1024
#define SPOOL_CPUS 1024
#define SPOOL_PROCESS_CORE 104u /* bytes */
#define SPOOL_THREAD_CORE 96u
#define SPOOL_BUILD_ID_MAX 32

enum trigger_kind {
    TRIGGER_CPU,              /* task-clock: nanoseconds of the thread's CPU time */
    TRIGGER_WALL,             /* CPU time plus time off the CPU: nanoseconds */
    TRIGGER_PAGE_FAULTS,      /* software event: count */
    TRIGGER_CONTEXT_SWITCHES, /* software event: count */
    TRIGGER_HARDWARE,         /* perf type and config as resolved by the collector: count */
    /* Synchronous: the program's own calls, seen by interposed functions (csprof paper, 2.1). */
    TRIGGER_MALLOC,    /* bytes allocated */
    TRIGGER_READ,      /* bytes read or received */
    TRIGGER_WRITE,     /* bytes written or sent */
    TRIGGER_LOCK_WAIT, /* nanoseconds waited for locks and conditions */
    /* Compiled-in instrumentation (spool_inst.h): checks that the program has passed. */
    TRIGGER_CHECKS,
    /* With TRIGGER_WALL of the whole machine: nanoseconds that others waited until a thread woke
     * them (collector/machine/machine_waits.h). */
    TRIGGER_WAKING,
};

static inline bool trigger_is_synchronous(uint32_t trigger)
{
    return trigger >= TRIGGER_MALLOC && trigger <= TRIGGER_LOCK_WAIT;
}

static inline bool trigger_is_time(uint32_t trigger)
{
    return trigger == TRIGGER_CPU || trigger == TRIGGER_WALL;
}

enum { TRIGGERS_MAX = 6 }; /* of one recording */

/* One of them. */
struct spool_trigger {
    uint32_t trigger;     /* enum trigger_kind */
    uint32_t perf_type;   /* perf_event_attr.type and .config */
    uint64_t perf_config;
    uint64_t period;      /* mean, in the trigger's unit */
    uint32_t bound_ppm;   /* what its samples may cost of a thread's CPU time; 0: anything */
    uint32_t reserved;
};

enum trigger_mechanism {
    MECHANISM_PERF,  /* perf_event_open with sigtrap: synchronous SIGTRAP */
    MECHANISM_TIMER, /* timer_create on the thread's CPU clock: a real-time signal */
    MECHANISM_CALLS, /* interposed functions, for synchronous triggers: no signal */
};

/* X(enumerator, name in options and --json; src/runtime/carrier/carrier.h has the table
 * carrier_NAME) */
#define CARRIERS_PRELOADED(X)                                                                      \
    X(CARRIER_HANDLER, handler) /* a signal handler looks at the interrupted context */            \
    X(CARRIER_BURST, burst)     /* the next instructions of the program run under the engine */    \
    X(CARRIER_SHADOW, shadow)   /* they run in a copy of the process */                            \
    X(CARRIER_EXACT, exact)     /* the whole run is under the engine */                            \
    X(CARRIER_AUTO, auto)       /* shadows where they are affordable, else bursts */
/* Without a preloaded runtime: what the compiler has put into the program observes (src/inst). */
#define CARRIER_KINDS(X)                                                                           \
    CARRIERS_PRELOADED(X)                                                                          \
    X(CARRIER_COMPILED, compiled)

#define CARRIER_ENUMERATOR(id, name) id,
enum carrier_kind { CARRIER_KINDS(CARRIER_ENUMERATOR) CARRIER_KIND_COUNT };
#undef CARRIER_ENUMERATOR

/* Triggers interrupt the program, and stacks are walked. */
static inline bool carrier_samples(uint32_t carrier)
{
    return carrier != CARRIER_EXACT && carrier != CARRIER_COMPILED;
}

/* Who consumes the tuples. */
enum spool_host_state { HOST_NONE, HOST_READING, HOST_GONE };

enum spool_state { SPOOL_RUNNING = 0, SPOOL_STOPPED = 1 };

/* The core of a record is what every guest writes and every reader knows: it never changes without
 * SPOOL_VERSION. What follows it, and what is reached from there, changes with SPOOL_LAYOUT. A
 * guest of another layout makes records as large as the header says, and leaves what follows the
 * core 0, which says nothing. */
struct spool_header {
    uint64_t magic;
    uint32_t version;        /* SPOOL_VERSION */
    uint32_t state;          /* atomic enum spool_state; collector. STOPPED: runtimes disarm */
    uint64_t size;           /* bytes of address space; collector */
    uint64_t limit;          /* atomic; collector */
    uint64_t next;           /* atomic; everyone, by compare-and-swap */
    uint32_t processes;      /* atomic spool_ref; runtimes push */
    uint32_t images;         /* atomic spool_ref; runtimes push */
    uint32_t image_count;    /* atomic; last image number handed out */
    uint32_t bell;           /* atomic futex word: a runtime adds 1 and wakes when the collector
                                should look (a new image, limit) */
    uint32_t wanted_pages;   /* atomic: of the greatest piece that found no room; the collector
                                takes it back */
    /* atomic spool_ref of a struct spool_settings (settings.h); collector */
    uint32_t settings;
    uint32_t layout;         /* SPOOL_LAYOUT */
    uint32_t process_size;   /* bytes of a struct spool_process, ... */
    uint32_t thread_size;    /* ... and of a struct spool_thread */
    uint32_t follow;         /* 1: fork and exec are followed */
    int32_t collector_pid;
    uint32_t elapsed_ms;     /* collector, some times a second: how long it has been recording, for
                                recovery after its death */
    uint64_t start_realtime_ns;
    uint64_t start_monotonic_ns;
    uint64_t start_ticks;    /* time stamp counter at start_monotonic_ns */
    uint64_t tick_fraction;  /* nanoseconds of a tick, times 2^32; 0: not known */
    uint64_t tsc_hz;         /* time stamp counter ticks a second; 0: not known */
    /* The core ends here. */
    uint64_t drops[DROP_COUNT]; /* atomic adds: drops that belong to no thread */
    /* atomic adds: programs executed that are not recorded */
    uint64_t unfollowed[UNFOLLOWED_COUNT];
    /* atomic futex word: a runtime adds 1 and wakes when a ring of tuples is half full */
    uint32_t tuples_bell;
    uint32_t host;           /* atomic enum spool_host_state; collector and module host */
    /* atomic spool_ref of a struct spool_values (profile/spool_values.h), the module host's; 0:
     * none */
    uint32_t values;
    uint32_t sandbox_deaf;   /* atomic, 1: who looks after sandboxes has not answered a runtime; it
                                writes 0 when it looks again */
    /* atomic futex word: a runtime adds 1 and, if it may, wakes when a process enters a sandbox,
     * and when the state of a thread there changes (enum spool_outside) */
    uint32_t sandbox_bell;
    /* atomic; the multiple of the period that new threads begin with (0: 1), and what that is found
     * from: CPU time of young threads, what samples may cost in it, and what they cost
     * (runtime/trigger/pace.c) */
    uint32_t begun_multiple;
    uint32_t verdicts; /* atomic spool_ref (runtime/trampoline/own_address.c); runtimes */
    uint64_t young_cpu_ns, young_allowed_ns, young_cost_ns;
    /* spool_shadow.h */
    int64_t load_area;       /* atomic */
    uint64_t load_ns;        /* atomic; CLOCK_MONOTONIC, to which load_area has been added up */
    uint32_t load_milli;     /* how many shadows are to be active on average, in thousandths */
    uint32_t shadows_active; /* atomic */
    /* atomic, the collector's: shadows are to end, and none is to be made */
    uint32_t memory_scarce;
    uint32_t shadows_ripe;   /* atomic: of those active, that go on until there is another one */
    /* atomic: that began to run, modulo 2^32; those that are ripe end at the next one */
    uint32_t shadows_made;
    struct shadow_common programs[SHADOW_PROGRAMS];
};
_Static_assert(sizeof(struct spool_header) <= SPOOL_HEADER_SIZE, "header fits its page");

/* spool_process.arm_error where no errno fits: a tracer would be shown every sample's signal,
 * valgrind would die of it. ARM_ERROR_STOPS: it was set, but a tracer came whose stops would have
 * been all that happens. */
enum { ARM_ERROR_TRACED = 10000, ARM_ERROR_TRANSLATED, ARM_ERROR_OWN_ALLOCATOR, ARM_ERROR_STOPS };

enum spool_process_state {
    PROCESS_RUNNING = 1,
    PROCESS_EXECING = 2, /* this image called exec; if it succeeds, this record is final */
    PROCESS_EXITED = 3,  /* ended through exit(); anything else was killed */
};

/* Of TRIGGER_MALLOC, in samples; written under the runtime's heap lock. */
struct spool_heap {
    uint64_t live;    /* allocated and not yet freed */
    uint64_t peak;    /* the most that was live */
    uint64_t peak_id; /* number of peaks so far: see spool_heap_cell.stamp */
    uint64_t peak_ns; /* CLOCK_MONOTONIC, when the last was reached */
    uint64_t missed;  /* sampled allocations that could not be followed to their end */
    /* In bytes, and not under the lock: */
    uint64_t mapped, mappings; /* atomic: memory that the program mapped itself, and how often */
    /* By how much the process's own memory had grown when it ended; 0: not at all, or not known. */
    uint64_t grown;
};

/* What a context has live, reached from cct_node.cell. What it had live at the peak is `saved` if
 * it has changed since (stamp == heap.peak_id), and `live` if it has not. */
struct spool_heap_cell {
    uint64_t live;
    uint64_t saved;
    uint64_t stamp;
    uint64_t reserved;
};

struct spool_process {
    spool_ref next;
    int32_t pid;
    int32_t ppid;
    uint32_t state;     /* atomic enum spool_process_state */
    uint64_t start_ns;  /* CLOCK_MONOTONIC */
    uint64_t end_ns;    /* 0 while running or if it never said goodbye */
    uint32_t threads;   /* atomic spool_ref, newest first */
    uint32_t maps;      /* atomic spool_ref, newest first */
    uint32_t epoch;     /* atomic: number of dlopen/dlclose epochs begun, from 1 */
    spool_ref command;  /* spool_string: arguments separated by NUL */
    char name[16];
    /* What the program says through include/penumbra/penumbra.h. */
    uint32_t phases;     /* atomic spool_ref, newest first */
    uint32_t phases_refused; /* begun, but too many or too deep to have trees of their own */
    uint64_t pauses;     /* times that it paused the recording */
    uint64_t paused_ns;  /* in pauses that have ended */
    uint64_t pause_start_ns; /* CLOCK_MONOTONIC; 0: not paused now */
    uint32_t counts;    /* atomic spool_ref of a struct spool_counts (spool_counts.h); 0: none */
    /* atomic, 1: it may have entered a sandbox; from then on CPU time is not read */
    uint32_t sandboxed;
    /* The core ends here. */
    uint32_t mechanism; /* what this process really uses (enum trigger_mechanism) */
    uint32_t arm_error; /* errno of the first perf_event_open or timer that failed, or ARM_ERROR_*;
                           0: none */
    uint32_t exclude_kernel; /* what this process really uses */
    uint32_t trampoline; /* atomic enum trampoline_state */
    uint32_t shadows;   /* atomic spool_ref of a struct spool_shadows (spool_shadow.h); 0: none */
    uint32_t left;      /* atomic spool_ref of a struct spool_left, newest first */
    /* CPU time of the first thread, when its trigger was set, and of the one that called exec,
     * then: the clock goes on. */
    uint64_t armed_cpu_ns, exec_cpu_ns;
    uint32_t sandbox_threads, sandbox_processes; /* atomic: made in it, and not observed */
    uint32_t unarmed;   /* atomic: threads that the trigger could not be set in, but for those found
                           by their ticks */
    uint32_t unarmed_others; /* atomic: times that one of the triggers after the first could not be
                                set in a thread */
    uint32_t cookie;    /* what its signals carry */
    uint32_t undiscovered; /* atomic, 1: it has no event that finds threads which nobody told the
                              runtime about */
    uint32_t ticking;   /* atomic: threads that switched so often that they were sampled at the
                           kernel's ticks */
    uint32_t soon_ticking; /* atomic: of its threads and forked children, in a row, those that did
                              so soon (runtime/trigger/ticks.c) */
    /* atomic: threads that are not sampled from when they entered it on */
    uint32_t sandbox_silenced;
    /* atomic, 1: in its sandbox the collector reads the CPU time of its threads */
    uint32_t timed;
    uint32_t watch;     /* atomic enum spool_watch */
    uint32_t watched;   /* atomic: times that watched_ns was set in one of its threads' records */
    uint32_t kernel_refused; /* atomic: threads whose stacks have no part in the kernel */
    uint64_t cookie_at; /* where in its own memory the cookie is: several processes may call
                           themselves `pid` */
    uint64_t drops[DROP_COUNT];
    /* atomic adds: as DROP_FOREIGN, of the triggers after the first */
    uint64_t foreign[TRIGGERS_MAX - 1];
    uint32_t left_out[LEFT_COUNT]; /* atomic: sandbox_threads and _processes, by reason */
    struct spool_heap heap;
};

/* Waits of threads that wait often are looked at from outside (runtime/trigger/watch.c). The
 * runtime writes WANTED, the collector the others. */
enum spool_watch { WATCH_NONE, WATCH_WANTED, WATCH_READY, WATCH_REFUSED };

/* It may have entered a sandbox, and not all that it did there is known. */
static inline bool spool_sandbox_hides(const struct spool_process *p)
{
    if (!__atomic_load_n(&p->sandboxed, __ATOMIC_RELAXED))
        return false;
    return !__atomic_load_n(&p->timed, __ATOMIC_RELAXED) ||
           __atomic_load_n(&p->sandbox_threads, __ATOMIC_RELAXED) ||
           __atomic_load_n(&p->sandbox_processes, __ATOMIC_RELAXED) ||
           __atomic_load_n(&p->sandbox_silenced, __ATOMIC_RELAXED);
}

/* What a child that vfork has made used, until it executed another program: that one's clock goes
 * on. */
struct spool_left {
    spool_ref next;
    int32_t pid;
    uint64_t cpu_ns; /* 0: it could not execute it */
};

/* A phase that the program named; begun again under the same outer phase, it is the same one. */
struct spool_phase {
    spool_ref next;
    uint32_t id;         /* from 1, in the process; 0 stands for no phase */
    uint32_t outer;      /* id of the phase that it is nested in, or 0 */
    spool_ref name;      /* spool_string */
    uint64_t begun;      /* times */
    uint64_t elapsed_ns; /* of those that have ended */
    uint64_t start_ns;   /* CLOCK_MONOTONIC; 0: not in it now */
};

/* A thread that was made in a sandbox, where it may not make its trigger: the collector does.
 *
 *     NONE ──> WANTED ──> SET ──> LEAVES ──> GONE ──> WANTED ...
 *                │ └──> REFUSED               ↑
 *                └────────────────────────────┘      and ENDED from any, with the thread
 *
 * The runtime writes WANTED and LEAVES, and GONE where the collector has not come to it; the
 * collector writes the others, all by compare-and-swap. With GONE, REFUSED and ENDED there is no
 * event of the thread that runs, and none will until it is wanted again. ENDED is written only of a
 * thread that is known to be over: its memory is used again. */
enum spool_outside { OUTSIDE_NONE, OUTSIDE_WANTED, OUTSIDE_SET, OUTSIDE_LEAVES, OUTSIDE_GONE,
                    OUTSIDE_REFUSED, OUTSIDE_ENDED };

/* One for each trigger, and each phase that the thread has been sampled in by it. */
struct spool_thread {
    spool_ref next;
    int32_t tid;
    spool_ref tree;      /* cct root, key_pseudo(KEY_ROOT) */
    uint32_t phase;      /* id of the process's phase, or 0 */
    spool_ref life;      /* of several triggers: the thread's first record */
    uint32_t which;      /* number of the trigger */
    /* atomic spool_ref of a struct spool_timeline (timeline.h), which a thread's records share; 0:
     * none */
    uint32_t timeline;
    uint32_t reserved;
    char name[16];       /* last seen */
    uint64_t start_ns;
    uint64_t end_ns;     /* 0: still running or killed */
    uint64_t cpu_ns;     /* the thread's CPU time at its end, or at its last look */
    /* All below: written by the thread's own handler only. */
    uint64_t taken;      /* samples taken */
    uint64_t weight;     /* sum of their weights: what the tree's counts add up to */
    uint64_t weight_squares; /* sum of squared weights, for confidence intervals */
    /* The core ends here. */
    uint64_t guessed;    /* samples with at least one frame found by heuristics */
    uint64_t truncated[TRUNC_COUNT]; /* by enum truncation; [0] unused */
    uint64_t drops[DROP_COUNT];
    uint64_t cost_ticks; /* time stamp counter ticks spent in the handler, and at the beginning and
                            the end of the process */
    uint64_t deliveries; /* signals received, for the delivery cost */
    uint64_t delivered_ns; /* what they have cost besides the handler */
    uint64_t switches, switched_ns; /* of the thread, while an event counted its time, and what that
                                       has cost; not all are noticed */
    uint64_t nodes;      /* tree nodes made */
    uint64_t stretched;  /* the most periods that were to pass between two samples for what they
                            cost, if more than 1 */
    /* Of threads that are made in sandboxes: */
    uint32_t slot;       /* what its signals carry, with the process's cookie */
    uint32_t outside;    /* atomic enum spool_outside */
    uint32_t multiple;   /* of the mean period, that its event is to have */
    uint32_t watch_seen; /* 1: the collector has begun to look at what it waits */
    /* atomic; of the process's clock: since when its waits are the collector's to charge (0: they
     * are not); and its CPU time then */
    uint64_t watched_ns, watched_cpu_ns;
};

enum { IMAGE_VDSO = 1, IMAGE_MAIN = 2, IMAGE_RUNTIME = 4 };

struct spool_image {
    spool_ref next;
    uint32_t number;      /* 1 .. KEY_IMAGE_MAX, see key.h */
    /* atomic spool_ref of a struct unwind_table (unwind/table.h); collector */
    uint32_t table;
    uint32_t table_state; /* atomic; collector: 0 not tried, 1 made, 2 cannot be made */
    uint32_t flags;       /* IMAGE_* */
    uint32_t build_id_size; /* 0: has none */
    uint8_t build_id[SPOOL_BUILD_ID_MAX];
    uint64_t dev, ino;    /* of the file when it was mapped; 0 for the vdso */
    uint64_t file_size;
    int64_t mtime_ns;
    uint64_t first_vaddr; /* link-time address range of its PT_LOAD segments */
    uint64_t last_vaddr;
    spool_ref path;       /* spool_string */
    uint32_t reserved;
};

struct spool_map {
    spool_ref next;
    spool_ref image;
    uint64_t bias;        /* load address minus link-time address */
    uint64_t lo, hi;      /* mapped range */
    uint32_t epoch_first; /* epochs in which it was mapped: [first, last] */
    uint32_t epoch_last;  /* atomic; 0 while mapped */
};

/* Where the cores are and end: frozen with SPOOL_VERSION. */
#define SPOOL_AT(record, field, offset)                                                            \
    _Static_assert(offsetof(struct record, field) == (offset), "the core is frozen")
SPOOL_AT(spool_header, state, 12);
SPOOL_AT(spool_header, next, 32);
SPOOL_AT(spool_header, processes, 40);
SPOOL_AT(spool_header, bell, 52);
SPOOL_AT(spool_header, settings, 60);
SPOOL_AT(spool_header, layout, 64);
SPOOL_AT(spool_header, follow, 76);
SPOOL_AT(spool_header, start_realtime_ns, 88);
SPOOL_AT(spool_header, tsc_hz, 120);
SPOOL_AT(spool_header, drops, 128);
SPOOL_AT(spool_process, state, 12);
SPOOL_AT(spool_process, threads, 32);
SPOOL_AT(spool_process, name, 48);
SPOOL_AT(spool_process, phases, 64);
SPOOL_AT(spool_process, pause_start_ns, 88);
SPOOL_AT(spool_process, sandboxed, 100);
SPOOL_AT(spool_process, mechanism, SPOOL_PROCESS_CORE);
SPOOL_AT(spool_thread, phase, 12);
SPOOL_AT(spool_thread, name, 32);
SPOOL_AT(spool_thread, start_ns, 48);
SPOOL_AT(spool_thread, taken, 72);
SPOOL_AT(spool_thread, guessed, SPOOL_THREAD_CORE);
SPOOL_AT(spool_image, build_id, 24);
SPOOL_AT(spool_image, dev, 56);
SPOOL_AT(spool_image, path, 104);
SPOOL_AT(spool_map, bias, 8);
SPOOL_AT(spool_map, epoch_last, 36);
SPOOL_AT(spool_phase, begun, 16);
SPOOL_AT(spool_phase, start_ns, 32);
#undef SPOOL_AT

struct spool_string {
    uint32_t length; /* bytes, without a terminator */
    char bytes[];
};

/* Where a process has the spool mapped. */
struct spool {
    uint8_t *base;
    uint64_t mapped; /* bytes mapped at base; at most header->size */
    uint32_t quiet;  /* atomic, not 0: no system calls may be made: the bell is not rung */
};

static inline struct spool_header *spool_header(const struct spool *s)
{
    return (struct spool_header *)(void *)s->base;
}

/* The record of `size` bytes at ref, or NULL if ref is null or any of it lies outside the
 * mapping. */
static inline void *spool_at(const struct spool *s, spool_ref ref, uint64_t size)
{
    uint64_t offset = (uint64_t)ref * SPOOL_UNIT;
    if (offset < SPOOL_HEADER_SIZE || size > s->mapped || offset > s->mapped - size)
        return NULL;
    return s->base + offset;
}

static inline spool_ref spool_ref_of(const struct spool *s, const void *record)
{
    return (spool_ref)((uint64_t)((const uint8_t *)record - s->base) / SPOOL_UNIT);
}

/* `size` zero bytes, 16-byte aligned; NULL when the spool has no storage ready. Rings the bell when
 * little is left. */
void *spool_alloc_as(const struct spool *s, uint64_t size);
/* Whether storage for so much is ready; if it is not, the collector is asked for it. */
bool spool_ready_as(const struct spool *s, uint64_t size);
/* Waits until it is, so many milliseconds at most; other processes may take it first. */
bool spool_wait_as(const struct spool *s, uint64_t size, uint32_t ms);
/* Whether there can be more than is ready: this process has mapped more. */
bool spool_can_grow_as(const struct spool *s);

/* The same, in whole pages of the file: such memory can be mapped a second time. */
void *spool_alloc_pages_as(const struct spool *s, uint64_t size);

/* Links `record` (whose first member is its spool_ref next) into the list at *head. */
void spool_push_as(const struct spool *s, uint32_t *head, void *record);

/* A copy of `length` bytes as a spool_string, cut at SPOOL_PATH_MAX * 4 bytes; 0 if full. */
spool_ref spool_string_as(const struct spool *s, const char *bytes, uint64_t length);

/* Wakes the collector. */
void spool_ring_as(const struct spool *s);
/* Adds 1 to a futex word of the spool, and wakes who waits for it. */
void spool_wake_as(const struct spool *s, uint32_t *word);

#endif
