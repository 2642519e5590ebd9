#include "export/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/gzip.h"
#include "export/intern.h"
#include "export/pprof_maps.h"
#include "export/stack.h"
#include "export/text.h"
#include "profile.pb-c.h"
#include "profile/phases.h"
#include "profile/shares.h"

/* Of the stacks of a tree, those that were needed so far. All NULL: none was. */
struct stack_tree {
    uint32_t *depths;    /* by node */
    uint32_t *heads;     /* by node: the one above it, or itself, where cut stacks' heads end */
    uint32_t *locations; /* by node: the id; 0: unknown yet */
    uint32_t *stacks;    /* by node: 1 + the number of the stack that ends there; 0: unknown yet */
};

/* A thread's samples while they are added up: rows, one for each stack that it has. */
struct samples {
    struct buf stacks;  /* by row: uint32_t, the number of the stack */
    struct buf weights; /* by row: uint64_t for each metric */
    struct buf labels;  /* of each sample, as they are written */
    struct buf one;     /* sample, without its head */
};
enum stack_sum { STACK_ROW, STACK_CUT }; /* 1 + its row, or 0; whether frames were left out */

/* What is being written. A serialized message may be written in pieces, which readers merge
 * (protocol buffers' encoding: concatenated messages merge, repeated fields append). So each entry
 * of a repeated field is packed as a Profile with that entry only, and is compressed soon: nothing
 * is held in memory but the tables. */
struct pprof {
    const struct profile *profile;
    const struct symbols *symbols;
    const struct export_options *options;
    struct pprof_map *maps;
    struct intern strings;   /* number: index in the string table; 0 is "" */
    struct intern functions; /* struct function_key; number + 1: the id */
    struct intern locations; /* struct location_key; number + 1: the id */
    struct intern stacks;    /* the ids of locations, leaf first, as a sample has them; sums: enum
                                stack_sum */
    struct stack_tree *trees; /* by thread that has one */
    struct samples samples;  /* of one thread */
    struct buf out;          /* not compressed yet */
    struct gzip gzip;
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

enum { OUT_FULL = 1 << 16 }; /* then it is compressed */

/* A location that stands for the frames left out of a deep stack. */
#define OFFSET_LEFT_OUT UINT64_MAX

static int64_t string_number(struct pprof *w, const char *string)
{
    return intern_add_string(&w->strings, string);
}

static void compress_full(struct pprof *w)
{
    if (w->out.size < OUT_FULL)
        return;
    gzip_put(&w->gzip, w->out.data, w->out.size);
    w->out.size = 0;
}

static void put_message(struct pprof *w, const Pprof__Profile *piece)
{
    size_t size = pprof__profile__get_packed_size(piece);
    uint8_t *at = buf_reserve(&w->out, size);
    if (at)
        w->out.size += pprof__profile__pack(piece, at);
    compress_full(w);
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
    } else if (profile_is_private(key->image, key->offset)) {
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
    if (profile_is_private(n->image, n->offset))
        key.process = t->process + 1;
    uint32_t before = w->locations.count;
    uint32_t number = intern_add(&w->locations, &key, sizeof key);
    if (w->locations.count > before) {
        struct symbol_location at = stack_frames(w->profile, w->symbols, t, node);
        put_location(w, &key, &at, number + 1);
    }
    return number + 1;
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

/* ---- stacks ---- */

static void tree_fini(struct stack_tree *t)
{
    free(t->depths);
    free(t->heads);
    free(t->locations);
    free(t->stacks);
    *t = (struct stack_tree){0};
}

/* head: frames that stacks too deep keep of their outermost. */
static bool tree_init(struct stack_tree *t, const struct profile_thread *owner, uint32_t head)
{
    size_t count = (size_t)owner->node_count + 1;
    *t = (struct stack_tree){
        calloc(count, sizeof *t->depths), calloc(count, sizeof *t->heads),
        calloc(count, sizeof *t->locations), calloc(count, sizeof *t->stacks)};
    if (!t->depths || !t->heads || !t->locations || !t->stacks)
        return false;
    for (uint32_t i = 1; i < owner->node_count; i++) {
        uint32_t parent = owner->nodes[i].parent;
        t->depths[i] = t->depths[parent] + 1;
        t->heads[i] = t->depths[i] == head ? i : t->heads[parent];
    }
    return true;
}

/* Most nodes are in many stacks. */
static void put_node(struct pprof *w, const struct stack_tree *t,
                     const struct profile_thread *owner, uint32_t node, struct buf *stack)
{
    if (!t->locations[node])
        t->locations[node] = location_id(w, owner, node);
    buf_put_uleb(stack, t->locations[node]);
}

static uint32_t stack_add(struct pprof *w, const struct stack_tree *t,
                          const struct profile_thread *owner, uint32_t node)
{
    uint32_t length = t->depths[node], at = node;
    struct stack_cut cut = stack_cut_make(length, w->options->max_depth);
    struct buf stack = {0};
    for (uint32_t left = cut.cut ? cut.tail : length; left; left--, at = owner->nodes[at].parent)
        put_node(w, t, owner, at, &stack);
    if (cut.cut)
        buf_put_uleb(&stack, location_left_out(w));
    for (at = cut.cut ? t->heads[node] : 0; at; at = owner->nodes[at].parent)
        put_node(w, t, owner, at, &stack);
    if (!length)
        put_node(w, t, owner, node, &stack);
    uint32_t number = intern_add(&w->stacks, stack.data, stack.size);
    w->stacks.failed |= !buf_ok(&stack);
    if (intern_ok(&w->stacks))
        w->stacks.entries[number].sum[STACK_CUT] = cut.cut;
    buf_free(&stack);
    return number;
}

/* ---- samples ---- */

/* The weights of the stack that ends at a node of the owner's; NULL without memory. */
static uint64_t *row_of(struct pprof *w, uint32_t owner, uint32_t node,
                        struct export_result *result)
{
    static const uint64_t zeros[METRICS_MAX];
    const struct stack_tree *t = &w->trees[owner];
    size_t each = w->profile->metric_count * sizeof *zeros;
    if (!t->stacks[node])
        t->stacks[node] = 1 + stack_add(w, t, &w->profile->threads[owner], node);
    if (!intern_ok(&w->stacks))
        return NULL;
    uint32_t stack = t->stacks[node] - 1;
    uint64_t *sums = w->stacks.entries[stack].sum;
    result->shortened += sums[STACK_CUT];
    if (!sums[STACK_ROW]) {
        buf_put(&w->samples.stacks, &stack, sizeof stack);
        buf_put(&w->samples.weights, zeros, each);
        sums[STACK_ROW] = w->samples.stacks.size / sizeof stack;
    }
    bool ok = buf_ok(&w->samples.stacks) && buf_ok(&w->samples.weights);
    return ok ? (uint64_t *)(void *)(w->samples.weights.data + (sums[STACK_ROW] - 1) * each) : NULL;
}

static bool has_weight(const struct profile *p, const struct profile_node *n)
{
    uint64_t any = n->self;
    for (uint32_t m = 1; m < p->metric_count; m++)
        any |= n->more[m - 1];
    return any != 0;
}

/* What a thread with nodes of its own has. */
static bool add_nodes(struct pprof *w, uint32_t thread, struct export_result *result)
{
    const struct profile_thread *t = &w->profile->threads[thread];
    for (uint32_t i = 0; i < t->node_count; i++) {
        const struct profile_node *n = &t->nodes[i];
        if (!has_weight(w->profile, n))
            continue;
        uint64_t *weights = row_of(w, thread, i, result);
        if (!weights)
            return false;
        weights[0] += n->self;
        for (uint32_t m = 1; m < w->profile->metric_count; m++)
            weights[m] += n->more[m - 1];
        result->samples += n->self;
    }
    return true;
}

static bool add_shares(struct pprof *w, const struct profile_shares *s,
                       struct export_result *result)
{
    uint64_t *weights = NULL;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct profile_share *share = &s->list[i];
        if (!i || share->node != s->list[i - 1].node)
            weights = row_of(w, s->tree, share->node, result);
        if (!weights)
            return false;
        weights[share->metric] += share->weight;
        result->samples += share->metric ? 0 : share->weight;
    }
    return true;
}

static bool add_thread(struct pprof *w, uint32_t thread, struct export_result *result)
{
    const struct profile_shares *shares = w->profile->threads[thread].shares;
    uint32_t owner = profile_tree_of(w->profile, thread);
    struct stack_tree *t = &w->trees[owner];
    if (!t->stacks &&
        !tree_init(t, &w->profile->threads[owner], w->options->max_depth / 2))
        return false;
    bool ok = shares ? add_shares(w, shares, result) : add_nodes(w, thread, result);
    if (!shares)
        tree_fini(t);
    return ok;
}

enum { LABELS_MAX = 6 }; /* thread, tid, process, pid, rank, phase */

static void label_string(struct pprof *w, Pprof__Label *label, const char *key, const char *value)
{
    pprof__label__init(label);
    label->key = string_number(w, key);
    label->str = string_number(w, *value ? value : "[unnamed]");
}

static void label_number(struct pprof *w, Pprof__Label *label, const char *key, int64_t value)
{
    pprof__label__init(label);
    label->key = string_number(w, key);
    label->num = value;
}

/* How many of them the thread has. */
static size_t labels_fill(struct pprof *w, const struct profile_thread *t, Pprof__Label *labels)
{
    const struct profile_process *process = stack_process(w->profile, t);
    size_t count = 0;
    label_string(w, &labels[count++], "thread", t->name);
    label_number(w, &labels[count++], "tid", t->tid);
    if (process) {
        label_string(w, &labels[count++], "process", process->name);
        label_number(w, &labels[count++], "pid", process->pid);
    }
    if (process && process->rank) {
        /* As text: readers take the number 0 for none. */
        char rank[16];
        snprintf(rank, sizeof rank, "%" PRIu32, process->rank - 1);
        label_string(w, &labels[count++], "rank", rank);
    }
    if (t->phase) {
        char *phase = profile_phase_path(w->profile, t->phase - 1);
        label_string(w, &labels[count++], "phase", phase ? phase : "");
        w->out.failed |= !phase;
        free(phase);
    }
    return count;
}

/* As a sample has them: a sample with nothing else. */
static void labels_pack(struct pprof *w, const struct profile_thread *t, struct buf *to)
{
    Pprof__Label labels[LABELS_MAX], *pointers[LABELS_MAX];
    Pprof__Sample sample = PPROF__SAMPLE__INIT;
    for (unsigned i = 0; i < LABELS_MAX; i++)
        pointers[i] = &labels[i];
    sample.n_label = labels_fill(w, t, labels);
    sample.label = pointers;
    to->size = 0;
    uint8_t *at = buf_reserve(to, pprof__sample__get_packed_size(&sample));
    if (at)
        to->size += pprof__sample__pack(&sample, at);
}

/* The head of a field of bytes: its number in profile.proto, how it is encoded, its size. */
static void put_head(struct buf *to, unsigned field, size_t size)
{
    enum { LENGTH_DELIMITED = 2, NUMBER_SHIFT = 3 };
    buf_put_u8(to, (uint8_t)(field << NUMBER_SHIFT | LENGTH_DELIMITED));
    buf_put_uleb(to, size);
}

/* Hundreds of thousands of samples are put together here, out of parts that are packed already.
 *
 *     sample: | 1 size | ids of the stack | 2 size | values | 3 size | label | 3 size | label ...
 */
static void put_sample(struct pprof *w, uint32_t stack, const uint64_t *weights)
{
    enum { PROFILE_SAMPLE = 2, SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2 };
    const struct profile *p = w->profile;
    const struct samples *s = &w->samples;
    struct buf *one = &w->samples.one;
    uint8_t bytes[VALUES_MAX * 10];
    struct buf values = {.data = bytes, .capacity = sizeof bytes};
    buf_put_uleb(&values, weights[0]);
    for (uint32_t m = 0; m < p->metric_count; m++)
        buf_put_uleb(&values, weights[m] * p->metrics[m].period);
    one->size = 0;
    put_head(one, SAMPLE_LOCATION_ID, w->stacks.entries[stack].size);
    buf_put(one, intern_key(&w->stacks, stack), w->stacks.entries[stack].size);
    put_head(one, SAMPLE_VALUE, values.size);
    buf_put(one, values.data, values.size);
    buf_put(one, s->labels.data, s->labels.size);
    put_head(&w->out, PROFILE_SAMPLE, one->size);
    buf_put(&w->out, one->data, one->size);
    compress_full(w);
}

/* Those of the thread, which are forgotten then. */
static bool put_samples(struct pprof *w, const struct profile_thread *t)
{
    struct samples *s = &w->samples;
    size_t count = s->stacks.size / sizeof(uint32_t);
    labels_pack(w, t, &s->labels);
    for (size_t i = 0; i < count; i++) {
        uint32_t stack = ((const uint32_t *)(const void *)s->stacks.data)[i];
        const uint64_t *weights = (const uint64_t *)(const void *)s->weights.data;
        put_sample(w, stack, weights + i * w->profile->metric_count);
        w->stacks.entries[stack].sum[STACK_ROW] = 0;
    }
    s->stacks.size = s->weights.size = 0;
    return buf_ok(&s->labels) && buf_ok(&s->one) && buf_ok(&w->out);
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

static void fini(struct pprof *w)
{
    for (uint32_t i = 0; w->trees && i < w->profile->thread_count; i++)
        tree_fini(&w->trees[i]);
    free(w->trees);
    free(w->maps);
    intern_fini(&w->strings);
    intern_fini(&w->functions);
    intern_fini(&w->locations);
    intern_fini(&w->stacks);
    buf_free(&w->samples.stacks);
    buf_free(&w->samples.weights);
    buf_free(&w->samples.labels);
    buf_free(&w->samples.one);
    buf_free(&w->out);
}

bool export_pprof(const struct profile *p, const struct symbols *s,
                  const struct export_options *options, struct buf *out,
                  struct export_result *result, struct err *e)
{
    struct pprof w = {.profile = p, .symbols = s, .options = options};
    *result = (struct export_result){0};
    gzip_begin(&w.gzip, out);
    w.maps = pprof_maps_build(p);
    w.trees = calloc((size_t)p->thread_count + 1, sizeof *w.trees);
    string_number(&w, "");
    bool ok = w.maps && w.trees;
    for (uint32_t i = 0; ok && i < p->thread_count; i++)
        ok = add_thread(&w, i, result) && put_samples(&w, &p->threads[i]);
    if (ok) {
        put_description(&w);
        put_mappings(&w);
        put_strings(&w);
        gzip_put(&w.gzip, w.out.data, w.out.size);
    }
    ok = gzip_end(&w.gzip) && ok && intern_ok(&w.strings) && intern_ok(&w.functions) &&
         intern_ok(&w.locations) && buf_ok(&w.out);
    if (!ok)
        err_set(e, ERR_INTERNAL, "writing the pprof profile: out of memory");
    fini(&w);
    return ok;
}
