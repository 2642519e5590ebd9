/* The options of `penumbra record` that choose a carrier and a tool: where the observed code runs,
 * and what is observed there.
 *
 * Context: the main thread.
 * Ownership: nothing is kept. */
#ifndef PENUMBRA_COLLECTOR_RECORD_ENGINE_H
#define PENUMBRA_COLLECTOR_RECORD_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sigsafe/spool.h"

/* Bounds. */
#define ENGINE_LENGTH_MOST 1e12
enum {
    ENGINE_SKIP_MOST = 4096, /* docs/values.md, "Bias" */
    ENGINE_SAMPLE_LEAST = 1000,
    ENGINE_LOAD_MOST = 8,
    ENGINE_BARRIER_LEAST = 100, /* microseconds */
    ENGINE_BARRIER_MOST = 1000000,
    ENGINE_CONTEXTS_LEAST = 100,
    ENGINE_CONTEXTS_MOST = 1 << 30,
};

struct record_engine {
    uint32_t carrier; /* enum carrier_kind */
    uint64_t tools;   /* sigsafe/tools.h; 0: not chosen; once settled there is one at least */
    uint64_t length;    /* most instructions of a burst; 0: not given */
    uint64_t length_least; /* 0: all bursts are of `length` */
    uint64_t native_ns; /* --baseline; 0: not given */
    uint32_t skip;      /* most instructions that a burst skips first */
    bool skip_given;
    uint32_t load_milli; /* shadows active on average, in thousandths; 0: not given */
    uint32_t shadow_flags;
    uint64_t sample_size; /* instructions of a shadow; 0: not given */
    uint64_t shadow_memory;
    uint64_t finish_ns;  /* how long shadows may go on after the program's end */
    uint64_t burst_length; /* carrier auto, once settled: as `length`, which is of a shadow then */
    uint32_t barrier_us; /* --barrier-timeout; 0: not given */
    uint64_t seed;
    bool seed_given, threads_given;
    uint32_t contexts;   /* --max-contexts; 0: not given */
    bool fold_recursion;
    bool budgeted; /* --budget was given */
    uint64_t interval; /* of compiled-in instrumentation; 0: not given */
    uint64_t iterations; /* checks of its bursts; 0: not given */
    uint64_t windows;    /* checks in one part of the time in so many; 0: not given */
    uint32_t timer_us;   /* a timer begins its bursts; 0: a counter does */
};

/* Tools, with commas between. */
bool record_engine_tool(struct record_engine *r, const char *names, struct err *e);
/* Their names, but for those that measure the engine. NULL: after the last. */
const char *record_engine_tool_word(unsigned index);
bool record_engine_length(struct record_engine *r, const char *text, struct err *e);

/* Whether a value that was given (not 0) is within bounds; `unit` is for the message. */
bool record_engine_range(const char *option, uint64_t value, double least, double most,
                         const char *unit, struct err *e);
/* Fills in what was not given, and refuses what does not go together. sampled: the first option
 * that was given and needs samples ("-F"), or NULL; attached: the process runs already. */
bool record_engine_settle(struct record_engine *r, bool attached, const char *sampled,
                          struct err *e);

#endif
