/* What the engine's tools counted: executions of basic blocks, transfers between them, instructions
 * by class; and how the engine fared. Sums over all threads and processes of a profile.
 *
 * Blocks overlap where code jumps into the middle of one: an instruction was executed as often as
 * all blocks that cover it together.
 *
 * Context: ordinary code.
 * Ownership: a struct profile owns its counts; strings are never NULL after profile_counts_new. */
#ifndef PENUMBRA_PROFILE_COUNTS_H
#define PENUMBRA_PROFILE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/figures.h"
#include "sigsafe/reasons.h"
#include "sigsafe/shadow_figures.h"
#include "sigsafe/spool_counts.h"

struct profile;

/* image: as in profile_node, never PROFILE_IMAGE_PSEUDO. process: index into profile.processes of
 * code that is in no image (its addresses mean nothing elsewhere), else 0. */
struct profile_block {
    uint32_t image, process;
    uint64_t offset; /* of the first instruction: link-time address */
    uint32_t bytes, instructions;
    uint64_t count;
};

struct profile_edge {
    uint32_t from_image, to_image, process;
    uint64_t from; /* the instruction that transfers control */
    uint64_t to;
    uint64_t count;
};

/* What the engine did (shadow_figures.h says how a figure is declared). */
#define ENGINE_FIGURES(ONE, MANY)                                                                  \
    ONE(instructions, SUM, "instructions", "executed under the engine")                            \
    MANY(classes, CLASS_COUNT, profile_class_name, "instructions", "of these, by class")           \
    MANY(stopped, STOP_COUNT, profile_stop_name, "times",                                          \
         "the engine gave control back, by reason")                                                \
    ONE(bursts, SUM, "bursts", "bursts")                                                           \
    ONE(burst_instructions, SUM, "instructions", "of bursts")                                      \
    ONE(burst_ns, SUM, "ns", "of bursts")                                                          \
    ONE(translated, SUM, "blocks", "translated")                                                   \
    ONE(code_bytes, SUM, "bytes", "of translated code")                                            \
    ONE(translation_ns, SUM, "ns", "of translation")                                               \
    ONE(dispatches, SUM, "dispatches", "entries into the dispatcher")                              \
    ONE(dispatch_ns, SUM, "ns", "of these, with translation")

struct profile_counts {
    char *carrier, *tool;  /* "exact", "burst", ...; "blocks", "edges", "blocks,paths", ... */
    uint64_t tools;        /* `tool` as a set (sigsafe/tools.h); 0: one is not known here */
    uint64_t length;       /* instructions that a burst was to run; 0: no bursts */
    uint64_t native_ns;    /* CPU time of a native run, as the user gave it; 0: not given */
    bool counted;          /* `instructions` is known */
    bool classified;       /* `classes` is known */
    ENGINE_FIGURES(FIGURE_FIELD, FIGURE_FIELDS)
    struct latency latencies[LATENCY_KIND_COUNT];
    struct profile_block *blocks; /* by (image + 2, process, offset, bytes, instructions) */
    uint32_t block_count;
    /* `blocks` and `instructions` were derived by a reader (report/from_edges.h): in no file */
    bool from_edges;
    uint64_t unread; /* then edges into code that could not be read */
    struct profile_edge *edges;   /* by (from_image + 2, to_image + 2, process, from, to) */
    uint32_t edge_count;
};

/* Of a profile's counts, in files. */
extern const struct figure_family engine_figures;

struct profile_counts *profile_counts_new(const char *carrier, const char *tool);
void profile_counts_free(struct profile_counts *c);

/* Sorts blocks, edges and tools' tables, and makes one record of equal ones. False without
 * memory. */
bool profile_counts_settle(struct profile *p);

/* Adds what `from` has counted, and its tools' tables, to those of `into`. image_of[i]: the index
 * in `into` of image i of `from`; first_process: that of its process 0. Both must be of one
 * carrier, tool and length. False without memory. */
bool profile_counts_merge(struct profile *into, const struct profile *from,
                          const uint32_t *image_of, uint32_t first_process);

/* What an image of `from` is in `into`; PROFILE_IMAGE_NONE stays. */
uint32_t profile_counts_image_in(const uint32_t *image_of, uint32_t image);

/* Execution under the engine relative to the native run; 0 if that is not known. cpu_ns: of all
 * threads of the profile. */
double profile_counts_slowdown(const struct profile_counts *c, uint64_t cpu_ns);

/* The time that the share (0 to 1) of what is counted stayed below, in nanoseconds; within a bucket
 * as if it were evenly spread. 0 if nothing is counted. */
double profile_latency_ns(const struct latency *l, double share);
uint64_t profile_latency_count(const struct latency *l);

/* Names by enumerator; "?" out of range. */
const char *profile_latency_name(unsigned kind);
const char *profile_latency_sentence(unsigned kind);
const char *profile_stop_name(unsigned stop);
const char *profile_stop_sentence(unsigned stop);
const char *profile_class_name(unsigned instruction_class);
const char *profile_class_sentence(unsigned instruction_class);
const char *profile_carrier_name(unsigned carrier); /* NULL out of range */

#endif
