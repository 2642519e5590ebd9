/* What compilers are fed: how often places of the source were executed.
 *
 *     function `main`, head 1, total 420
 *         line 3 (from its declaration on)      count 100   calls: parse 70, print 30
 *         line 7, discriminator 2               count 20
 *         `leaf`, inlined at line 9, total 300
 *             line 1                            count 300
 *
 * A place's count is the greatest of the counts of its instructions. Instructions are counted by
 * transfers of control (export/transfers.h); without them each sample counts one.
 *
 * Context: ordinary code. Safe on any profile and any image file.
 * Ownership: the lists are there while `put` runs. */
#ifndef PENUMBRA_EXPORT_SOURCE_PROFILE_H
#define PENUMBRA_EXPORT_SOURCE_PROFILE_H

#include "export/export.h"
#include "export/intern.h"
#include "export/transfers.h"

#define SOURCE_NONE UINT32_MAX

/* A function, or one call of it that was inlined. */
struct source_function {
    uint32_t id, name;
    uint32_t parent;              /* the id of what it is inlined into; SOURCE_NONE */
    uint32_t line, discriminator; /* where, there */
    uint64_t total;               /* of its lines, and of what is inlined into it */
    uint64_t head;                /* calls from elsewhere; not inlined */
};

struct source_line {
    uint32_t id;
    uint32_t function; /* an id */
    uint32_t line, discriminator;
    uint64_t count;
};

struct source_target {
    uint32_t line, name; /* an id; the function that is called */
    bool indirect;
    uint64_t count;
};

struct source_profile {
    struct intern names;
    struct source_function *functions; /* by (parent, line, discriminator, name) */
    struct source_line *lines;         /* by (function, line, discriminator) */
    struct source_target *targets;     /* by line, the most called first */
    uint32_t function_count, line_count, target_count;
    uint64_t counted, placed; /* executions of instructions: all; those of a place */
    bool of_samples;          /* they are samples */
};

/* What a function's parent is: what it is inlined into, or any caller, as far as the call paths of
 * samples tell. */
enum source_scope { SOURCE_FUNCTIONS, SOURCE_CONTEXTS };

/* An export of it: `put` writes it. False of `put`: without memory. */
bool source_profile_export(const struct profile *p, const struct export_options *options,
                           enum source_scope scope,
                           bool (*put)(struct buf *out, struct source_profile *s), struct buf *out,
                           struct export_result *result, struct err *e);

/* Parts of the lists, which follow each other: what is inlined into a function (SOURCE_NONE: those
 * that are not inlined), its lines, the calls of a line. NULL: there are none. */
const struct source_function *source_inlined(const struct source_profile *s, uint32_t function,
                                             uint32_t *count);
const struct source_line *source_lines(const struct source_profile *s, uint32_t function,
                                       uint32_t *count);
const struct source_target *source_targets(const struct source_profile *s, uint32_t line,
                                           uint32_t *count);

static inline const char *source_name(const struct source_profile *s, uint32_t name)
{
    return intern_key(&s->names, name);
}

#endif
