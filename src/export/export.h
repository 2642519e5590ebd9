/* Profiles in the formats of other tools. Pure: profile and symbols in, bytes out. What each format
 * can and cannot hold is in docs/exports.md.
 *
 * Context: ordinary code, one thread a call.
 * Ownership: the bytes are appended to the caller's buffer. */
#ifndef PENUMBRA_EXPORT_EXPORT_H
#define PENUMBRA_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "profile/profile.h"
#include "symbols/symbols.h"

enum { EXPORT_DEFAULT_MAX_DEPTH = 2048 };

struct export_options {
    /* folded: the first frame is NAME-PID/TID, not the process's name; speedscope: each thread is a
     * profile */
    bool threads;
    uint32_t max_depth; /* longer stacks lose their middle (export/stack.h); 0: no limit */
    const char *image;  /* of one program or library: its file; NULL: the main program */
};

struct export_result {
    uint64_t samples;   /* weighted samples written; of one image: executions */
    uint64_t shortened; /* stacks, distinct ones, that were longer than max_depth */
    uint64_t untimed;   /* of the samples, those whose time the format wants and nobody knows */
    uint64_t unsaid;    /* dropped samples, if the format has no place to say so */
    struct buf remarks; /* what the user should know, lines; the caller frees it */
};

typedef bool export_function(const struct profile *p, const struct symbols *s,
                             const struct export_options *options, struct buf *out,
                             struct export_result *result, struct err *e);

/* What a format is of. Of one image: its function gets no symbols (NULL), and the profile as it was
 * recorded. */
enum export_kind { EXPORT_OF_ALL, EXPORT_OF_IMAGE };

/* X(function, name, its default file where its bytes do not suit a terminal, which threads it does
 * not tell apart, kind). The first is the default.
 *     pprof         gzip'ed profile.proto, as `go tool pprof` and others read it
 *     folded        "root;...;leaf count" lines, as flamegraph.pl and others read them
 *     callgrind     Callgrind's profile format, version 1,
 *                   as callgrind_annotate and KCachegrind do
 *     speedscope    speedscope's JSON, as speedscope.app does
 *     firefox       the Firefox Profiler's processed profile, as profiler.firefox.com does
 *     otlp          OpenTelemetry's profiles signal, as collectors do
 *     bolt          branches and fall-throughs, pre-aggregated, as llvm-bolt -pa does
 *     llvm-profgen  ranges and branches, unsymbolized, as llvm-profgen does
 *     llvm-sample   counts of source lines, as clang -fprofile-sample-use does
 *     llvm-contexts the same by calling context, as that does
 *     autofdo       those of llvm-sample, as gcc -fauto-profile does
 *     propeller     blocks of functions in clusters, as clang -fbasic-block-sections does
 *     order         functions in the order of their calls, by symbol, as lld's
 *                   --symbol-ordering-file does
 *     order-sections  the same by section, as gold's --section-ordering-file does */
#define EXPORT_FORMATS(X)                                                                          \
    X(pprof, "pprof", "penumbra.pb.gz", PROFILE_SHARED, EXPORT_OF_ALL)                             \
    X(folded, "folded", NULL, PROFILE_SUMMED_BY_NAME, EXPORT_OF_ALL)                               \
    X(callgrind, "callgrind", NULL, PROFILE_SUMMED_BY_NAME, EXPORT_OF_ALL)                         \
    X(speedscope, "speedscope", "penumbra.speedscope.json", PROFILE_SUMMED_BY_NAME, EXPORT_OF_ALL) \
    X(firefox, "firefox", "penumbra.firefox.json", PROFILE_SHARED, EXPORT_OF_ALL)                  \
    X(otlp, "otlp", "penumbra.otlp.pb", PROFILE_APART, EXPORT_OF_ALL)                              \
    X(bolt, "bolt", NULL, PROFILE_SUMMED_BY_NAME, EXPORT_OF_IMAGE)                                 \
    X(llvm_profgen, "llvm-profgen", NULL, PROFILE_SUMMED_BY_NAME, EXPORT_OF_IMAGE)                 \
    X(llvm_sample, "llvm-sample", NULL, PROFILE_SUMMED_BY_NAME, EXPORT_OF_IMAGE)                   \
    X(llvm_contexts, "llvm-contexts", NULL, PROFILE_SUMMED_BY_NAME, EXPORT_OF_IMAGE)               \
    X(autofdo, "autofdo", "penumbra.afdo", PROFILE_SUMMED_BY_NAME, EXPORT_OF_IMAGE)                \
    X(propeller, "propeller", NULL, PROFILE_SUMMED_BY_NAME, EXPORT_OF_IMAGE)                       \
    X(order, "order", NULL, PROFILE_SUMMED_BY_NAME, EXPORT_OF_IMAGE)                               \
    X(order_sections, "order-sections", NULL, PROFILE_SUMMED_BY_NAME, EXPORT_OF_IMAGE)

#define EXPORT_DECLARATION(function, name, binary_output, summing, kind)                           \
    export_function export_##function;
EXPORT_FORMATS(EXPORT_DECLARATION)
#undef EXPORT_DECLARATION

/* Whether the profile's period is a time, so that samples times period are nanoseconds. */
bool export_is_time(const struct profile *p);

#endif
