/* The process that a module runs in: empties the program's rings of tuples, calls the module, keeps
 * hotlists of what it emits.
 *
 *     spool                             host                                      spool
 *     rings ──> host_rings.c: sequences, ──> module ──> penumbra_emit ──> host_table.c: hotlists
 *               items by host_insn.c                          │
 *                                               host_places.c: addresses to image + offset, or
 *                                               (redacted) to hashes and kinds of memory
 *
 * All that is shared with others is mapped read-only here but for what the host writes: the rings'
 * tails, the spool's header and its own records. A module that writes where it should not is ended
 * by that.
 *
 * Context: one thread of a process of its own, forked before the program is started.
 * Ownership: a struct penumbra_host lives as long as its process. */
#ifndef PENUMBRA_MODULES_HOST_H
#define PENUMBRA_MODULES_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "penumbra/module.h"
#include "profile/spool_values.h"
#include "sigsafe/settings.h"
#include "sigsafe/tuples.h"

struct machine; /* model/machine.h */

struct host_options {
    enum hotlist_kind summary;
    bool redact;
    bool by_site;  /* values that the module tells apart by nothing are told apart by call site */
    uint64_t seed; /* of all chance */
    const struct machine *machine; /* of the module `simulate`; NULL: none was asked for */
    const char *machine_name;
    bool productions;   /* the model runs those of the settings, and keeps what they find */
    bool dise_original; /* by DISE without conditional control */
    uint16_t registers; /* general registers that they keep */
    struct sample_settings sample;
};

struct penumbra_host;

/* Writes what the module wants (capture table, kinds) into the spool, and has it begin. *capture:
 * the table. NULL: *e says what is wrong with the module, or that the spool is full. */
struct penumbra_host *host_new(const struct spool *s, const struct penumbra_module *module,
                               const struct host_options *options, spool_ref *capture,
                               struct err *e);
void host_free(struct penumbra_host *host);

/* Whether it is a module, of this version, that can be used. */
bool host_check_module(const struct penumbra_module *module, const char *name, struct err *e);

/* Lets the module see all that is published now. True: there was something. */
bool host_drain(struct penumbra_host *host);

/* Drains until it is told to finish and nothing is left; lets the module end, and write its
 * values. */
void host_run(struct penumbra_host *host);

/* From now on nothing of the spool can be written that is not the host's. */
void host_protect(struct penumbra_host *host);

struct spool_values *host_values(struct penumbra_host *host);

#endif
