/* What was observed: one list in a profile, with an entry for each kind of observation.
 *
 *      profile.observations   kind      carrier   tools           how        record
 *                             code      exact     blocks,streams  exact  ──> struct profile_counts
 *                             streams   exact     streams         exact  ──> struct profile_streams
 *                             values    burst     latency         sampled ─> struct profile_values
 *
 * Observations of other carriers or tools are in other parts of the file (parts.h).
 *
 * Invariants: entries are in the order of their kinds, and there is one of a kind at most. All are
 * of the carrier and of members of the tool set that `code` names; without `code` neither is known.
 * `how` says whether the record holds all there was: under `exact` it does, unless the record
 * itself says that it is a sample. Trees are no entry: metrics (metrics.h) say how they came to be;
 * but where nodes count all calls, `calls` says so, without a record.
 *
 * What a record holds, it holds for sites: a block, an edge, an access ... `profile_sites` visits
 * those of all records.
 *
 * Context: ordinary code.
 * Ownership: a struct profile owns the records. */
#ifndef PENUMBRA_PROFILE_OBSERVATIONS_H
#define PENUMBRA_PROFILE_OBSERVATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/tools.h"

struct profile;

/* X(enumerator, name). Those of tools' tables follow, a kind each, with the tool's name. */
#define OBSERVATION_KINDS(X)                                                                       \
    X(OBSERVED_CODE, "code")       /* struct profile_counts: blocks, edges, the engine's figures */ \
    X(OBSERVED_CALLS, "calls")     /* no record: nodes of trees */                                 \
    X(OBSERVED_VALUES, "values")   /* struct profile_values: hotlists */                           \
    X(OBSERVED_SHADOWS, "shadows") /* struct profile_shadows: what became of them */

#define OBSERVATION_ENUMERATOR(id, name) id,
enum observation_kind {
    OBSERVATION_KINDS(OBSERVATION_ENUMERATOR) OBSERVED_TABLES, /* + enum tool_table */
    OBSERVATION_KIND_COUNT = (unsigned)OBSERVED_TABLES + (unsigned)TABLE_COUNT
};
#undef OBSERVATION_ENUMERATOR

enum observation_how { OBSERVED_SAMPLED, OBSERVED_EXACT };

struct profile_observation {
    uint32_t kind;    /* enum observation_kind */
    uint32_t carrier; /* enum carrier_kind; CARRIER_KIND_COUNT: one that is not known here */
    uint64_t tools;   /* who observed it (sigsafe/tools.h); 0: one is not known here */
    enum observation_how how;
    void *record; /* of the kind's type */
};

struct observations {
    struct profile_observation list[OBSERVATION_KIND_COUNT];
    uint32_t count;
};

static inline const struct profile_observation *observation_of(const struct observations *o,
                                                               uint32_t kind)
{
    for (uint32_t i = 0; i < o->count; i++)
        if (o->list[i].kind == kind)
            return &o->list[i];
    return NULL;
}

/* The record of the kind; NULL: it was not observed, or has none. */
static inline void *observation_record(const struct observations *o, uint32_t kind)
{
    const struct profile_observation *of = observation_of(o, kind);
    return of ? of->record : NULL;
}

/* Adds a record, which is the profile's from then on, of a kind that it does not have. `code` comes
 * before all others. */
void profile_observe(struct profile *p, uint32_t kind, void *record);
/* Removes it from the profile: it is the caller's. NULL: there is none. With `code` goes what has
 * no record. */
void *profile_observation_take(struct profile *p, uint32_t kind);
/* Says of each how it was observed, as its record is now. */
void profile_observations_judge(struct profile *p);
void profile_observations_free(struct profile *p);

/* "code", "values", "streams", ...; "?" out of range. */
const char *profile_observation_name(uint32_t kind);
const char *profile_observation_how_name(enum observation_how how);

/* What kind of place a record has something for. */
enum site_kind {
    SITE_BLOCK,       /* its first instruction */
    SITE_EDGE,        /* the instruction that transfers control, and where it goes */
    SITE_INSTRUCTION, /* that has values; and what they are kept apart by, if anything */
    SITE_ACCESS,      /* the instruction that loads or stores */
    SITE_PAIR,        /* an access, and the one that makes it vain */
    SITE_CALL,        /* of a call path */
    SITE_EVENT,       /* entities; a callee's code may be the second */
    SITE_PRODUCTION,  /* of up to two values, those that are places; perhaps none */
};

/* A place of code in a record: to be renumbered, or named. */
struct site_place {
    uint32_t *image, *process; /* as in struct profile_place */
    uint64_t offset;
};

struct profile_site {
    enum site_kind kind;
    uint32_t count; /* of its places: 2 at most */
    struct site_place of[2];
};

/* Calls visit() with each site of all records, or those of one kind, until it returns false;
 * returns what it returned. Images are session numbers until all of a spool has been read. */
typedef bool site_visitor(void *data, const struct profile_site *site);
bool profile_sites(const struct profile *p, site_visitor *visit, void *data);
bool profile_sites_of(const struct profile_observation *o, site_visitor *visit, void *data);

#endif
