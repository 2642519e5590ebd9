#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/calls.h"
#include "report/ci.h"
#include "profile/coverage.h"
#include "profile/parts.h"
#include "profile/phases.h"
#include "report/annotate.h"
#include "report/counted.h"
#include "report/json.h"
#include "report/loads.h"
#include "report/page_times.h"
#include "report/page_tree.h"
#include "report/table/view.h"
#include "report/timeline.h"
#include "report/ranks.h"
#include "report/shadowed.h"
#include "report/simulated.h"
#include "report/values.h"
#include "base/saturate.h"

static void write_lines(struct json *j, const char *key, const char *text)
{
    json_key(j, key);
    json_open(j, '[');
    while (*text) {
        size_t length = strcspn(text, "\n");
        char *line = strndup(text, length);
        if (length && line)
            json_string(j, line);
        j->out->failed |= !line;
        free(line);
        text += length + (text[length] == '\n');
    }
    json_close(j, ']');
}

/* Of the trigger: what its samples were. */
static void write_sampled(struct json *j, const struct profile *p, uint32_t trigger)
{
    struct profile_sampled s = profile_sampled_by(p, trigger);
    double weight = (double)s.weight;
    json_key_u64(j, "taken", s.taken);
    json_key_u64(j, "weight", s.weight);
    json_key(j, "effective_samples");
    json_double(j, s.weight_squares ? weight * weight / (double)s.weight_squares : 0);
    json_key_u64(j, "dropped", profile_sampled_dropped(&s));
}

static void write_metrics(struct json *j, const struct profile *p)
{
    json_key(j, "metrics");
    json_open(j, '[');
    for (uint32_t i = 0; i < p->metric_count; i++) {
        json_open(j, '{');
        json_key_string(j, "name", p->metrics[i].name);
        json_key_string(j, "trigger", p->metrics[i].trigger);
        json_key_string(j, "unit", p->metrics[i].unit);
        json_key_u64(j, "period", p->metrics[i].period);
        json_key_string(j, "how", metric_how_name(p->metrics[i].how));
        if (!observed_code(p))
            write_sampled(j, p, profile_trigger_of(p, i));
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void write_part(struct json *j, const struct part_key *key, bool shown)
{
    char name[PART_NAME_MAX];
    json_open(j, '{');
    json_key_string(j, "name", part_name(name, key));
    json_key_string(j, "carrier", key->carrier);
    json_key_string(j, "tool", key->tool);
    json_key_string(j, "how", profile_observation_how_name(key->how));
    json_key(j, "shown");
    json_bool(j, shown);
    json_close(j, '}');
}

/* The one that is shown, and what merging has kept apart from it. */
static void write_parts(struct json *j, const struct profile *p)
{
    struct part_key key = profile_key(p);
    json_key(j, "observed");
    json_open(j, '[');
    write_part(j, &key, true);
    for (uint32_t i = 0; i < p->part_count; i++) {
        key = profile_part_key(&p->parts[i]);
        write_part(j, &key, false);
    }
    json_close(j, ']');
}

static void write_recording(struct json *j, const struct view *v)
{
    const struct profile *p = v->profile;
    json_key_string(j, "command", p->command);
    json_key_string(j, "metric", p->metrics[v->metric].name);
    json_key_string(j, "trigger", p->metrics[0].trigger);
    json_key_string(j, "unit", p->metrics[0].unit);
    json_key_u64(j, "period", p->metrics[0].period);
    json_key(j, "randomized");
    json_bool(j, p->metrics[0].how == METRIC_RANDOMIZED);
    json_key(j, "exact");
    json_bool(j, profile_is_exact(p));
    write_parts(j, p);
    write_metrics(j, p);
    json_key_u64(j, "samples", v->samples);
    json_key_u64(j, "samples_all", v->samples_all);
    json_key(j, "effective_samples");
    json_double(j, v->effective);
    json_key_u64(j, "start_realtime_ns", p->start_realtime_ns);
    json_key_u64(j, "duration_ns", p->duration_ns);
    if (p->kept_from_ns)
        json_key_u64(j, "from_ns", p->kept_from_ns);
    json_key(j, "exit_status");
    json_i64(j, p->exit_status);
    json_key(j, "recovered");
    json_bool(j, p->recovered);
    json_key_string(j, "kernel", p->kernel);
    json_key_string(j, "cpu", p->cpu);
    json_key_u64(j, "cpus", p->cpus);
}

static void write_coverage(struct json *j, const struct profile *p, const struct profile_totals *t)
{
    struct profile_coverage c;
    if (!profile_coverage(p, t, &c))
        return;
    json_key(j, "coverage");
    json_open(j, '{');
    json_key_u64(j, "cpu_ns", (uint64_t)c.all_ns);
    json_key_u64(j, "early_ns", (uint64_t)c.early_ns);
    json_key_u64(j, "beyond_ns", (uint64_t)c.beyond_ns);
    json_key_double(j, "percent", 100 * c.sampled_ns / c.all_ns);
    json_key(j, "lacking");
    json_bool(j, c.lacking);
    json_close(j, '}');
}

static void write_losses(struct json *j, const struct view *v)
{
    const struct profile *p = v->profile;
    struct profile_totals t;
    profile_totals(p, &t);
    json_key_u64(j, "taken", t.taken);
    json_key(j, "dropped");
    json_open(j, '{');
    for (unsigned i = 0; i < DROP_COUNT; i++)
        json_key_u64(j, profile_drop_name(i), t.drops[i]);
    json_close(j, '}');
    json_key_u64(j, "truncated", t.truncated_all);
    json_key(j, "truncated_by_reason");
    json_open(j, '{');
    for (unsigned i = TRUNC_NONE + 1; i < TRUNC_COUNT; i++)
        json_key_u64(j, profile_truncation_name(i), t.truncated[i]);
    json_close(j, '}');
    json_key_u64(j, "guessed", t.guessed);
    json_key_u64(j, "cpu_ns", t.cpu_ns);
    write_coverage(j, p, &t);
    json_key(j, "overhead");
    json_open(j, '{');
    json_key_u64(j, "handler_ns", t.cost_ns);
    json_key_u64(j, "deliveries", t.deliveries);
    json_key_u64(j, "delivery_ns", t.deliveries ? t.delivered_ns / t.deliveries : 0);
    json_key_u64(j, "switches", t.switches);
    json_key_u64(j, "switched_ns", t.switched_ns);
    json_key_u64(j, "processes", p->begun.executed + p->begun.forked);
    json_key_u64(j, "processes_ns", t.begun_ns);
    double spent = profile_spent_ns(&t);
    json_key(j, "percent_of_cpu");
    json_double(j, t.cpu_ns && !t.sandboxed ? 100 * spent / (double)t.cpu_ns : NAN);
    json_close(j, '}');
    json_key(j, "left_out");
    json_open(j, '{');
    for (unsigned i = 0; i < LEFT_COUNT; i++)
        if (p->left.left_out[i])
            json_key_u64(j, profile_left_name(i), p->left.left_out[i]);
    json_close(j, '}');
    write_lines(j, "notes", p->notes);
    write_lines(j, "warnings", symbols_warnings(v->symbols));
}

static void write_processes(struct json *j, const struct profile *p)
{
    static const char *const ends[] = { [PROFILE_END_RUNNING] = "running",
                                        [PROFILE_END_EXEC] = "exec",
                                        [PROFILE_END_EXIT] = "exit",
                                        [PROFILE_END_KILLED] = "killed" };
    json_key(j, "processes");
    json_open(j, '[');
    for (uint32_t i = 0; i < p->process_count; i++) {
        const struct profile_process *process = &p->processes[i];
        json_open(j, '{');
        json_key(j, "pid");
        json_i64(j, process->pid);
        json_key(j, "ppid");
        json_i64(j, process->ppid);
        if (process->rank)
            json_key_u64(j, "rank", process->rank - 1);
        json_key_string(j, "name", process->name);
        json_key_string(j, "command", process->command);
        json_key_u64(j, "start_ns", process->start_ns);
        json_key_u64(j, "end_ns", process->end_ns);
        json_key_u64(j, "pauses", process->pauses);
        json_key_u64(j, "paused_ns", process->paused_ns);
        json_key_u64(j, "phases_refused", process->phases_refused);
        if (process->sandboxed) {
            json_key(j, "sandbox");
            json_open(j, '{');
            json_key_u64(j, "threads", process->sandbox_threads);
            json_key_u64(j, "processes", process->sandbox_processes);
            if (process->sandbox_silenced)
                json_key_u64(j, "silenced", process->sandbox_silenced);
            json_close(j, '}');
        }
        json_key_string(j, "end",
                        process->end <= PROFILE_END_KILLED ? ends[process->end] : "unknown");
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void write_threads(struct json *j, const struct view *v)
{
    const struct profile *p = v->profile;
    json_key(j, "threads");
    json_open(j, '[');
    for (uint32_t i = 0; i < p->thread_count; i++) {
        const struct profile_thread *t = &p->threads[i];
        uint64_t truncated = 0;
        for (unsigned r = TRUNC_NONE + 1; r < TRUNC_COUNT; r++)
            truncated = add_saturated(truncated, t->truncated[r]);
        json_open(j, '{');
        json_key(j, "tid");
        json_i64(j, t->tid);
        json_key(j, "pid");
        json_i64(j, t->process < p->process_count ? p->processes[t->process].pid : 0);
        json_key_string(j, "name", t->name);
        json_key_u64(j, "samples", t->weight);
        json_key_u64(j, "taken", t->taken);
        json_key_u64(j, "truncated", truncated);
        json_key_u64(j, "guessed", t->guessed);
        json_key_u64(j, "start_ns", t->start_ns);
        json_key_u64(j, "end_ns", t->end_ns);
        json_key_u64(j, "cpu_ns", t->cpu_ns);
        json_key_u64(j, "phase", t->phase);
        json_key(j, "shown");
        json_bool(j, v->threads_chosen[i]);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void write_interval(struct json *j, const struct view *v, const char *key, uint64_t weight)
{
    double samples = (double)v->samples;
    double n = v->samples_all ? v->effective * samples / (double)v->samples_all : 0;
    struct interval i = ci_wilson(samples > 0 ? (double)weight / samples : 0, n);
    json_key(j, key);
    json_open(j, '[');
    json_double(j, i.low);
    json_double(j, i.high);
    json_close(j, ']');
}

/* In weighted samples, with its interval; null where it is not known. */
static void write_cost(struct json *j, const struct view *v, uint64_t total, uint64_t calls)
{
    struct calls_cost cost = calls_cost(v, total, calls);
    json_key(j, "cost_per_call");
    if (!cost.known) {
        json_double(j, NAN);
        return;
    }
    json_open(j, '{');
    json_key(j, "samples");
    json_double(j, cost.samples);
    json_key(j, "interval");
    json_open(j, '[');
    json_double(j, cost.low);
    json_double(j, cost.high);
    json_close(j, ']');
    if (cost.all_high > 0 && !view_is_of_calls(v)) {
        json_key(j, "all_calls");
        json_open(j, '[');
        json_double(j, cost.all_low);
        json_double(j, cost.all_high);
        json_close(j, ']');
    }
    json_close(j, '}');
}

static void write_weights(struct json *j, const struct view *v, bool ci, uint64_t self,
                          uint64_t total, uint64_t calls)
{
    json_key_u64(j, "self", self);
    json_key_u64(j, "total", total);
    json_key_u64(j, "calls", calls);
    write_cost(j, v, total, calls);
    if (!ci)
        return;
    json_key(j, "ci");
    json_open(j, '{');
    write_interval(j, v, "self", self);
    write_interval(j, v, "total", total);
    json_close(j, '}');
}

/* In samples: of a function its own, of a node with all below it. */
static void write_heap(struct json *j, const struct view *v, const uint64_t *heap)
{
    if (!view_has_heap(v))
        return;
    json_key(j, "heap");
    json_open(j, '{');
    json_key_u64(j, "allocated", heap[HEAP_ALLOCATED]);
    json_key_u64(j, "live", heap[HEAP_LIVE]);
    json_key_u64(j, "peak", heap[HEAP_PEAK]);
    json_close(j, '}');
}

static void write_function(struct json *j, const struct view_function *f)
{
    char offset[32];
    snprintf(offset, sizeof offset, "0x%llx", (unsigned long long)f->start);
    json_key_string(j, "name", f->name);
    json_key_string(j, "image", f->image_name);
    json_key_string(j, "offset", offset);
    if (f->line) {
        json_key_string(j, "file", f->file);
        json_key_u64(j, "line", f->line);
    }
}

static void write_phases(struct json *j, const struct profile *p)
{
    json_key(j, "phases");
    json_open(j, '[');
    for (uint32_t i = 0; i < p->phase_count; i++) {
        char *path = profile_phase_path(p, i);
        uint64_t weight = 0;
        for (uint32_t k = 0; k < p->thread_count; k++)
            if (p->threads[k].phase == i + 1)
                weight = add_saturated(weight, p->threads[k].weight);
        json_open(j, '{');
        json_key_string(j, "name", p->phases[i].name);
        json_key_string(j, "path", path ? path : p->phases[i].name);
        json_key_u64(j, "begun", p->phases[i].begun);
        json_key_u64(j, "elapsed_ns", p->phases[i].elapsed_ns);
        json_key_u64(j, "samples", weight);
        json_close(j, '}');
        free(path);
    }
    json_close(j, ']');
}

static void write_ranks(struct json *j, const struct ranks *r, const struct rank_spread *s)
{
    if (!r || !r->count)
        return;
    json_key(j, "ranks");
    json_open(j, '{');
    json_key_u64(j, "min", s->min);
    json_key(j, "mean");
    json_double(j, rank_mean(r, s));
    json_key_u64(j, "max", s->max);
    json_key(j, "imbalance");
    json_double(j, rank_imbalance(r, s));
    json_key_u64(j, "slowest", s->slowest);
    json_close(j, '}');
}

static bool write_functions(struct json *j, const struct view *v,
                            const struct report_json_options *options, uint64_t min,
                            struct err *e)
{
    uint32_t count;
    uint32_t *order = view_order(v, &count, e);
    if (!order)
        return false;
    json_key(j, "functions");
    json_open(j, '[');
    for (uint32_t i = 0, shown = 0; i < count; i++) {
        const struct view_function *f = &v->functions[order[i]];
        if (f->total < min || (options->limit && shown++ >= options->limit))
            continue;
        json_open(j, '{');
        write_function(j, f);
        write_weights(j, v, options->ci, f->self, f->total, f->calls);
        write_heap(j, v, view_function_weights(v, f));
        simulated_json_weights(j, v, view_function_weights(v, f));
        write_ranks(j, options->ranks,
                    options->ranks ? &options->ranks->functions[order[i]] : NULL);
        json_close(j, '}');
    }
    json_close(j, ']');
    free(order);
    return true;
}

/* The node after `node` in the order of a walk from the root, below it only if `descend`; *up: how
 * many nodes that contain it are left on the way. No recursion: stacks are as deep as programs make
 * them. */
static uint32_t walk_next(const struct view_tree *t, uint32_t node, bool descend, uint32_t *up)
{
    *up = 0;
    if (descend)
        return t->nodes[node].first_child;
    while (node != VIEW_NONE && t->nodes[node].next_sibling == VIEW_NONE) {
        node = t->nodes[node].parent;
        *up += node != VIEW_NONE;
    }
    return node == VIEW_NONE ? VIEW_NONE : t->nodes[node].next_sibling;
}

static void write_node(struct json *j, const struct view *v,
                       const struct report_json_options *options, uint32_t node)
{
    const struct view_node *n = &v->tree.nodes[node];
    write_function(j, &v->functions[n->function]);
    if (n->inlined) {
        json_key(j, "inlined");
        json_bool(j, true);
    }
    write_weights(j, v, options->ci, n->self, n->total, n->calls);
    write_heap(j, v, view_tree_weights(&v->tree, node));
    simulated_json_weights(j, v, view_tree_weights(&v->tree, node));
    write_ranks(j, options->ranks, options->ranks ? &options->ranks->nodes[node] : NULL);
}

static bool is_shown(const struct view_tree *t, uint32_t node, uint64_t min)
{
    return node == 0 || t->nodes[node].total >= min;
}

static bool has_shown(const struct view_tree *t, uint32_t node,
                      const struct report_json_options *options)
{
    return t->nodes[node].first_child != VIEW_NONE && t->nodes[node].depth < options->depth;
}

struct limits {
    uint64_t min;
    uint32_t depth;
};

static bool is_within(const struct view *v, uint32_t node, const void *arg)
{
    const struct limits *limits = arg;
    return is_shown(&v->tree, node, limits->min) && v->tree.nodes[node].depth <= limits->depth;
}

static bool write_page_tree(struct json *j, const struct view *v,
                            const struct report_json_options *options, uint64_t min,
                            struct err *e)
{
    const struct limits limits = { min, options->depth };
    struct page_tree tree;
    bool ok = page_tree_make(&tree, v, is_within, &limits);
    if (ok)
        page_tree_write(j, &tree);
    ok = ok && page_times_write(j, &tree);
    page_tree_free(&tree);
    return ok || err_set(e, ERR_INTERNAL, "cannot write the page: out of memory");
}

static void write_nested(struct json *j, const struct view *v,
                         const struct report_json_options *options, uint64_t min)
{
    const struct view_tree *t = &v->tree;
    json_key(j, "tree");
    for (uint32_t node = 0, up; node != VIEW_NONE;) {
        bool shown = is_shown(t, node, min), descend = shown && has_shown(t, node, options);
        if (shown) {
            json_open(j, '{');
            write_node(j, v, options, node);
            json_key(j, "children");
            json_open(j, '[');
        }
        node = walk_next(t, node, descend, &up);
        for (up += shown && !descend; up; up--) {
            json_close(j, ']');
            json_close(j, '}');
        }
    }
}

/* The same nodes in the same order, each with its parent's place in the array. */
static bool write_nodes(struct json *j, const struct view *v,
                        const struct report_json_options *options, uint64_t min, struct err *e)
{
    const struct view_tree *t = &v->tree;
    uint32_t *places = calloc((size_t)t->count + 1, sizeof *places), count = 0;
    if (!places)
        return err_set(e, ERR_INTERNAL, "cannot write JSON: out of memory");
    json_key(j, "nodes");
    json_open(j, '[');
    for (uint32_t node = 0, up; node != VIEW_NONE;) {
        bool shown = is_shown(t, node, min), descend = shown && has_shown(t, node, options);
        if (shown) {
            json_open(j, '{');
            json_key(j, "parent");
            json_i64(j, node ? (int64_t)places[t->nodes[node].parent] : -1);
            write_node(j, v, options, node);
            json_close(j, '}');
            places[node] = count++;
        }
        node = walk_next(t, node, descend, &up);
    }
    json_close(j, ']');
    free(places);
    return true;
}

static bool write_tree(struct json *j, const struct view *v,
                       const struct report_json_options *options, uint64_t min, struct err *e)
{
    if (options->tree == JSON_TREE_OF_PAGE)
        return write_page_tree(j, v, options, min, e);
    if (options->tree == JSON_TREE_FLAT)
        return write_nodes(j, v, options, min, e);
    write_nested(j, v, options, min);
    return true;
}

static void write_annotated(struct json *j, const struct report_json_options *options)
{
    json_key(j, "annotated");
    json_open(j, '[');
    for (uint32_t i = 0; i < options->annotated_count; i++)
        annotation_json(j, options->annotated[i]);
    json_close(j, ']');
}

bool report_json(struct buf *out, const struct view *v,
                 const struct report_json_options *options, struct err *e)
{
    struct json j = { .out = out };
    uint64_t min = (uint64_t)ceil((double)v->samples * options->min / 100);
    min += !min && options->min > 0; /* nothing was sampled by this metric */
    json_open(&j, '{');
    write_recording(&j, v);
    write_losses(&j, v);
    write_processes(&j, v->profile);
    write_threads(&j, v);
    write_phases(&j, v->profile);
    if (options->timeline && !timeline_json(&j, v, e))
        return false;
    if (!write_functions(&j, v, options, min, e))
        return false;
    if (observed_code(v->profile))
        counted_json(&j, v, options->blocks);
    if (options->values && options->places_only)
        value_json_semi_invariant(&j, options->values);
    else if (options->values)
        value_json(&j, options->values, options->limit);
    if (!loads_json(&j, v, e))
        return false;
    tables_json(&j, v, options->tables);
    if (observed_shadows(v->profile))
        shadowed_json(&j, v);
    if (options->annotated_count)
        write_annotated(&j, options);
    if (!write_tree(&j, v, options, min, e))
        return false;
    json_close(&j, '}');
    buf_put_u8(out, '\n');
    return buf_ok(out) || err_set(e, ERR_INTERNAL, "cannot write JSON: out of memory");
}
