#include "export/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/intern.h"
#include "export/moments.h"
#include "export/stack.h"
#include "penumbra/version.h"
#include "report/json.h"

/* The format asks for all of a stack in each sample, so stacks are told apart by their frames.
 * Frames are functions: speedscope would take two lines of a function for two of them. */
struct speedscope {
    const struct profile *profile;
    const struct symbols *symbols;
    const struct export_options *options;
    struct export_result *result;
    struct json json;
    struct intern frames; /* name, zero byte, file */
    struct intern stacks; /* uint32_t numbers of frames, outermost first; sums: enum stack_sum */
    struct buf key, one;
    uint32_t profiles;
};
enum stack_sum { STACK_WEIGHT, STACK_CUT };

/* The numbers of the frames on a walk's path. */
struct path {
    struct stack_walk walk;
    struct buf frames; /* uint32_t */
    size_t *ends;      /* by depth: bytes of frames down to there */
};

static uint32_t frame_number(struct speedscope *w, const char *name, const char *file)
{
    w->key.size = 0;
    buf_put(&w->key, name, strlen(name) + 1);
    buf_puts(&w->key, file);
    return intern_add(&w->frames, w->key.data, w->key.size);
}

static void put_number(struct buf *to, uint32_t number)
{
    buf_put(to, &number, sizeof number);
}

/* ---- stacks ---- */

static void path_fini(struct path *at)
{
    stack_walk_fini(&at->walk);
    buf_free(&at->frames);
    free(at->ends);
}

/* Where several processes are together, each has a frame of its own, outermost. */
static bool path_init(struct path *at, struct speedscope *w, const struct profile_thread *t)
{
    *at = (struct path){.ends = calloc((size_t)t->node_count + 1, sizeof *at->ends)};
    if (!stack_walk_init(&at->walk, t) || !at->ends)
        return false;
    const struct profile_process *process = stack_process(w->profile, t);
    if (!w->options->threads && w->profile->process_count > 1 && process)
        put_number(&at->frames,
                   frame_number(w, *process->name ? process->name : "[unnamed]", ""));
    at->ends[0] = at->frames.size;
    return true;
}

static bool path_next(struct path *at, struct speedscope *w)
{
    if (!stack_walk_next(&at->walk))
        return false;
    uint32_t depth = at->walk.length;
    if (!depth)
        return true;
    const struct profile_thread *t = at->walk.thread;
    const struct profile_node *n = &t->nodes[at->walk.node];
    struct symbol_location frames = stack_frames(w->profile, w->symbols, t, at->walk.node);
    at->frames.size = at->ends[depth - 1];
    for (uint32_t i = frames.count; i-- > 0;) {
        const char *file = frames.frames[i].file;
        put_number(&at->frames, frame_number(w, frames.frames[i].function,
                                             *file ? file : stack_image_name(w->symbols, n)));
    }
    at->ends[depth] = at->frames.size;
    return true;
}

static uint32_t path_stack(const struct path *at, struct speedscope *w)
{
    uint32_t length = at->walk.length;
    struct stack_cut cut = stack_cut_make(length, w->options->max_depth);
    w->one.size = 0;
    buf_put(&w->one, at->frames.data, at->ends[cut.head]);
    if (cut.cut) {
        size_t tail = at->ends[length - cut.tail];
        put_number(&w->one, frame_number(w, STACK_LEFT_OUT, ""));
        buf_put(&w->one, at->frames.data + tail, at->ends[length] - tail);
    }
    if (!length)
        put_number(&w->one, frame_number(w, "[unknown]", ""));
    uint32_t number = intern_add(&w->stacks, w->one.data, w->one.size);
    if (intern_ok(&w->stacks))
        w->stacks.entries[number].sum[STACK_CUT] = cut.cut;
    return number;
}

/* Adds the weights of a thread's stacks. stack_of: by node, or NULL. */
static bool add_stacks(struct speedscope *w, const struct profile_thread *t, uint32_t metric,
                       uint32_t *stack_of)
{
    struct path at;
    bool ok = path_init(&at, w, t);
    while (ok && path_next(&at, w)) {
        uint64_t weight = moment_weight(&t->nodes[at.walk.node], metric);
        if (!weight)
            continue;
        uint32_t number = path_stack(&at, w);
        ok = intern_ok(&w->stacks) && buf_ok(&w->one) && buf_ok(&at.frames);
        if (!ok)
            break;
        w->stacks.entries[number].sum[STACK_WEIGHT] += weight;
        w->result->shortened += !metric && w->stacks.entries[number].sum[STACK_CUT];
        w->result->samples += metric ? 0 : weight;
        if (stack_of)
            stack_of[at.walk.node] = number;
    }
    path_fini(&at);
    return ok;
}

/* ---- profiles ---- */

static void profile_open(struct speedscope *w, const char *name, uint32_t metric)
{
    const char *unit = w->profile->metrics[metric].unit;
    json_open(&w->json, '{');
    json_key_string(&w->json, "type", "sampled");
    json_key_string(&w->json, "name", name);
    json_key_string(&w->json, "unit", strcmp(unit, "events") ? unit : "none");
    json_key_u64(&w->json, "startValue", 0);
    w->profiles++;
}

static void put_stack(struct speedscope *w, uint32_t number)
{
    const uint32_t *frames = intern_key(&w->stacks, number);
    json_open(&w->json, '[');
    for (uint32_t i = 0; i < w->stacks.entries[number].size / sizeof *frames; i++)
        json_u64(&w->json, frames[i]);
    json_close(&w->json, ']');
}

static void put_whole(struct speedscope *w, uint32_t metric)
{
    uint64_t period = w->profile->metrics[metric].period, total = 0;
    profile_open(w, w->profile->metrics[metric].name, metric);
    json_key(&w->json, "samples");
    json_open(&w->json, '[');
    for (uint32_t i = 0; i < w->stacks.count; i++)
        put_stack(w, i);
    json_close(&w->json, ']');
    json_key(&w->json, "weights");
    json_open(&w->json, '[');
    for (uint32_t i = 0; i < w->stacks.count; i++) {
        uint64_t amount = w->stacks.entries[i].sum[STACK_WEIGHT] * period;
        total += amount;
        json_u64(&w->json, amount);
    }
    json_close(&w->json, ']');
    json_key_u64(&w->json, "endValue", total);
    json_close(&w->json, '}');
}

/* All threads together, by the tree. */
static bool put_metric(struct speedscope *w, uint32_t metric)
{
    const struct profile *p = w->profile;
    bool ok = true;
    intern_clear(&w->stacks);
    for (uint32_t i = 0; ok && i < p->thread_count; i++)
        ok = add_stacks(w, &p->threads[i], metric, NULL);
    if (ok && w->stacks.count)
        put_whole(w, metric);
    return ok;
}

static void put_moments(struct speedscope *w, const struct moments *m, uint32_t metric,
                        uint32_t *const *stacks)
{
    uint64_t period = w->profile->metrics[metric].period;
    json_key(&w->json, "samples");
    json_open(&w->json, '[');
    for (size_t i = 0; i < m->count; i++)
        put_stack(w, stacks[m->list[i].thread][m->list[i].node]);
    json_close(&w->json, ']');
    json_key(&w->json, "weights");
    json_open(&w->json, '[');
    for (size_t i = 0; i < m->count; i++)
        json_u64(&w->json, m->list[i].weight * period);
    json_close(&w->json, ']');
    json_key_u64(&w->json, "endValue", m->total * period);
    json_close(&w->json, '}');
}

static bool lane_name(struct buf *name, const struct profile *p, const struct profile_thread *t,
                      uint32_t metric)
{
    const struct profile_process *process = stack_process(p, t);
    name->size = 0;
    buf_printf(name, "%s-%" PRId32 "/%" PRId32, *t->name ? t->name : "[unnamed]",
               process ? process->pid : 0, t->tid);
    if (p->metric_count > 1)
        buf_printf(name, " %s", p->metrics[metric].name);
    buf_put_u8(name, 0);
    return buf_ok(name);
}

/* One thread, in the order of time. */
static bool put_lane(struct speedscope *w, const struct lanes *l, uint32_t lane, uint32_t metric,
                     struct moments *m)
{
    const struct profile *p = w->profile;
    struct buf name = {0};
    uint32_t **stacks = calloc((size_t)p->thread_count + 1, sizeof *stacks);
    bool ok = stacks && moments_of(m, p, l, lane, metric) &&
              lane_name(&name, p, &p->threads[l->first[lane]], metric);
    intern_clear(&w->stacks);
    for (uint32_t i = l->first[lane]; ok && i != LANE_END; i = l->next[i]) {
        stacks[i] = calloc((size_t)p->threads[i].node_count + 1, sizeof **stacks);
        ok = stacks[i] && add_stacks(w, &p->threads[i], metric, stacks[i]);
    }
    if (ok && m->count) {
        w->result->untimed += metric ? 0 : m->total - m->timed;
        profile_open(w, (const char *)name.data, metric);
        put_moments(w, m, metric, stacks);
    }
    for (uint32_t i = l->first[lane]; stacks && i != LANE_END; i = l->next[i])
        free(stacks[i]);
    free(stacks);
    buf_free(&name);
    return ok;
}

static bool put_lanes(struct speedscope *w)
{
    struct lanes lanes = {0};
    struct moments m = {0};
    bool ok = lanes_init(&lanes, w->profile);
    for (uint32_t i = 0; ok && i < lanes.count; i++)
        for (uint32_t metric = 0; ok && metric < w->profile->metric_count; metric++)
            ok = put_lane(w, &lanes, i, metric, &m);
    moments_fini(&m);
    lanes_fini(&lanes);
    return ok;
}

static void put_frames(struct speedscope *w)
{
    json_key(&w->json, "shared");
    json_open(&w->json, '{');
    json_key(&w->json, "frames");
    json_open(&w->json, '[');
    for (uint32_t i = 0; i < w->frames.count; i++) {
        const char *name = intern_key(&w->frames, i);
        const char *file = name + strlen(name) + 1;
        json_open(&w->json, '{');
        json_key_string(&w->json, "name", name);
        if (*file)
            json_key_string(&w->json, "file", file);
        json_close(&w->json, '}');
    }
    json_close(&w->json, ']');
    json_close(&w->json, '}');
}

bool export_speedscope(const struct profile *p, const struct symbols *s,
                       const struct export_options *options, struct buf *out,
                       struct export_result *result, struct err *e)
{
    struct speedscope w = {.profile = p, .symbols = s, .options = options, .result = result,
                           .json.out = out};
    struct profile_totals totals;
    bool ok = true;
    profile_totals(p, &totals);
    *result = (struct export_result){.unsaid = totals.dropped_all};
    json_open(&w.json, '{');
    json_key_string(&w.json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    json_key_string(&w.json, "exporter", "penumbra " PENUMBRA_VERSION_STRING);
    json_key_string(&w.json, "name", p->command);
    json_key(&w.json, "profiles");
    json_open(&w.json, '[');
    if (options->threads)
        ok = put_lanes(&w);
    for (uint32_t m = 0; ok && !options->threads && m < p->metric_count; m++)
        ok = put_metric(&w, m);
    if (!w.profiles) { /* the format wants one */
        profile_open(&w, p->metrics[0].name, 0);
        put_moments(&w, &(struct moments){0}, 0, NULL);
    }
    json_close(&w.json, ']');
    put_frames(&w);
    json_close(&w.json, '}');
    buf_put_u8(out, '\n');
    ok = ok && intern_ok(&w.frames) && intern_ok(&w.stacks) && buf_ok(out);
    intern_fini(&w.frames);
    intern_fini(&w.stacks);
    buf_free(&w.key);
    buf_free(&w.one);
    return ok || err_set(e, ERR_INTERNAL, "writing the speedscope profile: out of memory");
}
