/* The forms of a report. Text goes to a FILE, JSON (docs/json.md) to a buffer.
 *
 * Names in a profile may hold anything: text output shows control characters and malformed UTF-8 as
 * escapes like \x1b, so that a hostile profile cannot drive the terminal.
 *
 * Context: ordinary code.
 * Ownership: nothing is kept. Write errors are the caller's to check (ferror). */
#ifndef PENUMBRA_REPORT_REPORT_H
#define PENUMBRA_REPORT_REPORT_H

#include <stdio.h>

#include "base/buf.h"
#include "report/view.h"

struct report_style {
    bool colour;
    bool unicode; /* box lines; ASCII otherwise */
    bool ci;      /* 95% confidence intervals beside percentages */
    bool lines;   /* show file:line of functions that have one */
    /* all that is known of the recording above the views; else two lines, and what is wrong */
    bool verbose;
    /* views were asked for: notes and warnings, seen with the default ones, are counted only */
    bool chosen;
    bool no_fold; /* trees show each level of a recursion */
    bool full_names; /* of functions, however long */
    int width;    /* columns to cut lines to; 0: do not cut */
    double min;   /* percent: rows below are left out */
    uint32_t limit; /* rows of a flat table; 0: all */
    uint32_t depth; /* levels of a tree */
};

/* What was recorded, and what is wrong with it. With style->verbose also how: drops, truncated
 * stacks, cost. */
void report_header(FILE *out, const struct view *v, const struct report_style *style);
/* Functions by self. */
bool report_flat(FILE *out, const struct view *v, const struct report_style *style,
                 struct err *e);
/* A tree; title: one line above it. From the children of the root down. */
bool report_tree(FILE *out, const struct view *v, const struct view_tree *t, const char *title,
                 const struct report_style *style, struct err *e);
bool report_images(FILE *out, const struct view *v, const struct report_style *style,
                   struct err *e);
void report_threads(FILE *out, const struct view *v, const struct report_style *style);
void report_phases(FILE *out, const struct view *v, const struct report_style *style);
/* When threads were busy, and with which functions (report/timeline.h). */
bool report_timeline(FILE *out, const struct view *v, const struct report_style *style,
                     struct err *e);
void report_processes(FILE *out, const struct view *v, const struct report_style *style);

struct ranks;
struct annotation; /* report/annotate.h */
struct value_reader;

struct report_json_options {
    bool ci;
    enum report_json_tree {
        JSON_TREE_NESTED,
        JSON_TREE_FLAT,    /* an array of nodes */
        JSON_TREE_OF_PAGE, /* columns of numbers (report/page_tree.h), and when samples fell */
    } tree;
    double min;     /* percent; 0: the whole tree and all functions */
    uint32_t limit; /* functions; 0: all */
    uint32_t depth; /* levels of the tree; UINT32_MAX: all */
    const struct ranks *ranks; /* NULL: not compared (report/ranks.h) */
    uint32_t blocks; /* blocks, the hottest ones, and then no edges; 0: all of both */
    uint32_t tables; /* rows of tools' tables, the hottest ones; 0: all */
    struct annotation *const *annotated; /* functions shown instruction by instruction */
    uint32_t annotated_count;
    struct value_reader *values; /* NULL: none are shown (report/values.h) */
    bool timeline;    /* when samples fell (report/timeline.h) */
    bool places_only; /* of values only "semi_invariant": those beside code are in `annotated` */
};

bool report_json(struct buf *out, const struct view *v,
                 const struct report_json_options *options, struct err *e);

#endif
