/* What a recording consists of (recording.c: until it is over; recording_end.c: from then on).
 *
 * Context and ownership: as in recording.h. */
#ifndef PENUMBRA_COLLECTOR_RECORDING_INTERNAL_H
#define PENUMBRA_COLLECTOR_RECORDING_INTERNAL_H

#include <limits.h>

#include "base/buf.h"
#include "collector/attach/record_attach.h"
#include "collector/machine/machine.h"
#include "collector/outside/outside.h"
#include "collector/record_check.h"
#include "collector/record_copies.h"
#include "collector/record_discover.h"
#include "collector/record_files.h"
#include "collector/record_host.h"
#include "collector/record_launch.h"
#include "collector/record_probe.h"
#include "collector/record_processes.h"
#include "collector/record_rank.h"
#include "collector/record_sandbox.h"
#include "collector/record_shadows.h"
#include "collector/record_spool.h"
#include "collector/record_tables.h"
#include "collector/record_verify.h"
#include "collector/record_windows.h"
#include "collector/recording.h"
#include "sigsafe/settings.h"

struct recording {
    struct recording_options options;
    struct recording_callbacks callbacks;
    struct record_program program;
    struct record_rank rank;
    char shown[PATH_MAX];           /* the output as the user may call it */
    char output[PATH_MAX];          /* its real path */
    char abandoned[SPOOL_PATH_MAX]; /* spool of a dead recording whose file we replace, or "" */
    struct spool_config config;
    struct burst_settings burst;
    struct shadow_settings shadow;
    struct value_settings value;
    struct inst_settings inst;
    struct production_settings_block production;
    uint32_t load_milli;
    uint64_t tsc_hz;
    struct buf notes; /* lines; NUL-terminated once recording_start has returned */
    struct record_spool spool;
    struct record_tables tables;
    struct record_child child;
    struct record_verify verify;
    struct record_attach attach; /* -p */
    struct machine *machine;     /* NULL: it is none */
    struct record_shadows shadows;
    struct record_discover discover;
    struct record_copies copies;
    struct record_files files;
    struct outside outside;
    struct record_sandbox sandbox;
    struct record_windows windows;
    struct record_processes processes;
    struct record_host host;    /* of the module, if values are sampled */
    char **arguments;           /* of the program; -p: of the process, ours */
    struct record_clocks began; /* the collector */
    uint64_t start_ns;
    uint64_t elapsed_ns; /* how long it was; once it is over */
    uint64_t live_ns;    /* when the caller was last told what there is */
    uint64_t alone_ns;   /* --wait-all: elapsed time when a descendant was last seen; 0: not yet */
    bool spooled;        /* there is a spool */
    bool kept;           /* its file stays, to be recovered */
    /* Written by any thread and in signal handlers; atomic. */
    uint32_t *bell;   /* NULL: nobody waits yet */
    uint64_t to_send; /* signals: bit number */
    bool stop;
    unsigned hurried;
};

/* A process that was there before, into which the runtime is brought. */
static inline bool recording_attaches(const struct recording *r)
{
    return r->options.pid && !recording_options_is_machine(&r->options);
}
static inline bool recording_has_program(const struct recording *r)
{
    return recording_options_has_program(&r->options);
}

/* ... and it has the runtime. */
static inline bool recording_launches(const struct recording *r)
{
    return recording_has_program(r) && !r->machine;
}

/* Compiled-in checks that have a switch are executed, or not. */
void recording_switch(struct recording *r, bool on);
/* Hands on the signals that wait. */
void recording_hand_on(struct recording *r);
/* Whether processes that the program made still run. */
bool recording_descendants_run(struct recording *r);
/* Until the bell rings, most_ns at most; seen: what it was before the caller looked for work. */
void recording_sleep(const struct record_spool *s, uint32_t seen, uint64_t most_ns);

#endif
