/* The options of `penumbra record` that are about sampled values: which module, how its values are
 * kept.
 *
 * Context: the main thread.
 * Ownership: strings point into argv or are constants. */
#ifndef PENUMBRA_COLLECTOR_RECORD_VALUES_H
#define PENUMBRA_COLLECTOR_RECORD_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "collector/record_engine.h"
#include "collector/record_host.h"
#include "sigsafe/settings.h"

#define VALUES_EVERY_MOST 1e9

struct machine; /* model/machine.h */

struct record_values {
    const char *file;   /* --module; NULL: not given */
    const char *name;   /* once settled; NULL: no values are sampled, or by `file` */
    bool outside;       /* what is observed is captured from outside, and interpreted */
    uint32_t length;    /* then: instructions of an interpretation; 0: not given */
    bool hierarchy;     /* once settled: it needs the machine's */
    const struct machine *machine; /* that is modelled; NULL: not given */
    const char *machine_name;
    bool productions;   /* the machine runs them */
    bool dise_original; /* by DISE without conditional control */
    uint16_t registers; /* general registers that they keep */
    struct sample_settings sample; /* period 0: all that is executed is modelled */
    uint32_t every;     /* 0: not given */
    bool redact;
    bool by_site;
    bool summary_given;
    enum hotlist_kind summary;
};

/* Before the carrier is settled: a module observes instructions, so it needs a carrier that runs
 * them. */
bool record_values_settle(struct record_values *v, struct record_engine *engine, struct err *e);

/* What loads are judged by, if they are: measured here, before anything runs that would disturb it,
 * where nothing is remembered. */
bool record_values_calibrate(const struct record_values *v,
                             const struct recording_callbacks *callbacks, struct err *e);

/* Starts the module's process, and sets what it wants and the user did not say. */
bool record_values_start(const struct record_values *v, struct record_host *host,
                         const struct record_engine *engine, struct record_spool *spool,
                         uint32_t carrier, struct burst_settings *burst,
                         struct shadow_settings *shadow, struct value_settings *values,
                         const struct recording_callbacks *callbacks, struct err *e);

#endif
