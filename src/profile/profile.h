/* A profile in memory, as read from a file or about to be written to one. The only form that
 * reports, exports, merge and compare know. Documented byte by byte, as stored, in docs/format.md.
 *
 * Context: ordinary code; a struct profile is used by one thread at a time.
 * Ownership: a profile owns all it points to; profile_free releases it. Strings are never NULL
 * (empty instead) after profile_new/profile_read. */
#ifndef PENUMBRA_PROFILE_PROFILE_H
#define PENUMBRA_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/counts.h"
#include "profile/entities.h"
#include "profile/hits.h"
#include "profile/figures.h"
#include "profile/metrics.h"
#include "profile/names.h"
#include "profile/observations.h"
#include "profile/recordings.h"
#include "profile/values.h"
#include "profile/shadows.h"
#include "sigsafe/key.h"
#include "sigsafe/reasons.h"

#define PROFILE_BUILD_ID_MAX 32

/* profile_node.image: an index into profile.images, or one of these. */
#define PROFILE_IMAGE_NONE UINT32_MAX /* no image: offset is an address (JIT code), or an entity */
#define PROFILE_IMAGE_PSEUDO (UINT32_MAX - 1) /* offset is an enum key_pseudo */

/* Whether a place means something in its process only: in no image, and no entity. */
static inline bool profile_is_private(uint32_t image, uint64_t offset)
{
    return image == PROFILE_IMAGE_NONE && !entity_is(offset);
}

enum { PROFILE_IMAGE_VDSO = 1, PROFILE_IMAGE_MAIN = 2, PROFILE_IMAGE_RUNTIME = 4 };

struct profile_image {
    char *path;
    uint8_t build_id[PROFILE_BUILD_ID_MAX];
    uint32_t build_id_size;
    uint32_t flags;
    uint64_t file_size;
    int64_t mtime_ns;
    uint64_t first_vaddr, last_vaddr;
};

/* Where an image was mapped in a process, and during which epochs. */
struct profile_map {
    uint32_t image; /* index into profile.images */
    uint32_t epoch_first, epoch_last; /* inclusive; last 0: to the end */
    uint64_t bias, lo, hi;
};

/* A symbol of JIT code, from /tmp/perf-PID.map at the end of the recording. */
struct profile_jit_symbol {
    uint64_t address, size;
    char *name;
};

enum profile_process_end { PROFILE_END_RUNNING, PROFILE_END_EXEC, PROFILE_END_EXIT,
                           PROFILE_END_KILLED };

struct profile_process {
    int32_t pid, ppid;
    char *name;
    char *command; /* arguments separated by one blank, as typed (quoting added where needed) */
    uint64_t start_ns, end_ns; /* since the start of the recording */
    uint32_t end;              /* enum profile_process_end */
    uint32_t epochs;
    uint32_t mechanism, arm_error, exclude_kernel; /* spool.h */
    uint32_t unarmed, ticking; /* as there; not in files */
    struct profile_map *maps;
    uint32_t map_count;
    struct profile_jit_symbol *jit; /* sorted by address */
    uint32_t jit_count;
    uint64_t drops[DROP_COUNT];
    uint32_t rank; /* 0: none; else 1 + its number among the processes of a parallel program */
    uint64_t pauses, paused_ns; /* the program paused the recording (include/penumbra/penumbra.h) */
    uint64_t phases_refused;    /* begun, but too many or too deep to have trees of their own */
    uint64_t heap_peak_ns;      /* trigger malloc: when the most was live, since the start */
    uint64_t heap_missed;       /* ... sampled allocations that were not followed to their end */
    uint64_t heap_mapped, heap_mappings, heap_grown; /* ... spool.h; not in files */
    /* it may have entered a sandbox: its CPU time is not known from then on */
    bool sandboxed;
    uint64_t sandbox_threads, sandbox_processes; /* made in it, and not observed */
    uint64_t sandbox_silenced;  /* threads that are not sampled from when they entered it on */
    uint32_t recording;         /* index into profile.recordings, if there are any */
    uint64_t early_cpu_ns;      /* CPU time before its trigger was set */
};

/* A phase that the program named. */
struct profile_phase {
    char *name;
    uint32_t outer;      /* 0, or 1 + the index of the phase that it is nested in, a smaller one */
    uint64_t begun;      /* times, in all processes */
    uint64_t elapsed_ns; /* in all of these together */
};

/* A node of a thread's tree. Nodes are stored in preorder: a parent's index is smaller than its
 * children's, and a subtree is the contiguous range [i, i + subtree). */
struct profile_node {
    uint32_t parent;  /* index in the thread's nodes; the root (index 0) has UINT32_MAX */
    uint32_t subtree; /* nodes in the subtree, itself included */
    uint32_t image;   /* index into profile.images, or PROFILE_IMAGE_* */
    bool guessed;
    uint64_t offset;  /* key.h: link-time address */
    uint64_t self;    /* weighted samples that ended here: the weight by the first metric */
    uint64_t calls;   /* sampled edge count */
    uint64_t more[METRICS_MAX - 1]; /* weights by the metrics after the first */
};

struct profile_timeline;
struct profile_shares;

/* A thread that was sampled in several phases is here once for each of them. */
struct profile_thread {
    uint32_t process; /* index into profile.processes */
    uint32_t phase;   /* 0, or 1 + an index into profile.phases */
    int32_t tid;
    char *name;
    uint64_t start_ns, end_ns, cpu_ns;
    uint64_t taken, weight, weight_squares; /* spool.h */
    uint64_t guessed;
    uint64_t truncated[TRUNC_COUNT];
    uint64_t drops[DROP_COUNT];
    /* time spent in the handler, and at the beginning and the end of the process */
    uint64_t cost_ns;
    uint64_t deliveries; /* signals received */
    uint64_t delivered_ns; /* what they cost besides */
    /* of the thread that were noticed while an event counted its time, and what that cost */
    uint64_t switches, switched_ns;
    struct profile_node *nodes;
    uint32_t node_count; /* 0: no tree; else nodes[0] is the root (pseudo, KEY_ROOT) */
    /* when its samples fell (profile/timeline.h); NULL: not known */
    struct profile_timeline *timeline;
    /* what it has of the nodes of this or another thread (profile/shares.h); NULL: all of its own
     * nodes, and no others */
    struct profile_shares *shares;
    /* The same as taken to drops above, by the triggers after the first (metrics.h); NULL: none of
     * them was seen. */
    struct profile_sampled *others;
    uint32_t life; /* while a spool is read: which thread of this number it is */
};

/* A section that this version does not know. */
struct profile_unknown {
    uint32_t type;
    bool alone; /* it refers to no other section */
    uint8_t *data;
    size_t size;
};

/* Where the recording has seen many processes begin (collector/record_processes.h). */
struct profile_begun {
    uint64_t executed, forked; /* programs, and processes */
    uint64_t ns; /* what they have cost besides what threads' own records say */
};

/* Of what was made in sandboxes and is not observed, by reason. */
struct profile_left {
    uint64_t left_out[LEFT_COUNT];
};

struct profile {
    /* What was recorded, and how. */
    char *command;
    struct profile_metric metrics[METRICS_MAX];
    uint32_t metric_count; /* 1 at least */
    uint32_t budget_ppm; /* 0: none asked for */
    /* of one signal, in a loop of the collector's; in the program it takes longer */
    uint32_t delivery_ns;
    uint32_t cpus;
    uint64_t start_realtime_ns, duration_ns;
    char *kernel;       /* uname release */
    char *cpu;          /* model name */
    uint32_t recovered; /* 1: written by recovery, not by the collector that recorded it */
    int32_t exit_status; /* of the program, as waitpid gives it; -1: not known */
    uint64_t kernel_cpu_ns; /* CPU time of the program and what it has waited for; 0: not known */
    char *notes;        /* what the user should know (fallbacks taken), lines; may be empty */
    uint64_t drops[DROP_COUNT]; /* that belong to no thread and no process */

    /* of merged profiles, by their starts; else there is one, start and duration as above */
    struct profile_recording *recordings;
    uint32_t recording_count;             /* 0, or 2 at least */
    struct profile_image *images;
    uint32_t image_count;
    struct profile_entity *entities; /* by id */
    uint32_t entity_count, entity_capacity;
    struct profile_hit *hits; /* by entity; hits.h */
    uint32_t hit_count;
    struct profile_process *processes;
    uint32_t process_count;
    struct profile_thread *threads;
    uint32_t thread_count;
    struct profile_phase *phases;
    uint32_t phase_count;
    struct observations observations;
    struct profile_names *names; /* NULL: none are kept */
    struct figure *figures; /* that this version does not know, by name */
    struct profile_unknown *unknown; /* sections of a later version, by type and contents */
    uint32_t figure_count, unknown_count;
    struct profile_part *parts; /* what merging has kept apart (profile/parts.h) */
    uint32_t part_count;
    /* of a part of the time (profile/timeline.h): where it begins; not in files */
    uint64_t kept_from_ns;
    struct profile_begun begun;
    struct profile_left left;
};

/* Records of the list of observations; NULL: nothing ran under the engine, no values were sampled,
 * there were no shadows to be, the tool did not observe. */
static inline struct profile_counts *observed_code(const struct profile *p)
{
    return observation_record(&p->observations, OBSERVED_CODE);
}
static inline struct profile_values *observed_values(const struct profile *p)
{
    return observation_record(&p->observations, OBSERVED_VALUES);
}
static inline struct profile_shadows *observed_shadows(const struct profile *p)
{
    return observation_record(&p->observations, OBSERVED_SHADOWS);
}
static inline void *observed_table(const struct profile *p, unsigned table)
{
    return observation_record(&p->observations, OBSERVED_TABLES + table);
}

/* All was counted, under the engine: there is no error of sampling, and there are counts. */
static inline bool profile_is_exact(const struct profile *p)
{
    return observed_code(p) && p->metrics[0].how == METRIC_EXACT;
}

/* The index of the phase with this name in `outer` (as in profile_phase), added if it is missing;
 * UINT32_MAX without memory. */
uint32_t profile_phase_intern(struct profile *p, const char *name, uint32_t outer);

/* An empty profile (all strings empty), or NULL without memory. */
struct profile *profile_new(void);
void profile_free(struct profile *p);
/* What a thread owns. */
void profile_thread_fini(struct profile_thread *t);

/* Reads and checks a whole file. Errors name the file, the offset and what was expected there.
 * Safe on any input. */
struct profile *profile_read(const char *path, struct err *e);
/* The same, but the trees of threads whose processes have the same name are added up, and timelines
 * are left out: the first of them has the sum. Threads with nameless generated code keep their
 * own trees, and so do those of names after the first 1,024. It takes a fraction of the memory.
 * PROFILE_SHARED: and each thread has its share of the sum and a timeline of the sum's nodes. */
enum profile_summing { PROFILE_APART, PROFILE_SUMMED_BY_NAME, PROFILE_SHARED };
struct profile *profile_read_summed(const char *path, enum profile_summing how, struct err *e);
struct profile *profile_read_memory(const uint8_t *data, size_t size, const char *name,
                                    struct err *e);

/* Writes atomically: a private (0600) temporary file in the same directory, then rename. */
bool profile_write(const struct profile *p, const char *path, struct err *e);
/* The bytes of the file, malloc'ed. */
uint8_t *profile_encode(const struct profile *p, size_t *size, struct err *e);

/* Sums over threads, with their processes' and the profile's own drops. */
struct profile_totals {
    uint64_t taken, weight, weight_squares, guessed, truncated_all;
    uint64_t dropped_all; /* without DROP_PAUSED: that was asked for */
    uint64_t truncated[TRUNC_COUNT];
    uint64_t drops[DROP_COUNT];
    uint64_t cpu_ns, cost_ns, deliveries, delivered_ns, switches, switched_ns, shadows_ns, begun_ns,
        nodes;
    uint32_t sandboxed; /* processes that may have entered a sandbox: if any, cpu_ns is not all */
};
void profile_totals(const struct profile *p, struct profile_totals *out);
/* Whether any trigger has taken any; t: of p. */
bool profile_has_samples(const struct profile *p, const struct profile_totals *t);
/* Nanoseconds of the program's CPU time that the recording took: handlers, signals, shadows (what
 * of these is inside handlers is in it twice), beginnings and ends of processes. */
double profile_spent_ns(const struct profile_totals *t);
/* How many processes may have entered a sandbox. */
uint32_t profile_sandboxed(const struct profile *p);
/* What all of them have left out, as in struct profile_process. */
struct profile_left_out {
    uint64_t threads, processes, silenced;
};
struct profile_left_out profile_left_out(const struct profile *p);

/* In hexadecimal; nothing if it has none. */
struct buf;
void profile_build_id_put(const struct profile_image *image, struct buf *to);

/* Names and sentences of reasons.h, by enumerator; "?" out of range. */
const char *profile_drop_name(unsigned drop);
const char *profile_drop_sentence(unsigned drop);
const char *profile_left_name(unsigned why);
const char *profile_left_sentence(unsigned why);
const char *profile_truncation_name(unsigned truncation);
const char *profile_truncation_sentence(unsigned truncation);

#endif
