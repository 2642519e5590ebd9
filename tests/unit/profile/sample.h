/* Profiles and spools made for tests, and their comparison.
 *
 * Context: tests only.
 * Ownership: what sample_* returns is the caller's. */
#ifndef PENUMBRA_TESTS_SAMPLE_H
#define PENUMBRA_TESTS_SAMPLE_H

#include "../sanitized.h"
#include "profile/paths.h"
#include "profile/profile.h"
#include "sigsafe/spool_paths.h"
#include "sigsafe/spool_results.h"
#include "sigsafe/spool_streams.h"
#include "profile/table/productions.h"
#include "sigsafe/spool_productions.h"
#include "sigsafe/spool_waste.h"
#include "sigsafe/timeline.h"
#include "sigsafe/tools.h"

/* Under sanitizers damage is tried at one place in so many: the fuzzers of the same readers, which
 * run under them, too, do the rest. */
enum { SAMPLE_SPARSE = SANITIZED ? 5 : 1 };

/* A profile with every field set to something, deterministic: `threads` threads whose trees have
 * about `nodes` nodes each. */
struct profile *sample_profile(uint32_t threads, uint32_t nodes, uint64_t seed);

/* Of sample_profile: sampled values, and their comparison. */
struct profile_values *sample_values(uint64_t *state);
const char *sample_values_difference(const struct profile_values *a,
                                     const struct profile_values *b);

/* A number from 0 to bound - 1; *state advances. */
uint64_t sample_random(uint64_t *state, uint64_t bound);

/* "" if equal in every field, else the name of the first field that differs. */
const char *sample_difference(const struct profile *a, const struct profile *b);

/* An empty spool of `size` bytes in private memory. */
struct spool sample_spool_new(uint64_t size);
void sample_spool_free(struct spool *s);
struct spool_process *sample_process(const struct spool *s, int pid);
struct spool_thread *sample_thread(const struct spool *s, struct spool_process *p, int tid);
struct spool_image *sample_image(const struct spool *s, uint32_t number, const char *path);
/* Counts one sample with this stack, outermost frame first, by the algorithm that cct.h describes.
 * False when the spool is full. */
bool sample_insert(const struct spool *s, struct spool_thread *t, const uint64_t *keys,
                   uint32_t depth);
/* And when it was; line: the thread's timeline, or NULL. */
bool sample_insert_at(const struct spool *s, struct spool_thread *t, const uint64_t *keys,
                      uint32_t depth, struct timeline *line, uint64_t ns);
/* Blocks (even ids) and edges (odd ids), 60 of each, and a window to count them in, whose address
 * space is the caller's to unmap. */
struct counts_window sample_counts(const struct spool *s, struct spool_process *p);
/* 30 paths of those blocks; path i was executed i + 1 times. */
void sample_paths_in(const struct spool *s, struct spool_counts *c);
/* The streams of 20 memory operands, 8 bytes each; what operand i accesses is about 8 * i bytes
 * apart. */
void sample_streams_in(const struct spool *s, struct spool_counts *c);
/* Waste as a profile has it, with call paths; where two differ: the name of what does, or "". */
struct profile_productions *sample_productions(uint64_t *state);
const char *sample_productions_difference(const struct profile_productions *a,
                                          const struct profile_productions *b);
/* One thread's: 60 counts of three places and two numbers, and 60 items that come again after
 * four. */
void sample_productions_in(const struct spool *s, struct spool_counts *c);

struct profile_waste *sample_waste(uint64_t *state);
const char *sample_waste_difference(const struct profile_waste *a, const struct profile_waste *b);
/* The waste of 20 memory operands: access i was executed 100 times, and makes a pair with access i
 * + 1; and pairs by contexts of the thread's. */
void sample_waste_in(const struct spool *s, struct spool_counts *c, const struct spool_thread *t);
/* The results of 20 instructions, in the window of the thread; those of instruction i take 1 + 2 *
 * i values; so do those of another one each, which copies them. */
void sample_results_in(const struct spool *s, struct spool_counts *c, struct counts_window *w);
/* A spool with two processes, three threads and `samples` samples with random stacks. */
struct spool sample_spool(uint64_t size, uint32_t samples, uint64_t seed);

#endif
