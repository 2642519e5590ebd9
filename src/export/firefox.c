#include "export/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/firefox_markers.h"
#include "export/firefox_samples.h"
#include "export/firefox_tables.h"
#include "export/stack.h"
#include "penumbra/version.h"
#include "profile/shares.h"
#include "profile/timeline.h"

/* The processed profile format, the first version whose tables are of all threads. The viewer
 * upgrades older versions; later ones write stacks in a form that Perfetto does not read. */
enum { FORMAT_VERSION = 60, GECKO_VERSION = 32 };

struct firefox {
    const struct profile *profile;
    struct export_result *result;
    struct json json;
    struct intern libs; /* uint32_t, an image */
    struct firefox_tables tables;
    struct lanes lanes;
    struct moments moments;
    struct firefox_samples samples;
    uint32_t **stacks;  /* by thread and node; NULL: not made yet. Shared trees have one */
    uint32_t *life;     /* by process: which one of its number it is */
};

/* ---- meta and libs ---- */

static void put_categories(struct json *j)
{
#define CATEGORY_ROW(id, name, color) {name, color},
    static const struct {
        const char *name, *color;
    } rows[] = {FIREFOX_CATEGORIES(CATEGORY_ROW)};
    json_key(j, "categories");
    json_open(j, '[');
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_open(j, '{');
        json_key_string(j, "name", rows[i].name);
        json_key_string(j, "color", rows[i].color);
        json_key(j, "subcategories");
        json_open(j, '[');
        json_string(j, "Other");
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_entry(struct json *j, const char *label, const char *value)
{
    json_open(j, '{');
    json_key_string(j, "label", label);
    json_key_string(j, "format", "string");
    json_key_string(j, "value", value);
    json_close(j, '}');
}

/* What the viewer shows about the profile and the format has no field for. */
static void put_extra(struct json *j, const struct profile *p)
{
    struct profile_totals totals;
    char text[64];
    profile_totals(p, &totals);
    json_key(j, "extra");
    json_open(j, '[');
    json_open(j, '{');
    json_key_string(j, "label", "Penumbra");
    json_key(j, "entries");
    json_open(j, '[');
    snprintf(text, sizeof text, "%.3f ms", (double)profile_timeline_width(p) / 1e6);
    put_entry(j, "Times are as exact as bins of", profile_timeline_width(p) ? text : "(none)");
    snprintf(text, sizeof text, "%" PRIu64, totals.dropped_all);
    put_entry(j, "Samples dropped", text);
    snprintf(text, sizeof text, "%" PRIu64, totals.truncated_all);
    put_entry(j, "Stacks incomplete", text);
    put_entry(j, "Notes", p->notes);
    json_close(j, ']');
    json_close(j, '}');
    json_close(j, ']');
}

static void put_units(struct json *j)
{
    json_key(j, "sampleUnits");
    json_open(j, '{');
    json_key_string(j, "time", "ms");
    json_key_string(j, "eventDelay", "ms");
    json_key_string(j, "threadCPUDelta", "ns");
    json_close(j, '}');
}

static void put_extensions(struct json *j)
{
    static const char *const columns[] = {"baseURL", "id", "name"};
    json_key(j, "extensions");
    json_open(j, '{');
    json_key_u64(j, "length", 0);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        json_key(j, columns[i]);
        json_open(j, '[');
        json_close(j, ']');
    }
    json_close(j, '}');
}

static void put_flags(struct json *j)
{
    static const char *const yes[] = {"symbolicated", "symbolicationNotSupported",
                                      "usesOnlyOneStackType", "sourceCodeIsNotOnSearchfox",
                                      "keepProfileThreadOrder"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        json_key(j, yes[i]);
        json_bool(j, true);
    }
    json_key(j, "debug");
    json_bool(j, false);
}

static void put_meta(struct json *j, const struct profile *p)
{
    json_key(j, "meta");
    json_open(j, '{');
    json_key_u64(j, "preprocessedProfileVersion", FORMAT_VERSION);
    json_key_u64(j, "version", GECKO_VERSION);
    json_key(j, "interval");
    json_millionths(j, export_is_time(p) ? p->metrics[0].period : 1000000);
    json_key(j, "startTime");
    json_millionths(j, p->start_realtime_ns);
    json_key(j, "profilingStartTime");
    json_millionths(j, p->kept_from_ns);
    json_key(j, "profilingEndTime");
    json_millionths(j, p->kept_from_ns + p->duration_ns);
    json_key_string(j, "product", p->command);
    json_key_string(j, "arguments", p->command);
    json_key_string(j, "importedFrom", "Penumbra " PENUMBRA_VERSION_STRING);
    json_key_string(j, "oscpu", p->kernel);
    json_key_string(j, "platform", "Linux");
    json_key_string(j, "CPUName", p->cpu);
    json_key_u64(j, "logicalCPUs", p->cpus);
    json_key_u64(j, "processType", 0);
    json_key_u64(j, "stackwalk", 1);
    put_flags(j);
    put_extensions(j);
    put_units(j);
    put_categories(j);
    firefox_put_marker_schema(j);
    put_extra(j, p);
    json_close(j, '}');
}

/* A build-id as Breakpad writes it: 16 bytes as a GUID whose first three numbers are
 * little-endian, then the age. */
static void breakpad_id(char text[34], const struct profile_image *image)
{
    static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    for (size_t i = 0; i < sizeof order; i++) {
        unsigned byte = order[i] < image->build_id_size ? image->build_id[order[i]] : 0;
        snprintf(text + 2 * i, 3, "%02X", byte);
    }
    memcpy(text + 32, "0", 2);
}

static void put_lib(struct json *j, const struct profile_image *image)
{
    const char *slash = strrchr(image->path, '/');
    const char *name = slash ? slash + 1 : image->path;
    char id[34], code[2 * PROFILE_BUILD_ID_MAX + 1] = "";
    breakpad_id(id, image);
    for (uint32_t i = 0; i < image->build_id_size && i < PROFILE_BUILD_ID_MAX; i++)
        snprintf(code + 2 * i, 3, "%02x", image->build_id[i]);
    json_open(j, '{');
    json_key_string(j, "arch", "x86_64");
    json_key_string(j, "name", name);
    json_key_string(j, "path", image->path);
    json_key_string(j, "debugName", name);
    json_key_string(j, "debugPath", image->path);
    json_key_string(j, "breakpadId", id);
    json_key(j, "codeId");
    if (*code)
        json_string(j, code);
    else
        json_null(j);
    json_close(j, '}');
}

static void put_libs(struct firefox *w)
{
    json_key(&w->json, "libs");
    json_open(&w->json, '[');
    for (uint32_t i = 0; i < w->libs.count; i++) {
        uint32_t image = *(const uint32_t *)intern_key(&w->libs, i);
        put_lib(&w->json, &w->profile->images[image]);
    }
    json_close(&w->json, ']');
}

/* ---- threads ---- */

static void put_end(struct json *j, const char *key, bool ended, uint64_t end_ns)
{
    json_key(j, key);
    if (ended)
        json_millionths(j, end_ns);
    else
        json_null(j);
}

/* Programs that one process has run after each other are processes of their own here. */
static void put_pid(struct firefox *w, const struct profile_thread *t)
{
    const struct profile_process *process = stack_process(w->profile, t);
    char text[32];
    uint32_t life = process ? w->life[t->process] : 0;
    snprintf(text, sizeof text, life ? "%" PRId32 ".%" PRIu32 : "%" PRId32,
             process ? process->pid : 0, life);
    json_key_string(&w->json, "pid", text);
}

static void put_identity(struct firefox *w, const struct profile_thread *t, uint32_t metric)
{
    const struct profile_process *process = stack_process(w->profile, t);
    struct json *j = &w->json;
    struct buf name = {0};
    buf_puts(&name, *t->name ? t->name : "[unnamed]");
    if (metric)
        buf_printf(&name, " (%s)", w->profile->metrics[metric].name);
    buf_put_u8(&name, 0);
    json_key_string(j, "name", buf_ok(&name) ? (const char *)name.data : "");
    buf_free(&name);
    put_pid(w, t);
    json_key(j, "tid");
    json_i64(j, t->tid);
    json_key(j, "isMainThread");
    json_bool(j, process && process->pid == t->tid && !metric);
    json_key_string(j, "processType", "default");
    json_key_string(j, "processName", process ? process->name : "");
    json_key(j, "processStartupTime");
    json_millionths(j, process ? process->start_ns : 0);
    put_end(j, "processShutdownTime", process && process->end != PROFILE_END_RUNNING,
            process ? process->end_ns : 0);
    json_key(j, "registerTime");
    json_millionths(j, t->start_ns);
    put_end(j, "unregisterTime", t->end_ns != 0, t->end_ns);
    json_key(j, "pausedRanges");
    json_open(j, '[');
    json_close(j, ']');
}

/* Threads with shares of a tree have its stacks. */
static bool lane_stacks(struct firefox *w, uint32_t lane)
{
    const struct profile *p = w->profile;
    for (uint32_t i = w->lanes.first[lane]; i != LANE_END; i = w->lanes.next[i]) {
        uint32_t owner = profile_tree_of(p, i);
        if (!w->stacks[owner])
            w->stacks[owner] = firefox_stacks(&w->tables, &p->threads[owner]);
        if (!w->stacks[owner])
            return false;
        w->stacks[i] = w->stacks[owner];
    }
    return true;
}

/* A lane by a metric; by others than the first only where there is something. */
static bool put_lane(struct firefox *w, uint32_t lane, uint32_t metric)
{
    const struct profile *p = w->profile;
    struct json *j = &w->json;
    bool ok = moments_of(&w->moments, p, &w->lanes, lane, metric);
    if (!ok || (metric && !w->moments.count))
        return ok;
    ok = lane_stacks(w, lane) && firefox_samples_of(&w->samples, p, &w->moments, w->stacks);
    if (ok) {
        json_open(j, '{');
        put_identity(w, &p->threads[w->lanes.first[lane]], metric);
        firefox_put_samples(j, &w->samples, &p->metrics[metric]);
        if (metric)
            firefox_put_no_markers(j);
        else
            ok = firefox_put_markers(j, &w->tables, &w->lanes, lane, &w->moments);
        json_close(j, '}');
    }
    if (!metric) {
        w->result->samples += w->moments.total;
        w->result->untimed += w->moments.total - w->moments.timed;
    }
    return ok && firefox_tables_ok(&w->tables);
}

/* False without memory. */
static bool lives_init(struct firefox *w)
{
    const struct profile *p = w->profile;
    struct intern pids = {0};
    w->life = calloc((size_t)p->process_count + 1, sizeof *w->life);
    for (uint32_t i = 0; w->life && i < p->process_count; i++) {
        uint32_t number = intern_add(&pids, &p->processes[i].pid, sizeof p->processes[i].pid);
        if (intern_ok(&pids))
            w->life[i] = (uint32_t)pids.entries[number].sum[0]++;
    }
    bool ok = w->life && intern_ok(&pids);
    intern_fini(&pids);
    return ok;
}

static bool put_threads(struct firefox *w)
{
    bool ok = true;
    json_key(&w->json, "threads");
    json_open(&w->json, '[');
    for (uint32_t i = 0; ok && i < w->lanes.count; i++)
        for (uint32_t metric = 0; ok && metric < w->profile->metric_count; metric++)
            ok = put_lane(w, i, metric);
    json_close(&w->json, ']');
    return ok;
}

static void fini(struct firefox *w)
{
    for (uint32_t i = 0; w->stacks && i < w->profile->thread_count; i++)
        if (profile_tree_of(w->profile, i) == i)
            free(w->stacks[i]);
    firefox_tables_fini(&w->tables);
    firefox_samples_fini(&w->samples);
    moments_fini(&w->moments);
    lanes_fini(&w->lanes);
    intern_fini(&w->libs);
    free(w->stacks);
    free(w->life);
}

bool export_firefox(const struct profile *p, const struct symbols *s,
                    const struct export_options *options, struct buf *out,
                    struct export_result *result, struct err *e)
{
    struct firefox w = {.profile = p, .result = result, .json.out = out,
                        .tables = {.profile = p, .symbols = s, .libs = &w.libs}};
    (void)options;
    *result = (struct export_result){0};
    w.stacks = calloc((size_t)p->thread_count + 1, sizeof *w.stacks);
    bool ok = w.stacks && lanes_init(&w.lanes, p) && lives_init(&w);
    json_open(&w.json, '{');
    put_meta(&w.json, p);
    ok = ok && put_threads(&w);
    firefox_put_tables(&w.tables, &w.json);
    put_libs(&w);
    json_close(&w.json, '}');
    buf_put_u8(out, '\n');
    ok = ok && buf_ok(out);
    fini(&w);
    return ok || err_set(e, ERR_INTERNAL, "writing the Firefox profile: out of memory");
}
