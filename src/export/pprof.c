#include "export/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "export/intern.h"
#include "export/pprof_maps.h"
#include "export/stack.h"
#include "export/text.h"
#include "profile.pb-c.h"

/* What is being written. A serialized message may be written in pieces, which readers merge
 * (protocol buffers' encoding: concatenated messages merge, repeated fields append). So each entry
 * of a repeated field is packed as a Profile with that entry only, and nothing is held in memory
 * but the tables. */
struct pprof {
    const struct profile *profile;
    const struct symbols *symbols;
    const struct export_options *options;
    struct pprof_map *maps;
    struct intern strings;   /* number: index in the string table; 0 is "" */
    struct intern functions; /* struct function_key; number + 1: the id */
    struct intern locations; /* struct location_key; number + 1: the id */
    struct intern stacks;    /* of one thread: location ids leaf first, uint32_t each; sum:
                                samples */
    struct buf more;         /* uint64_t for each stack and each metric after the first: weights */
    struct buf out;
};
enum { VALUES_MAX = 1 + METRICS_MAX }; /* of a sample: how many, and their amounts by metric */

struct function_key {
    uint32_t name, file;
};

struct location_key {
    uint32_t image;   /* as in profile_node */
    uint32_t process; /* index + 1 where the address means something in one process only, else 0 */
    uint64_t offset;
};

/* Keys are compared as bytes: no padding. */
_Static_assert(sizeof(struct function_key) == 8, "padding in a key");
_Static_assert(sizeof(struct location_key) == 16, "padding in a key");

/* A location that stands for the frames left out of a deep stack. */
#define OFFSET_LEFT_OUT UINT64_MAX

static int64_t string_number(struct pprof *w, const char *string)
{
    return intern_add_string(&w->strings, string);
}

static void put_message(struct pprof *w, const Pprof__Profile *piece)
{
    size_t size = pprof__profile__get_packed_size(piece);
    uint8_t *at = buf_reserve(&w->out, size);
    if (at)
        w->out.size += pprof__profile__pack(piece, at);
}

static void put_function(struct pprof *w, const struct function_key *key, uint32_t id)
{
    Pprof__Function function = PPROF__FUNCTION__INIT;
    function.id = id;
    function.name = function.system_name = key->name;
    function.filename = key->file;
    Pprof__Profile piece = PPROF__PROFILE__INIT;
    Pprof__Function *one = &function;
    piece.n_function = 1;
    piece.function = &one;
    put_message(w, &piece);
}

static uint64_t function_id(struct pprof *w, const struct symbol_frame *frame)
{
    struct function_key key = {.name = (uint32_t)string_number(w, frame->function),
                               .file = (uint32_t)string_number(w, frame->file)};
    uint32_t before = w->functions.count;
    uint32_t number = intern_add(&w->functions, &key, sizeof key);
    if (w->functions.count > before)
        put_function(w, &key, number + 1);
    return number + 1u;
}

static void map_note(struct pprof_map *map, const struct symbol_location *at)
{
    map->used = true;
    for (uint32_t i = 0; i < at->count; i++) {
        map->functions |= at->frames[i].start != 0;
        map->files |= *at->frames[i].file != 0;
        map->lines |= at->frames[i].line != 0;
        map->inlines |= at->frames[i].inlined;
    }
}

static void put_location(struct pprof *w, const struct location_key *key,
                         const struct symbol_location *at, uint32_t id)
{
    Pprof__Location location = PPROF__LOCATION__INIT;
    Pprof__Line *lines = calloc(at->count, sizeof *lines);
    Pprof__Line **pointers = calloc(at->count, sizeof *pointers);
    if (!lines || !pointers) {
        w->out.failed = true;
        goto out;
    }
    for (uint32_t i = 0; i < at->count; i++) {
        pprof__line__init(&lines[i]);
        lines[i].function_id = function_id(w, &at->frames[i]);
        lines[i].line = at->frames[i].line;
        pointers[i] = &lines[i];
    }
    location.id = id;
    location.n_line = at->count;
    location.line = pointers;
    if (key->image < w->profile->image_count) {
        location.mapping_id = key->image + 1u;
        location.address = w->maps[key->image].bias + key->offset;
        map_note(&w->maps[key->image], at);
    } else if (key->image == PROFILE_IMAGE_NONE && !entity_is(key->offset)) {
        location.address = key->offset;
    }
    Pprof__Profile piece = PPROF__PROFILE__INIT;
    Pprof__Location *one = &location;
    piece.n_location = 1;
    piece.location = &one;
    put_message(w, &piece);
out:
    free(lines);
    free(pointers);
}

static uint32_t location_id(struct pprof *w, const struct profile_thread *t, uint32_t node)
{
    const struct profile_node *n = &t->nodes[node];
    struct location_key key = {.image = n->image, .offset = n->offset};
    if (n->image == PROFILE_IMAGE_NONE && !entity_is(n->offset))
        key.process = t->process + 1;
    uint32_t before = w->locations.count;
    uint32_t number = intern_add(&w->locations, &key, sizeof key);
    if (w->locations.count > before) {
        struct symbol_location at = stack_frames(w->profile, w->symbols, t, node);
        put_location(w, &key, &at, number + 1);
    }
    return number + 1;
}

/* Most nodes are in many stacks. */
static uint32_t location_of(struct pprof *w, const struct profile_thread *t, uint32_t node,
                            uint32_t *known)
{
    return known[node] ? known[node] : (known[node] = location_id(w, t, node));
}

static uint32_t location_left_out(struct pprof *w)
{
    static const struct symbol_frame frame = {.function = STACK_LEFT_OUT, .file = ""};
    struct location_key key = {.image = PROFILE_IMAGE_PSEUDO, .offset = OFFSET_LEFT_OUT};
    uint32_t before = w->locations.count;
    uint32_t number = intern_add(&w->locations, &key, sizeof key);
    if (w->locations.count > before)
        put_location(w, &key, &(struct symbol_location){.frames = &frame, .count = 1}, number + 1);
    return number + 1;
}

static void key_put(struct buf *key, uint32_t value)
{
    buf_put(key, &value, sizeof value);
}

static bool has_weight(const struct profile *p, const struct profile_node *n)
{
    uint64_t any = n->self;
    for (uint32_t m = 1; m < p->metric_count; m++)
        any |= n->more[m - 1];
    return any != 0;
}

/* The weights of a stack by the metrics after the first. */
static uint64_t *weights_of(const struct pprof *w, uint32_t stack)
{
    return (uint64_t *)(void *)w->more.data + (size_t)stack * (w->profile->metric_count - 1);
}

static void add_weights(struct pprof *w, uint32_t stack, const struct profile_node *n)
{
    uint32_t others = w->profile->metric_count - 1;
    size_t needed = ((size_t)stack + 1) * others * sizeof(uint64_t);
    static const uint64_t zeros[METRICS_MAX];
    w->stacks.entries[stack].sum[0] += n->self;
    while (w->more.size < needed && buf_ok(&w->more))
        buf_put(&w->more, zeros, others * sizeof *zeros);
    for (uint32_t m = 0; buf_ok(&w->more) && m < others; m++)
        weights_of(w, stack)[m] += n->more[m];
}

static bool add_thread(struct pprof *w, const struct profile_thread *t,
                       struct export_result *result)
{
    struct stack_walk walk;
    struct buf key = {0};
    uint32_t *known = calloc((size_t)t->node_count + 1, sizeof *known);
    if (!known || !stack_walk_init(&walk, t)) {
        free(known);
        return false;
    }
    while (stack_walk_next(&walk)) {
        if (!has_weight(w->profile, &t->nodes[walk.node]))
            continue;
        struct stack_cut cut = stack_cut_make(walk.length, w->options->max_depth);
        key.size = 0;
        for (uint32_t i = walk.length; i-- > walk.length - cut.tail;)
            key_put(&key, location_of(w, t, walk.path[i], known));
        if (cut.cut)
            key_put(&key, location_left_out(w));
        for (uint32_t i = cut.head; i-- > 0;)
            key_put(&key, location_of(w, t, walk.path[i], known));
        if (!walk.length)
            key_put(&key, location_of(w, t, walk.node, known));
        if (!buf_ok(&key) || !buf_ok(&w->out))
            break;
        uint32_t number = intern_add(&w->stacks, key.data, key.size);
        if (!intern_ok(&w->stacks))
            break;
        add_weights(w, number, &t->nodes[walk.node]);
        result->samples += t->nodes[walk.node].self;
        result->shortened += cut.cut;
    }
    bool ok = buf_ok(&key) && buf_ok(&w->out) && buf_ok(&w->more) && intern_ok(&w->stacks);
    buf_free(&key);
    free(known);
    stack_walk_fini(&walk);
    return ok;
}

enum { LABEL_THREAD, LABEL_TID, LABEL_PROCESS, LABEL_PID, LABEL_COUNT };

static size_t labels_fill(struct pprof *w, const struct profile_thread *t, Pprof__Label *labels)
{
    const struct profile_process *process = stack_process(w->profile, t);
    for (unsigned i = 0; i < LABEL_COUNT; i++)
        pprof__label__init(&labels[i]);
    labels[LABEL_THREAD].key = string_number(w, "thread");
    labels[LABEL_THREAD].str = string_number(w, *t->name ? t->name : "[unnamed]");
    labels[LABEL_TID].key = string_number(w, "tid");
    labels[LABEL_TID].num = t->tid;
    if (!process)
        return LABEL_PROCESS;
    labels[LABEL_PROCESS].key = string_number(w, "process");
    labels[LABEL_PROCESS].str = string_number(w, *process->name ? process->name : "[unnamed]");
    labels[LABEL_PID].key = string_number(w, "pid");
    labels[LABEL_PID].num = process->pid;
    return LABEL_COUNT;
}

/* Those of the thread, which are forgotten then. */
static bool put_samples(struct pprof *w, const struct profile_thread *t)
{
    Pprof__Label labels[LABEL_COUNT], *label_pointers[LABEL_COUNT];
    for (unsigned i = 0; i < LABEL_COUNT; i++)
        label_pointers[i] = &labels[i];
    size_t label_count = labels_fill(w, t, labels);
    struct buf ids = {0};
    for (uint32_t i = 0; i < w->stacks.count && buf_ok(&ids); i++) {
        const struct intern_entry *entry = &w->stacks.entries[i];
        const uint32_t *key = intern_key(&w->stacks, i);
        size_t count = entry->size / sizeof *key;
        ids.size = 0;
        for (size_t k = 0; k < count; k++)
            buf_put(&ids, &(uint64_t){key[k]}, sizeof(uint64_t));
        if (!buf_ok(&ids))
            break;
        const struct profile_metric *metrics = w->profile->metrics;
        int64_t values[VALUES_MAX] = {(int64_t)entry->sum[0],
                                      (int64_t)(entry->sum[0] * metrics[0].period)};
        for (uint32_t m = 1; m < w->profile->metric_count; m++)
            values[1 + m] = (int64_t)(weights_of(w, i)[m - 1] * metrics[m].period);
        Pprof__Sample sample = PPROF__SAMPLE__INIT;
        sample.n_location_id = count;
        sample.location_id = (uint64_t *)(void *)ids.data; /* malloc'ed, hence aligned */
        sample.n_value = 1 + w->profile->metric_count;
        sample.value = values;
        sample.n_label = label_count;
        sample.label = label_pointers;
        Pprof__Profile piece = PPROF__PROFILE__INIT;
        Pprof__Sample *one = &sample;
        piece.n_sample = 1;
        piece.sample = &one;
        put_message(w, &piece);
    }
    bool ok = buf_ok(&ids);
    buf_free(&ids);
    intern_clear(&w->stacks);
    w->more.size = 0;
    return ok;
}

static void put_mapping(struct pprof *w, uint32_t image)
{
    const struct profile_image *from = &w->profile->images[image];
    const struct pprof_map *map = &w->maps[image];
    char build_id[2 * PROFILE_BUILD_ID_MAX + 1] = "";
    for (uint32_t i = 0; i < from->build_id_size && i < PROFILE_BUILD_ID_MAX; i++)
        snprintf(build_id + 2 * i, 3, "%02x", from->build_id[i]);
    Pprof__Mapping mapping = PPROF__MAPPING__INIT;
    mapping.id = image + 1u;
    mapping.memory_start = map->start;
    mapping.memory_limit = map->limit;
    mapping.filename = string_number(w, from->path);
    mapping.build_id = string_number(w, build_id);
    mapping.has_functions = map->functions;
    mapping.has_filenames = map->files;
    mapping.has_line_numbers = map->lines;
    mapping.has_inline_frames = map->inlines;
    Pprof__Profile piece = PPROF__PROFILE__INIT;
    Pprof__Mapping *one = &mapping;
    piece.n_mapping = 1;
    piece.mapping = &one;
    put_message(w, &piece);
}

static void put_mappings(struct pprof *w)
{
    uint32_t main_image = pprof_maps_main(w->profile);
    for (uint32_t i = 0; i < w->profile->image_count; i++)
        if (i == main_image)
            put_mapping(w, i);
    for (uint32_t i = 0; i < w->profile->image_count; i++)
        if (i != main_image && w->maps[i].used)
            put_mapping(w, i);
}

/* One line each: the command, then what the user should know. */
static size_t comments_fill(struct pprof *w, int64_t *comments, size_t max)
{
    const struct profile *p = w->profile;
    struct profile_totals totals;
    struct buf text = {0};
    size_t count = 0;
    profile_totals(p, &totals);
    buf_printf(&text, "command: %s\n", p->command);
    buf_printf(&text, "samples dropped: %" PRIu64 "; stacks incomplete: %" PRIu64 "\n",
               totals.dropped_all, totals.truncated_all);
    buf_puts(&text, p->notes);
    buf_put_u8(&text, 0);
    if (buf_ok(&text)) {
        char *save = NULL;
        for (char *line = strtok_r((char *)text.data, "\n", &save); line && count < max;
             line = strtok_r(NULL, "\n", &save))
            comments[count++] = string_number(w, line);
    }
    buf_free(&text);
    return count;
}

static void put_description(struct pprof *w)
{
    const struct profile *p = w->profile;
    int64_t comments[64];
    Pprof__ValueType values[VALUES_MAX], *types[VALUES_MAX];
    for (uint32_t i = 0; i <= p->metric_count; i++) {
        pprof__value_type__init(&values[i]);
        types[i] = &values[i];
    }
    values[0].type = string_number(w, "samples");
    values[0].unit = string_number(w, "count");
    for (uint32_t m = 0; m < p->metric_count; m++) {
        const struct profile_metric *metric = &p->metrics[m];
        values[1 + m].type = string_number(w, m ? metric->name : metric->trigger);
        values[1 + m].unit =
            string_number(w, strcmp(metric->unit, "events") ? metric->unit : "count");
    }
    Pprof__Profile piece = PPROF__PROFILE__INIT;
    piece.n_sample_type = 1 + p->metric_count;
    piece.sample_type = types;
    piece.default_sample_type = values[1].type;
    piece.period_type = &values[1];
    piece.period = (int64_t)p->metrics[0].period;
    piece.time_nanos = (int64_t)p->start_realtime_ns;
    piece.duration_nanos = (int64_t)p->duration_ns;
    piece.n_comment = comments_fill(w, comments, sizeof comments / sizeof *comments);
    piece.comment = comments;
    put_message(w, &piece);
}

/* Strings are written last: all the other pieces may add some. A protobuf string must be UTF-8 and
 * a C++ or Rust name is; a byte that is not (a file name, say) becomes '?'. */
static void put_strings(struct pprof *w)
{
    for (uint32_t i = 0; i < w->strings.count; i++) {
        char *string = (char *)w->strings.keys.data + w->strings.entries[i].at;
        text_clean_utf8(string);
        Pprof__Profile piece = PPROF__PROFILE__INIT;
        piece.n_string_table = 1;
        piece.string_table = &string;
        put_message(w, &piece);
    }
}

static bool gzip(const struct buf *in, struct buf *out, struct err *e)
{
    z_stream z = {0};
    const int gzip_format = 15 + 16; /* deflateInit2: the largest window, gzip header */
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_format, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return err_set(e, ERR_INTERNAL, "compressing the pprof profile: out of memory");
    size_t taken = 0;
    int status = Z_OK;
    while (status == Z_OK) {
        const size_t chunk = 1 << 18;
        size_t left = in->size - taken;
        z.next_in = in->data + taken;
        z.avail_in = (uInt)(left < chunk ? left : chunk);
        z.next_out = buf_reserve(out, chunk);
        z.avail_out = (uInt)chunk;
        if (!z.next_out)
            break;
        uInt offered = z.avail_in;
        status = deflate(&z, left <= chunk ? Z_FINISH : Z_NO_FLUSH);
        taken += offered - z.avail_in;
        out->size += chunk - z.avail_out;
    }
    deflateEnd(&z);
    if (status != Z_STREAM_END)
        return err_set(e, ERR_INTERNAL, "compressing the pprof profile: out of memory");
    return true;
}

bool export_pprof(const struct profile *p, const struct symbols *s,
                  const struct export_options *options, struct buf *out,
                  struct export_result *result, struct err *e)
{
    struct pprof w = {.profile = p, .symbols = s, .options = options};
    *result = (struct export_result){0};
    w.maps = pprof_maps_build(p);
    string_number(&w, "");
    bool ok = w.maps != NULL;
    for (uint32_t i = 0; ok && i < p->thread_count; i++)
        ok = add_thread(&w, &p->threads[i], result) && put_samples(&w, &p->threads[i]);
    if (ok) {
        put_description(&w);
        put_mappings(&w);
        put_strings(&w);
    }
    ok = ok && intern_ok(&w.strings) && intern_ok(&w.functions) && intern_ok(&w.locations) &&
         buf_ok(&w.out);
    if (!ok)
        err_set(e, ERR_INTERNAL, "writing the pprof profile: out of memory");
    ok = ok && gzip(&w.out, out, e);
    free(w.maps);
    intern_fini(&w.strings);
    intern_fini(&w.functions);
    intern_fini(&w.locations);
    intern_fini(&w.stacks);
    buf_free(&w.more);
    buf_free(&w.out);
    return ok;
}
