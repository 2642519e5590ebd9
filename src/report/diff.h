/* Two recordings, or two groups of them: what changed, in which direction, and whether it is more
 * than chance (docs/diff.md).
 *
 * A value is a share of the weight of the mean recording before. So values of both sides have one
 * unit, whatever they are normalized by: those after are multiplied by the scale of their run.
 *
 * Context: ordinary code.
 * Ownership: diff_free releases a diff; it borrows the views. */
#ifndef PENUMBRA_REPORT_DIFF_H
#define PENUMBRA_REPORT_DIFF_H

#include "base/buf.h"
#include "report/diff_names.h"
#include "report/report.h"

/* The false discovery rate at which a difference is called significant. */
#define DIFF_RATE 0.05
/* Sampled in fewer samples on both sides together, nothing can be significant: it is no
 * comparison. */
enum { DIFF_SAMPLES_LEAST = 6 };

enum diff_normalize { DIFF_BY_TOTAL, DIFF_BY_TIME, DIFF_BY_INSTRUCTIONS, DIFF_BY_NONE,
                      DIFF_NORMALIZES };

/* "total", "time", "instructions", "none"; NULL out of range. */
const char *diff_normalize_name(unsigned by);

struct diff_change {
    double samples[DIFF_SIDES]; /* of all runs of the side, weighted */
    double value[DIFF_SIDES];   /* mean of the runs */
    double low, high;           /* 95% interval of the difference */
    double p, q;                /* NAN: too few samples to compare */
};

enum diff_weight { DIFF_SELF, DIFF_TOTAL, DIFF_WEIGHTS };

/* A function, or a calling context. */
struct diff_row {
    uint32_t function; /* index in diff.names.functions */
    uint32_t parent;   /* of a context: its caller's row, which is before it; else VIEW_NONE */
    struct diff_change change[DIFF_WEIGHTS];
};

struct diff_causes; /* report/diff_causes.h */

struct diff_rows {
    struct diff_row *list;
    struct diff_causes *causes; /* by row, of simulations; else NULL */
    uint32_t count;
};

struct diff {
    const struct diff_run *runs;
    uint32_t run_count, side_runs[DIFF_SIDES];
    double *scales; /* by run */
    /* One recording a side: how much more its rows differ than sampling explains, in units of its
     * variance; 1 at least, and 1 where runs tell their spread. */
    double dispersion;
    enum diff_normalize by;
    struct diff_names names;
    struct diff_rows functions, contexts; /* contexts[0] is the root */
    double scale[DIFF_SIDES]; /* mean of the side's runs: 1, before */
};

/* runs: those before first, one at least of each side. ERR_USAGE: they do not measure the same, or
 * lack what they are normalized by. */
struct diff *diff_build(const struct diff_run *runs, uint32_t count, enum diff_normalize by,
                        bool shapes, struct err *e);
void diff_free(struct diff *d);

/* The side's: runs before come first. */
static inline const struct diff_run *diff_last_run(const struct diff *d, unsigned side)
{
    return &d->runs[(side == DIFF_BEFORE ? d->side_runs[side] : d->run_count) - 1];
}

static inline bool diff_is_significant(const struct diff_change *c)
{
    return c->q <= DIFF_RATE;
}

static inline double diff_difference(const struct diff_change *c)
{
    return c->value[DIFF_AFTER] - c->value[DIFF_BEFORE];
}

/* Indexes of rows: the significant ones first, then by the greatest difference. To free(). */
uint32_t *diff_order(const struct diff_rows *rows, enum diff_weight weight, struct err *e);
/* "appeared", "gone", or "both", by all samples with it on the stack. */
const char *diff_presence(const struct diff_row *row);

/* ---- output ---- */

struct diff_text_options {
    const struct report_style *style;
    bool contexts; /* instead of functions */
    bool lines;    /* instead of functions, of simulations */
};

bool diff_text(FILE *out, const struct diff *d, const struct diff_text_options *options,
               struct err *e);
struct json;
/* A change as a member of an object. */
void diff_json_change(struct json *j, const char *key, const struct diff_change *c);
/* page: as the page reads it (diff_page.h). min: what is on the stack in a smaller share of both
 * sides is left out; 0: nothing. */
bool diff_json(struct buf *out, const struct diff *d, const char *const *files, bool page,
               double min, struct err *e);
/* Lines "outermost;...;innermost BEFORE AFTER", as difffolded.pl of FlameGraph writes them. */
bool diff_folded(struct buf *out, const struct diff *d, struct err *e);

#endif
