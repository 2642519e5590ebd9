/* The options of `penumbra record` that are about productions: which files, how often.
 *
 * Context: the main thread.
 * Ownership: strings point into argv; the compiled program is this one's. */
#ifndef PENUMBRA_COLLECTOR_RECORD_PRODUCTIONS_H
#define PENUMBRA_COLLECTOR_RECORD_PRODUCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "collector/record_engine.h"
#include "collector/record_spool.h"
#include "production/production.h"
#include "sigsafe/settings.h"

enum { RECORD_PRODUCTIONS_MOST = 32, PRODUCTION_BURST_DEFAULT = 100 };
#define PRODUCTION_FREQUENCY_DEFAULT "1/1000"

struct record_productions {
    const char *files[RECORD_PRODUCTIONS_MOST]; /* --production */
    unsigned count;
    const char *frequency; /* --frequency A/B; NULL: not given */
    uint64_t burst;        /* --burst; 0: not given */
    bool sampled;          /* by bursts or shadows */
    bool by_time;          /* which are all of the sampling: there is no --frequency */
    bool by_model;         /* the tool `simulate` runs them */
};

/* One file more. */
bool record_productions_add(struct record_productions *o, const char *file, struct err *e);
/* Before the carrier is settled: the default is the whole run. In bursts there is no sparsity, and
 * --frequency A/B is refused. */
bool record_productions_settle(struct record_productions *o, struct record_engine *engine,
                               struct err *e);
/* The files, merged. program: the path of the program whose functions they may name; NULL: any
 * will do. */
bool record_productions_read(const struct record_productions *o, const char *program,
                             struct production_program *out, struct err *e);
/* Puts them into the spool, if there are any. */
bool record_productions_put(const struct record_productions *o, const char *program,
                            struct record_spool *spool, struct production_settings_block *settings,
                            struct err *e);

#endif
