/* OpenTelemetry's profiles signal (export/otlp.proto): a resource for each process, in it a profile
 * for each metric, with a sample for each stack, thread and phase. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/saturate.h"
#include "export/export.h"
#include "export/otlp_tables.h"
#include "export/stack.h"
#include "export/text.h"
#include "otlp.pb-c.h"
#include "profile/phases.h"

/* Fields whose contents are put together here. */
enum { DATA_RESOURCE_PROFILES = 1, DATA_DICTIONARY = 2 };
enum { RESOURCE_RESOURCE = 1, RESOURCE_SCOPE_PROFILES = 2 };
enum { SCOPE_SCOPE = 1, SCOPE_PROFILES = 2 };
enum { PROFILE_SAMPLES = 2 };

enum { ATTRIBUTES_MAX = 4 }; /* of a sample: thread.id, thread.name, phase, rank */

struct otlp {
    const struct profile *profile;
    const struct export_options *options;
    struct export_result *result;
    struct otlp_tables tables;
};

static const struct profile_process *process_at(const struct otlp *w, uint32_t index)
{
    return index < w->profile->process_count ? &w->profile->processes[index] : NULL;
}

static uint64_t weight_of(const struct profile_node *n, uint32_t metric)
{
    return metric ? n->more[metric - 1] : n->self;
}

/* ---- samples ---- */

/* How many of them the thread has. */
static size_t attributes_fill(struct otlp *w, const struct profile_thread *t, int32_t *list)
{
    const struct profile_process *process = process_at(w, t->process);
    size_t count = 0;
    list[count++] = otlp_attribute_number(&w->tables, "thread.id", t->tid);
    list[count++] = otlp_attribute_string(&w->tables, "thread.name", t->name);
    if (process && process->rank)
        list[count++] = otlp_attribute_number(&w->tables, "penumbra.rank", process->rank - 1);
    if (t->phase) {
        char *phase = profile_phase_path(w->profile, t->phase - 1);
        list[count++] = otlp_attribute_string(&w->tables, "penumbra.phase", phase ? phase : "");
        w->tables.packed.failed |= !phase;
        free(phase);
    }
    return count;
}

static bool put_thread(struct otlp *w, const struct profile_thread *t, uint32_t metric,
                       struct buf *profile)
{
    struct stack_walk walk;
    int32_t attributes[ATTRIBUTES_MAX];
    if (!stack_walk_init(&walk, t))
        return false;
    size_t count = attributes_fill(w, t, attributes);
    while (stack_walk_next(&walk)) {
        uint64_t weight = weight_of(&t->nodes[walk.node], metric);
        uint64_t amount = multiply_saturated(weight, w->profile->metrics[metric].period);
        int64_t value = amount > INT64_MAX ? INT64_MAX : (int64_t)amount;
        Otlp__Sample sample = OTLP__SAMPLE__INIT;
        bool cut;
        if (!weight)
            continue;
        sample.stack_index = otlp_stack(&w->tables, t, walk.path, walk.length,
                                        w->options->max_depth, &cut);
        sample.n_attribute_indices = count;
        sample.attribute_indices = attributes;
        sample.n_values = 1;
        sample.values = &value;
        otlp_put_message(profile, PROFILE_SAMPLES, &sample.base);
        w->result->shortened += cut && !metric;
        w->result->samples += metric ? 0 : weight;
    }
    stack_walk_fini(&walk);
    return true;
}

/* ---- a process ---- */

static void value_type(struct otlp *w, uint32_t metric, Otlp__ValueType *type)
{
    const struct profile_metric *m = &w->profile->metrics[metric];
    otlp__value_type__init(type);
    type->type_strindex = otlp_string(&w->tables, metric ? m->name : m->trigger);
    type->unit_strindex = otlp_string(&w->tables, strcmp(m->unit, "events") ? m->unit : "count");
}

/* The same of the same recording: who is sent it twice can tell. */
static void identify(const struct otlp *w, uint32_t process, uint32_t metric, uint64_t id[2])
{
    const struct profile_process *p = process_at(w, process);
    const uint64_t key[] = { w->profile->start_realtime_ns, w->profile->duration_ns,
                             hash_bytes(w->profile->command, strlen(w->profile->command)),
                             p ? (uint64_t)p->pid : 0, process, metric };
    id[0] = hash_bytes(key, sizeof key) | 1; /* not all zeros */
    id[1] = hash_bytes(key, sizeof key - 1);
}

/* One metric of one process; *any: it has samples. */
static bool put_profile(struct otlp *w, uint32_t process, uint32_t metric, struct buf *out,
                        bool *any)
{
    const struct profile *p = w->profile;
    const struct profile_process *of = process_at(w, process);
    Otlp__Profile head = OTLP__PROFILE__INIT;
    Otlp__ValueType type;
    uint64_t id[2];
    struct buf profile = { 0 };
    value_type(w, metric, &type);
    identify(w, process, metric, id);
    head.sample_type = head.period_type = &type;
    head.period = (int64_t)p->metrics[metric].period;
    head.time_unix_nano = p->start_realtime_ns + (of ? of->start_ns : 0);
    head.duration_nano =
        of && of->end_ns > of->start_ns ? of->end_ns - of->start_ns : p->duration_ns;
    head.profile_id.data = (uint8_t *)id;
    head.profile_id.len = sizeof id;
    size_t size = otlp__profile__get_packed_size(&head);
    uint8_t *at = buf_reserve(&profile, size);
    if (at)
        profile.size += otlp__profile__pack(&head, at);
    bool ok = at;
    for (uint32_t i = 0; ok && i < p->thread_count; i++)
        if (p->threads[i].process == process ||
            (!of && p->threads[i].process >= p->process_count))
            ok = put_thread(w, &p->threads[i], metric, &profile);
    if (profile.size > size) {
        otlp_put_bytes(out, SCOPE_PROFILES, &profile);
        *any = true;
    }
    ok = ok && buf_ok(&profile);
    buf_free(&profile);
    return ok;
}

struct attribute {
    const char *key, *text; /* text: NULL, it is a number */
    int64_t number;
};

/* The field of the resource, or of the scope, with attributes. */
static void put_attributes(struct buf *out, unsigned field, const struct attribute *list,
                           size_t count)
{
    struct buf all = { 0 };
    for (size_t i = 0; i < count; i++) {
        Otlp__KeyValue pair = OTLP__KEY_VALUE__INIT;
        Otlp__AnyValue value = OTLP__ANY_VALUE__INIT;
        char *text = list[i].text ? strdup(list[i].text) : NULL;
        if (text)
            text_clean_utf8(text);
        all.failed |= list[i].text && !text;
        pair.key = (char *)list[i].key;
        pair.value = &value;
        value.value_case = text ? OTLP__ANY_VALUE__VALUE_STRING_VALUE
                                : OTLP__ANY_VALUE__VALUE_INT_VALUE;
        if (text)
            value.string_value = text;
        else
            value.int_value = list[i].number;
        otlp_put_message(&all, field, &pair.base);
        free(text);
    }
    buf_put(out, all.data, all.size);
    out->failed |= !buf_ok(&all);
    buf_free(&all);
}

static void put_resource(const struct otlp *w, uint32_t process, struct buf *out)
{
    enum { ATTRIBUTES = 1 };
    const struct profile_process *p = process_at(w, process);
    struct buf resource = { 0 };
    const struct attribute list[] = {
        { "service.name", p ? p->name : "[unknown]", 0 },
        { "process.executable.name", p ? p->name : "[unknown]", 0 },
        { "process.command_line", p ? p->command : w->profile->command, 0 },
        { "process.pid", NULL, p ? p->pid : 0 },
    };
    put_attributes(&resource, ATTRIBUTES, list, sizeof list / sizeof *list);
    otlp_put_bytes(out, RESOURCE_RESOURCE, &resource);
    buf_free(&resource);
}

static void put_scope(const struct otlp *w, struct buf *out)
{
    enum { ATTRIBUTES = 3 };
    struct profile_totals totals;
    struct buf scope = { 0 };
    Otlp__InstrumentationScope head = OTLP__INSTRUMENTATION_SCOPE__INIT;
    head.name = (char *)"penumbra";
    profile_totals(w->profile, &totals);
    const struct attribute list[] = {
        { "penumbra.samples_dropped", NULL, (int64_t)totals.dropped_all },
        { "penumbra.stacks_incomplete", NULL, (int64_t)totals.truncated_all },
    };
    uint8_t *at = buf_reserve(&scope, otlp__instrumentation_scope__get_packed_size(&head));
    if (at)
        scope.size += otlp__instrumentation_scope__pack(&head, at);
    put_attributes(&scope, ATTRIBUTES, list, sizeof list / sizeof *list);
    otlp_put_bytes(out, SCOPE_SCOPE, &scope);
    buf_free(&scope);
}

static bool put_process(struct otlp *w, uint32_t process, struct buf *out)
{
    struct buf scope = { 0 }, resource = { 0 };
    bool ok = true, any = false;
    put_scope(w, &scope);
    for (uint32_t m = 0; ok && m < w->profile->metric_count; m++)
        ok = put_profile(w, process, m, &scope, &any);
    if (any) {
        put_resource(w, process, &resource);
        otlp_put_bytes(&resource, RESOURCE_SCOPE_PROFILES, &scope);
        otlp_put_bytes(out, DATA_RESOURCE_PROFILES, &resource);
    }
    ok = ok && buf_ok(&scope) && buf_ok(&resource) && buf_ok(out);
    buf_free(&scope);
    buf_free(&resource);
    return ok;
}

bool export_otlp(const struct profile *p, const struct symbols *s,
                 const struct export_options *options, struct buf *out,
                 struct export_result *result, struct err *e)
{
    struct otlp w = { .profile = p, .options = options, .result = result };
    struct buf dictionary = { 0 };
    *result = (struct export_result){ 0 };
    bool ok = otlp_tables_init(&w.tables, p, s);
    for (uint32_t i = 0; ok && i <= p->process_count; i++)
        ok = put_process(&w, i, out);
    ok = ok && otlp_tables_put(&w.tables, &dictionary);
    otlp_put_bytes(out, DATA_DICTIONARY, &dictionary);
    buf_free(&dictionary);
    otlp_tables_fini(&w.tables);
    return (ok && buf_ok(out)) ||
           err_set(e, ERR_INTERNAL, "writing the OpenTelemetry profile: out of memory");
}
