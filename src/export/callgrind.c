#include "export/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/intern.h"
#include "export/stack.h"
#include "export/text.h"

/* A calling context tree becomes a call graph here: costs by (function, line), and calls by
 * (function, line, callee) with the inclusive cost of the callee.
 *
 * The inclusive cost of a call is counted only where the callee is not active already, further
 * out on the same path. So the calls into a function add up to its inclusive cost, recursive or
 * not, and nothing adds up to more than everything. A call that re-enters is still shown, with
 * cost 0. */
struct callgrind {
    const struct profile *profile;
    const struct symbols *symbols;
    struct intern strings[3];  /* by enum: what name compression numbers */
    struct intern functions;   /* struct function_key; sums: SUM_ACTIVE, SUM_INCOMING */
    struct intern costs;       /* struct cost_key; sum 0: weighted samples */
    struct intern calls;       /* struct call_key; sums: SUM_INCLUSIVE, SUM_CALLS */
    struct buf stack;          /* struct activation: the functions active, outermost first */
    bool *written[3];          /* by string: its name was written in full already */
};

enum { STRING_OBJECT, STRING_FILE, STRING_FUNCTION };
enum { SUM_ACTIVE = 0, SUM_INCOMING = 1 };
enum { SUM_INCLUSIVE = 0, SUM_CALLS = 1 };

struct function_key {
    uint32_t object, file, name;
};

struct cost_key {
    uint32_t function, line;
};

struct call_key {
    uint32_t function, line, callee;
};

struct activation {
    uint32_t function;
    uint32_t line; /* of the call, or of the self cost, in it */
};

/* Keys are compared as bytes: no padding. */
_Static_assert(sizeof(struct function_key) == 12, "padding in a key");
_Static_assert(sizeof(struct cost_key) == 8, "padding in a key");
_Static_assert(sizeof(struct call_key) == 12, "padding in a key");

static uint32_t function_number(struct callgrind *w, const char *object,
                                const struct symbol_frame *frame)
{
    struct function_key key = {
        .object = intern_add_string(&w->strings[STRING_OBJECT], object),
        .file = intern_add_string(&w->strings[STRING_FILE], *frame->file ? frame->file : "???"),
        .name = intern_add_string(&w->strings[STRING_FUNCTION], frame->function),
    };
    return intern_add(&w->functions, &key, sizeof key);
}

static bool tables_ok(const struct callgrind *w)
{
    return intern_ok(&w->strings[0]) && intern_ok(&w->strings[1]) && intern_ok(&w->strings[2]) &&
           intern_ok(&w->functions) && intern_ok(&w->costs) && intern_ok(&w->calls) &&
           buf_ok(&w->stack);
}

static struct activation *stack_top(struct callgrind *w)
{
    return w->stack.size ? (struct activation *)(void *)(w->stack.data + w->stack.size) - 1 : NULL;
}

static void stack_pop_to(struct callgrind *w, size_t size)
{
    while (w->stack.size > size) {
        w->functions.entries[stack_top(w)->function].sum[SUM_ACTIVE]--;
        w->stack.size -= sizeof(struct activation);
    }
}

/* Enters one frame below the top of the stack, at an inclusive cost. */
static bool frame_enter(struct callgrind *w, const char *object, const struct symbol_frame *frame,
                        uint64_t inclusive, uint64_t calls)
{
    struct activation now = {.function = function_number(w, object, frame), .line = frame->line};
    const struct activation *caller = stack_top(w);
    if (!tables_ok(w))
        return false;
    struct intern_entry *function = &w->functions.entries[now.function];
    if (caller) {
        struct call_key key = {caller->function, caller->line, now.function};
        uint32_t number = intern_add(&w->calls, &key, sizeof key);
        if (!tables_ok(w))
            return false;
        if (!function->sum[SUM_ACTIVE]) {
            w->calls.entries[number].sum[SUM_INCLUSIVE] += inclusive;
            function->sum[SUM_INCOMING] += inclusive;
        }
        w->calls.entries[number].sum[SUM_CALLS] += calls;
    }
    function->sum[SUM_ACTIVE]++;
    buf_put(&w->stack, &now, sizeof now);
    return buf_ok(&w->stack);
}

static bool node_enter(struct callgrind *w, const struct profile_thread *t, uint32_t node,
                       uint64_t inclusive)
{
    const struct profile_node *n = &t->nodes[node];
    const char *object = stack_image_name(w->symbols, n);
    if (n->image < w->profile->image_count && *w->profile->images[n->image].path)
        object = w->profile->images[n->image].path;
    struct symbol_location at = stack_frames(w->profile, w->symbols, t, node);
    for (uint32_t i = at.count; i-- > 0;)
        if (!frame_enter(w, object, &at.frames[i], inclusive, i + 1 == at.count ? n->calls : 0))
            return false;
    if (!n->self)
        return true;
    struct cost_key key = {stack_top(w)->function, stack_top(w)->line};
    uint32_t number = intern_add(&w->costs, &key, sizeof key);
    if (!tables_ok(w))
        return false;
    w->costs.entries[number].sum[0] += n->self;
    return true;
}

/* By node: the weighted samples of its subtree. */
static uint64_t *inclusive_build(const struct profile_thread *t)
{
    uint64_t *inclusive = calloc(t->node_count + 1u, sizeof *inclusive);
    for (uint32_t i = t->node_count; inclusive && i-- > 0;) {
        inclusive[i] += t->nodes[i].self;
        if (i)
            inclusive[t->nodes[i].parent] += inclusive[i];
    }
    return inclusive;
}

static bool add_thread(struct callgrind *w, const struct profile_thread *t,
                       struct export_result *result)
{
    struct stack_walk walk = {0};
    uint64_t *inclusive = inclusive_build(t);
    size_t *marks = calloc(t->node_count + 1u, sizeof *marks); /* by depth: stack size before it */
    bool ok = inclusive && marks && stack_walk_init(&walk, t);
    while (ok && stack_walk_next(&walk)) {
        const struct profile_node *n = &t->nodes[walk.node];
        /* marks[d + 1] was set when the current ancestor at depth d was entered. */
        stack_pop_to(w, marks[walk.length]);
        if (walk.length || n->self)
            ok = node_enter(w, t, walk.node, inclusive[walk.node]);
        if (!walk.length) /* the root calls nobody: its children are the outermost functions */
            stack_pop_to(w, 0);
        marks[walk.length + 1] = w->stack.size;
        result->samples += n->self;
    }
    stack_pop_to(w, 0);
    stack_walk_fini(&walk);
    free(marks);
    free(inclusive);
    return ok;
}

/* A line of the output: a cost or a call, sorted by function and line. */
struct row {
    uint32_t function, line;
    uint32_t callee; /* of a call; UINT32_MAX: a cost */
    uint32_t number; /* in costs or calls */
};

static int row_compare(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    /* Costs first: UINT32_MAX + 1 is 0. */
    uint32_t i = x->callee + 1, j = y->callee + 1;
    return i < j ? -1 : i > j;
}

static struct row *rows_build(const struct callgrind *w, size_t *count)
{
    *count = (size_t)w->costs.count + w->calls.count;
    struct row *rows = malloc((*count + 1) * sizeof *rows);
    if (!rows)
        return NULL;
    for (uint32_t i = 0; i < w->costs.count; i++) {
        const struct cost_key *key = intern_key(&w->costs, i);
        rows[i] = (struct row){key->function, key->line, UINT32_MAX, i};
    }
    for (uint32_t i = 0; i < w->calls.count; i++) {
        const struct call_key *key = intern_key(&w->calls, i);
        rows[w->costs.count + i] = (struct row){key->function, key->line, key->callee, i};
    }
    qsort(rows, *count, sizeof *rows, row_compare);
    return rows;
}

/* "fn=(3) name" the first time, "fn=(3)" after that. */
static void put_named(struct callgrind *w, struct buf *out, const char *key, unsigned kind,
                      uint32_t string)
{
    buf_printf(out, "%s=(%" PRIu32 ")", key, string + 1);
    if (!w->written[kind][string]) {
        w->written[kind][string] = true;
        buf_put_u8(out, ' ');
        for (const char *s = intern_key(&w->strings[kind], string); *s; s++)
            buf_put_u8(out, (unsigned char)*s < 0x20 ? ' ' : (uint8_t)*s);
    }
    buf_put_u8(out, '\n');
}

static void put_costs(const struct callgrind *w, struct buf *out, uint64_t samples)
{
    buf_printf(out, "%" PRIu64, samples);
    if (export_is_time(w->profile))
        buf_printf(out, " %" PRIu64, samples * w->profile->metrics[0].period);
    buf_put_u8(out, '\n');
}

static void put_function(struct callgrind *w, struct buf *out, uint32_t function, bool called)
{
    const struct function_key *key = intern_key(&w->functions, function);
    put_named(w, out, called ? "cob" : "ob", STRING_OBJECT, key->object);
    put_named(w, out, called ? "cfi" : "fl", STRING_FILE, key->file);
    put_named(w, out, called ? "cfn" : "fn", STRING_FUNCTION, key->name);
}

static void put_call(struct callgrind *w, struct buf *out, const struct row *row)
{
    const struct intern_entry *entry = &w->calls.entries[row->number];
    /* A re-entered function without a caller from outside: to readers, calls with cost 0 would be
     * all there is to its inclusive cost. */
    if (!w->functions.entries[row->callee].sum[SUM_INCOMING])
        return;
    put_function(w, out, row->callee, true);
    uint64_t calls = entry->sum[SUM_CALLS] ? entry->sum[SUM_CALLS] : 1;
    buf_printf(out, "calls=%" PRIu64 " 0\n%" PRIu32 " ", calls, row->line);
    put_costs(w, out, entry->sum[SUM_INCLUSIVE]);
}

static void put_text_line(struct buf *out, const char *key, const char *text)
{
    buf_printf(out, "%s: ", key);
    for (; *text; text++)
        buf_put_u8(out, (unsigned char)*text < 0x20 ? ' ' : (uint8_t)*text);
    buf_put_u8(out, '\n');
}

static void put_header(const struct callgrind *w, struct buf *out)
{
    const struct profile *p = w->profile;
    struct profile_totals totals;
    /* profile_blocks_as_samples */
    const struct profile_metric *metric = &p->metrics[0];
    bool of_blocks = observed_code(p) && observed_code(p)->block_count && metric->period == 1 &&
                     !strcmp(metric->trigger, "instructions");
    profile_totals(p, &totals);
    buf_puts(out, "# callgrind format\nversion: 1\ncreator: penumbra\n");
    if (p->process_count == 1)
        buf_printf(out, "pid: %" PRId32 "\n", p->processes[0].pid);
    put_text_line(out, "cmd", p->command);
    put_text_line(out, "desc: Trigger", p->metrics[0].trigger);
    buf_printf(out, "desc: Period: %" PRIu64 " %s\n", p->metrics[0].period, p->metrics[0].unit);
    buf_printf(out, "desc: Samples dropped: %" PRIu64 "\n", totals.dropped_all);
    buf_printf(out, "desc: Stacks incomplete: %" PRIu64 "\n", totals.truncated_all);
    buf_printf(out, "positions: line\nevent: %s\n",
               of_blocks ? "Ir : Instructions executed" : "Samples : Samples taken");
    if (of_blocks)
        buf_puts(out, "events: Ir\n");
    else if (export_is_time(p))
        buf_puts(out, "event: Ns : Nanoseconds (samples times period)\nevents: Samples Ns\n");
    else
        buf_puts(out, "events: Samples\n");
}

static bool put_graph(struct callgrind *w, struct buf *out, uint64_t samples)
{
    size_t count;
    struct row *rows = rows_build(w, &count);
    bool ok = rows != NULL;
    for (unsigned i = 0; i < 3; i++) {
        w->written[i] = calloc(w->strings[i].count + 1u, sizeof(bool));
        ok = ok && w->written[i];
    }
    if (ok) {
        put_header(w, out);
        buf_puts(out, "summary: ");
        put_costs(w, out, samples);
        for (size_t i = 0; i < count; i++) {
            if (i == 0 || rows[i].function != rows[i - 1].function) {
                buf_put_u8(out, '\n');
                put_function(w, out, rows[i].function, false);
            }
            if (rows[i].callee != UINT32_MAX) {
                put_call(w, out, &rows[i]);
            } else {
                buf_printf(out, "%" PRIu32 " ", rows[i].line);
                put_costs(w, out, w->costs.entries[rows[i].number].sum[0]);
            }
        }
        buf_puts(out, "\ntotals: ");
        put_costs(w, out, samples);
    }
    for (unsigned i = 0; i < 3; i++)
        free(w->written[i]);
    free(rows);
    return ok && buf_ok(out);
}

bool export_callgrind(const struct profile *p, const struct symbols *s,
                      const struct export_options *options, struct buf *out,
                      struct export_result *result, struct err *e)
{
    (void)options; /* nothing here grows with the depth of a stack */
    struct callgrind w = {.profile = p, .symbols = s};
    *result = (struct export_result){0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < p->thread_count; i++)
        ok = add_thread(&w, &p->threads[i], result);
    ok = ok && tables_ok(&w) && put_graph(&w, out, result->samples);
    for (unsigned i = 0; i < 3; i++)
        intern_fini(&w.strings[i]);
    intern_fini(&w.functions);
    intern_fini(&w.costs);
    intern_fini(&w.calls);
    buf_free(&w.stack);
    text_clean_buffer(out);
    return (ok && buf_ok(out)) ||
           err_set(e, ERR_INTERNAL, "writing the callgrind profile: out of memory");
}
