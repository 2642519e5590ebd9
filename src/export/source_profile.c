#include "export/source_profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "export/list.h"
#include "export/source_counts.h"
#include "export/transfers_internal.h"

enum {
    DEPTH_MAX = 128,  /* calls inlined into each other */
    CONTEXT_MAX = 32, /* functions of a calling context, before the last call */
};

/* Keys of the tables, without padding. */
struct function_key {
    uint32_t parent, name, line, discriminator;
};
struct line_key {
    uint32_t function, line, discriminator;
};
struct target_key {
    uint32_t line, name, indirect;
};
/* An instruction in a calling context. */
struct point_key {
    uint32_t line, copies;
    uint64_t address;
};

/* Sums: a function's total and head, a line's count, a target's count, a point's. */
struct making {
    struct source_profile *s;
    const struct binary *b;
    struct intern functions, lines, targets, points;
};

/* ---- places ---- */

/* Goes to the place of an instruction from that of its call ({ SOURCE_NONE }: it has none), and
 * enters what encloses it. Returns how many functions that were; 0: its place is not known. */
static uint32_t enter(struct making *m, uint64_t address, struct line_key *at, uint32_t *copies)
{
    struct source_site sites[DEPTH_MAX];
    uint32_t depth = code_sites(m->b->code, address, sites, DEPTH_MAX);
    for (uint32_t i = depth; i-- > 0;) {
        const struct function_key function = {
            at->function, intern_add_string(&m->s->names, sites[i].function), at->line,
            at->discriminator };
        uint32_t id = intern_add(&m->functions, &function, sizeof function);
        *at = (struct line_key){ id, sites[i].line, sites[i].discriminator };
    }
    if (depth)
        *copies = sites[0].copies;
    return depth;
}

/* The line that an instruction is of, entered with what encloses it. SOURCE_NONE: not known. */
static uint32_t line_of(struct making *m, uint64_t address, uint32_t *copies)
{
    struct line_key line = { .function = SOURCE_NONE };
    return enter(m, address, &line, copies) ? intern_add(&m->lines, &line, sizeof line)
                                            : SOURCE_NONE;
}

static void raise_line(struct making *m, uint32_t line, uint64_t count)
{
    uint64_t *most = m->lines.entries[line].sum;
    if (count > *most)
        *most = count;
}

static void add_instruction(struct making *m, const struct source_count *c)
{
    uint32_t copies, line = line_of(m, c->address, &copies);
    m->s->counted = add_saturated(m->s->counted, c->count);
    if (line == SOURCE_NONE || !intern_ok(&m->lines))
        return;
    m->s->placed = add_saturated(m->s->placed, c->count);
    raise_line(m, line, multiply_saturated(c->count, copies));
}

/* ---- calling contexts ---- */

/* Where a node of a tree is, and how many functions enclose it. */
struct context {
    struct line_key at;
    uint32_t depth;
};

static void add_sample(struct making *m, const struct context *c, uint64_t address,
                       uint64_t count, uint32_t copies)
{
    const struct point_key point = { intern_add(&m->lines, &c->at, sizeof c->at), copies,
                                     address };
    uint32_t id = intern_add(&m->points, &point, sizeof point);
    if (!intern_ok(&m->points))
        return;
    m->s->placed = add_saturated(m->s->placed, count);
    m->points.entries[id].sum[0] = add_saturated(m->points.entries[id].sum[0], count);
}

/* A context begins anew behind other programs' code, and where it would be too deep. */
static bool add_tree(struct making *m, const struct profile_thread *thread)
{
    struct context *contexts = calloc((size_t)thread->node_count + 1, sizeof *contexts);
    for (uint32_t i = 0; contexts && i < thread->node_count; i++) {
        const struct profile_node *node = &thread->nodes[i];
        struct context *c = &contexts[i];
        uint32_t copies = 1, entered = 0;
        if (i)
            *c = contexts[node->parent];
        if (!i || c->depth >= CONTEXT_MAX || !binary_has(m->b, node->image))
            *c = (struct context){ .at = { .function = SOURCE_NONE } };
        if (!binary_has(m->b, node->image))
            continue;
        m->s->counted = add_saturated(m->s->counted, node->self);
        entered = enter(m, node->offset, &c->at, &copies);
        c->depth += entered;
        if (!entered)
            *c = (struct context){ .at = { .function = SOURCE_NONE } };
        else if (node->self)
            add_sample(m, c, node->offset, node->self, copies);
    }
    bool ok = contexts;
    free(contexts);
    return ok;
}

static bool collect_contexts(struct making *m, struct buf *remarks, struct err *e)
{
    const struct profile *p = m->b->profile;
    struct profile_totals totals;
    profile_totals(p, &totals);
    if (!profile_has_samples(p, &totals))
        return err_set(e, ERR_USAGE, "%s has no sampled call paths: penumbra record, without "
                       "--tool, makes them", p->images[m->b->image].path);
    bool ok = true;
    for (uint32_t t = 0; ok && t < p->thread_count; t++)
        ok = add_tree(m, &p->threads[t]);
    for (uint32_t i = 0; i < m->points.count && intern_ok(&m->lines); i++) {
        const struct point_key *point = intern_key(&m->points, i);
        raise_line(m, point->line,
                   multiply_saturated(m->points.entries[i].sum[0], point->copies));
    }
    m->s->of_samples = true;
    buf_puts(remarks, "of samples, each of one instruction: calls are not counted\n");
    return (ok && intern_ok(&m->points)) ||
           err_set(e, ERR_INTERNAL, "cannot count calling contexts: out of memory");
}

/* ---- calls ---- */

/* The function that begins at an address, as the debug information names it; false if none does. */
static bool function_at(struct making *m, uint64_t address, uint32_t *name)
{
    struct source_site sites[DEPTH_MAX];
    struct code_function f;
    if (!code_symbol(m->b->code, address, &f) || f.start != address)
        return false;
    uint32_t depth = code_sites(m->b->code, address, sites, DEPTH_MAX);
    if (depth)
        *name = intern_add_string(&m->s->names, sites[depth - 1].function);
    return depth;
}

/* A branch to the beginning of a function is a call of it. */
static void add_call(struct making *m, const struct transfers *t, const struct transfer_branch *b)
{
    uint32_t name, copies, line;
    struct transfer_insn insn = { .kind = X86_ORDINARY };
    uint64_t target = transfers_behind_stub(t, m->b, b->to);
    if (target == TRANSFER_OUTSIDE || !function_at(m, target, &name))
        return;
    const struct function_key callee = { .parent = SOURCE_NONE, .name = name };
    uint32_t id = intern_add(&m->functions, &callee, sizeof callee);
    bool from_stub = b->from != TRANSFER_OUTSIDE && code_stub(m->b->code, b->from);
    if (intern_ok(&m->functions) && !from_stub)
        m->functions.entries[id].sum[1] = add_saturated(m->functions.entries[id].sum[1], b->count);
    if (b->from == TRANSFER_OUTSIDE || !transfers_insn(m->b, b->from, &insn))
        return;
    line = line_of(m, b->from, &copies);
    if (line == SOURCE_NONE)
        return;
    const struct target_key key = { line, name, !insn.target };
    uint32_t at = intern_add(&m->targets, &key, sizeof key);
    if (!intern_ok(&m->targets) || !intern_ok(&m->lines))
        return;
    m->targets.entries[at].sum[0] = add_saturated(m->targets.entries[at].sum[0], b->count);
    /* of a sample, the instruction may be in no range */
    if (m->lines.entries[line].sum[0] < b->count)
        m->lines.entries[line].sum[0] = b->count;
}

/* ---- the lists ---- */

static int compare_functions(const void *a, const void *b)
{
    const struct source_function *x = a, *y = b;
    int order = list_compare(x->parent, y->parent);
    if (!order)
        order = list_compare(x->line, y->line);
    if (!order)
        order = list_compare(x->discriminator, y->discriminator);
    return order ? order : list_compare(x->name, y->name);
}

static int compare_lines(const void *a, const void *b)
{
    const struct source_line *x = a, *y = b;
    int order = list_compare(x->function, y->function);
    if (!order)
        order = list_compare(x->line, y->line);
    return order ? order : list_compare(x->discriminator, y->discriminator);
}

static int compare_targets(const void *a, const void *b)
{
    const struct source_target *x = a, *y = b;
    int order = list_compare(x->line, y->line);
    if (!order)
        order = list_compare(y->count, x->count);
    return order ? order : list_compare(x->name, y->name);
}

/* What is inlined into a function has a greater id than that. */
static void add_totals(struct making *m)
{
    for (uint32_t i = 0; i < m->lines.count; i++) {
        const struct line_key *key = intern_key(&m->lines, i);
        uint64_t *total = m->functions.entries[key->function].sum;
        *total = add_saturated(*total, m->lines.entries[i].sum[0]);
    }
    for (uint32_t i = m->functions.count; i-- > 0;) {
        const struct function_key *key = intern_key(&m->functions, i);
        if (key->parent == SOURCE_NONE)
            continue;
        uint64_t *total = m->functions.entries[key->parent].sum;
        *total = add_saturated(*total, m->functions.entries[i].sum[0]);
    }
}

static bool make_lists(struct making *m)
{
    struct source_profile *s = m->s;
    s->functions = calloc((size_t)m->functions.count + 1, sizeof *s->functions);
    s->lines = calloc((size_t)m->lines.count + 1, sizeof *s->lines);
    s->targets = calloc((size_t)m->targets.count + 1, sizeof *s->targets);
    if (!s->functions || !s->lines || !s->targets)
        return false;
    for (uint32_t i = 0; i < m->functions.count; i++) {
        const struct function_key *k = intern_key(&m->functions, i);
        const uint64_t *sum = m->functions.entries[i].sum;
        if (sum[0] || sum[1])
            s->functions[s->function_count++] = (struct source_function){
                i, k->name, k->parent, k->line, k->discriminator, sum[0], sum[1] };
    }
    for (uint32_t i = 0; i < m->lines.count; i++) {
        const struct line_key *k = intern_key(&m->lines, i);
        if (m->lines.entries[i].sum[0])
            s->lines[s->line_count++] = (struct source_line){
                i, k->function, k->line, k->discriminator, m->lines.entries[i].sum[0] };
    }
    for (uint32_t i = 0; i < m->targets.count; i++) {
        const struct target_key *k = intern_key(&m->targets, i);
        s->targets[s->target_count++] = (struct source_target){
            k->line, k->name, k->indirect, m->targets.entries[i].sum[0] };
    }
    qsort(s->functions, s->function_count, sizeof *s->functions, compare_functions);
    qsort(s->lines, s->line_count, sizeof *s->lines, compare_lines);
    qsort(s->targets, s->target_count, sizeof *s->targets, compare_targets);
    return true;
}

/* ---- sources ---- */

static bool collect(struct making *m, struct buf *remarks, struct err *e)
{
    struct transfers t = { 0 };
    struct source_counts c = { 0 };
    struct profile_totals totals;
    profile_totals(m->b->profile, &totals);
    m->s->of_samples = !transfers_known(m->b->profile, true) && !observed_code(m->b->profile) &&
                       profile_has_samples(m->b->profile, &totals);
    if (m->s->of_samples) {
        source_counts_of_samples(&c, m->b);
        buf_puts(remarks, "of samples, each of one instruction: --tool edges sees branches and "
                 "calls, and short code, too\n");
    } else if (transfers_find(&t, m->b, true, e)) {
        source_counts_of_transfers(&c, m->b, &t);
        transfers_remark(&t, m->b, remarks);
    } else {
        return false;
    }
    for (uint32_t i = 0; i < c.count; i++)
        add_instruction(m, &c.list[i]);
    for (uint32_t i = 0; i < t.branch_count; i++)
        add_call(m, &t, &t.branches[i]);
    bool failed = c.failed;
    free(c.list);
    transfers_fini(&t);
    return !failed || err_set(e, ERR_INTERNAL, "cannot count places of the source: out of memory");
}

static void source_profile_fini(struct source_profile *s)
{
    intern_fini(&s->names);
    free(s->functions);
    free(s->lines);
    free(s->targets);
    *s = (struct source_profile){ 0 };
}

/* Sentences on what is in no list are appended to remarks. */
static bool source_profile_make(struct source_profile *s, const struct binary *b,
                                enum source_scope scope, struct buf *remarks, struct err *e)
{
    struct making m = { .s = s, .b = b };
    *s = (struct source_profile){ 0 };
    bool ok = scope == SOURCE_CONTEXTS ? collect_contexts(&m, remarks, e)
                                       : collect(&m, remarks, e);
    if (ok) {
        ok = intern_ok(&s->names) && intern_ok(&m.functions) && intern_ok(&m.lines) &&
             intern_ok(&m.targets);
        if (ok)
            add_totals(&m);
        ok = (ok && make_lists(&m)) ||
             err_set(e, ERR_INTERNAL, "cannot count places of the source: out of memory");
    }
    if (ok && s->placed < s->counted)
        buf_printf(remarks, "left out: %.1f%% of what was executed, in code whose source lines are "
                   "not known%s\n", 100 - 100.0 * (double)s->placed / (double)s->counted,
                   s->placed ? "" : " (compile with -g)");
    intern_fini(&m.functions);
    intern_fini(&m.lines);
    intern_fini(&m.targets);
    intern_fini(&m.points);
    if (!ok)
        source_profile_fini(s);
    return ok;
}

bool source_profile_export(const struct profile *p, const struct export_options *options,
                           enum source_scope scope,
                           bool (*put)(struct buf *out, struct source_profile *s), struct buf *out,
                           struct export_result *result, struct err *e)
{
    struct binary b;
    struct source_profile s;
    *result = (struct export_result){ 0 };
    if (!binary_open(&b, p, options->image, &result->remarks, e))
        return false;
    bool ok = source_profile_make(&s, &b, scope, &result->remarks, e);
    if (ok) {
        ok = put(out, &s) ||
             err_set(e, ERR_INTERNAL, "writing by places in the source: out of memory");
        buf_printf(&result->remarks, "of %s: %" PRIu64 " %s of %" PRIu32 " places\n",
                   p->images[b.image].path, s.placed,
                   s.of_samples ? "samples" : "executions of instructions", s.line_count);
        result->samples = s.placed;
        source_profile_fini(&s);
    }
    binary_close(&b);
    return ok;
}

/* ---- parts of the lists ---- */

/* The elements whose number at `key` bytes is `of`, of a list that is sorted by it. */
static const void *part(const void *list, uint32_t size, size_t each, size_t key, uint32_t of,
                        uint32_t *count)
{
    const char *at = list;
    uint32_t low = 0, high = size, end;
    uint32_t number;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        memcpy(&number, at + middle * each + key, sizeof number);
        if (number < of)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < size; end++) {
        memcpy(&number, at + end * each + key, sizeof number);
        if (number != of)
            break;
    }
    *count = end - low;
    return *count ? at + low * each : NULL;
}

const struct source_function *source_inlined(const struct source_profile *s, uint32_t function,
                                             uint32_t *count)
{
    return part(s->functions, s->function_count, sizeof *s->functions,
                offsetof(struct source_function, parent), function, count);
}

const struct source_line *source_lines(const struct source_profile *s, uint32_t function,
                                       uint32_t *count)
{
    return part(s->lines, s->line_count, sizeof *s->lines, offsetof(struct source_line, function),
                function, count);
}

const struct source_target *source_targets(const struct source_profile *s, uint32_t line,
                                           uint32_t *count)
{
    return part(s->targets, s->target_count, sizeof *s->targets,
                offsetof(struct source_target, line), line, count);
}
