/* Where loads come from, and which stores they conflict with: the tables of the modules whose kinds
 * have the roles of latency and conflict (include/penumbra/module.h).
 *
 * Context: ordinary code. Values of a hostile file may be anything.
 * Ownership: loads_free releases a table; it borrows the view. */
#ifndef PENUMBRA_REPORT_LOADS_H
#define PENUMBRA_REPORT_LOADS_H

#include "report/json.h"
#include "report/report.h"

enum { LOAD_LEVELS_MAX = 32 };

/* image: as in profile_block. */
struct load_place {
    uint32_t image, process;
    uint64_t offset;
};

struct load {
    struct load_place at;
    uint64_t observed;
    double p;           /* the smallest probability with which one was kept */
    uint32_t kept;      /* different levels */
    double share[LOAD_LEVELS_MAX]; /* by number of the level's name, of all observed */
    double ticks;       /* that they took in all, as far as levels tell; 0: not known */
};

struct load_conflict {
    struct load_place store, load;
    uint32_t kind; /* index into the profile's kinds */
    double count;  /* estimated */
};

struct loads {
    const struct view *view;
    char *const *level_names;
    uint32_t level_count;
    struct load *loads;       /* by ticks, then by how often they were observed */
    uint32_t load_count;
    struct load_conflict *conflicts; /* by count */
    uint32_t conflict_count;
};

/* Empty if the profile has none. NULL: no memory. */
struct loads *loads_of(const struct view *v, struct err *e);
void loads_free(struct loads *l);

/* Whether the profile's module observes loads or conflicts, whether it has found any or not. */
bool loads_were_asked_for(const struct view *v);

/* Tables of both, or that none was found. Only if there are values. */
bool loads_tables(FILE *out, const struct view *v, const struct report_style *style, struct err *e);

/* Members "loads" and "conflicts", where the profile has values of these. */
bool loads_json(struct json *j, const struct view *v, struct err *e);

#endif
