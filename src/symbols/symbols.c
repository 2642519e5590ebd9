#include "symbols/symbols.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "penumbra/module.h"
#include "profile/generated.h"
#include "profile/table/table.h"
#include "symbols/demangle.h"
#include "symbols/image.h"
#include "symbols/runtimes.h"
#include "symbols/stored.h"

/* The addresses of one image, or those of one process that are in no image. */
struct bucket {
    uint64_t *offsets; /* ascending, distinct once sorted */
    uint32_t count, capacity;
    struct symbol_location *locations;
};

struct symbols {
    const struct profile *profile;
    struct pool pool;
    struct buf warnings;
    const char **image_names;
    struct bucket *buckets; /* of images, then of processes */
    uint8_t *levels;        /* of images: enum profile_names_level */
    uint32_t bucket_count;
};

static const struct symbol_frame frame_unknown = { .function = "[unknown]", .file = "" };
static const struct symbol_frame frames_pseudo[] = {
    [KEY_ROOT] = { .function = "[root]", .file = "" },
    [KEY_TRUNCATED] = { .function = "[truncated]", .file = "" },
    [KEY_UNATTRIBUTED] = { .function = "[unattributed]", .file = "" },
    [KEY_FOLDED] = { .function = "[folded]", .file = "" },
    [KEY_RUN_QUEUE] = { .function = "[run queue]", .file = "" },
    [KEY_WAKES] = { .function = "[wakes]", .file = "" },
};

static struct bucket *bucket_of(const struct symbols *s, uint32_t process, uint32_t image)
{
    if (image < s->profile->image_count)
        return &s->buckets[image];
    if (image == PROFILE_IMAGE_NONE && process < s->profile->process_count)
        return &s->buckets[s->profile->image_count + process];
    return NULL;
}

static bool bucket_add(struct bucket *b, uint64_t offset)
{
    if (b->count && b->offsets[b->count - 1] == offset)
        return true;
    if (b->count == b->capacity) {
        uint32_t capacity = b->capacity ? b->capacity * 2 : 64;
        uint64_t *offsets = capacity ? reallocarray(b->offsets, capacity, sizeof *offsets) : NULL;
        if (!offsets)
            return false;
        b->offsets = offsets;
        b->capacity = capacity;
    }
    b->offsets[b->count++] = offset;
    return true;
}

static int offset_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static bool bucket_sort(struct bucket *b)
{
    if (!b->count)
        return true;
    qsort(b->offsets, b->count, sizeof *b->offsets, offset_compare);
    uint32_t kept = 1;
    for (uint32_t i = 1; i < b->count; i++)
        if (b->offsets[i] != b->offsets[kept - 1])
            b->offsets[kept++] = b->offsets[i];
    b->count = kept;
    b->locations = calloc(kept, sizeof *b->locations);
    return b->locations;
}

static bool place_collect(struct symbols *s, uint32_t process, uint32_t image, uint64_t offset)
{
    struct bucket *b = bucket_of(s, process, image);
    return !b || bucket_add(b, offset);
}

static bool site_collect(void *data, const struct profile_site *site)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < site->count; i++)
        ok = place_collect(data, *site->of[i].process, *site->of[i].image, site->of[i].offset);
    return ok;
}

/* What of the values is in an image or is said to be code. */
static bool values_collect(struct symbols *s, const struct profile_values *v)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < v->hotlist_count; i++) {
        const struct profile_hotlist *h = &v->hotlists[i];
        bool code = h->kind < v->kind_count && v->kinds[h->kind].format == PENUMBRA_SHOW_CODE;
        for (uint32_t k = 0; ok && k < h->list->count; k++) {
            const struct hotlist_entry *e = &h->list->entries[k];
            if (e->space >= HOTLIST_IMAGE)
                ok = place_collect(s, h->process, e->space - HOTLIST_IMAGE, e->bits);
            else if (e->space == HOTLIST_PLAIN && code)
                ok = place_collect(s, h->process, PROFILE_IMAGE_NONE, e->bits);
        }
    }
    return ok;
}

static bool addresses_collect(struct symbols *s, uint64_t *total)
{
    const struct profile *p = s->profile;
    for (uint32_t t = 0; t < p->thread_count; t++) {
        const struct profile_thread *thread = &p->threads[t];
        for (uint32_t i = 0; i < thread->node_count; i++) {
            struct bucket *b = bucket_of(s, thread->process, thread->nodes[i].image);
            if (b && !bucket_add(b, thread->nodes[i].offset))
                return false;
        }
    }
    const struct profile_values *values = observed_values(p);
    if (!profile_sites(p, site_collect, s) || (values && !values_collect(s, values)))
        return false;
    *total = 0;
    for (uint32_t i = 0; i < s->bucket_count; i++) {
        if (!bucket_sort(&s->buckets[i]))
            return false;
        *total += s->buckets[i].count;
    }
    return true;
}

/* An entity by its kind: a path by its number, too, a field with its type. */
static void entity_resolve(struct symbols *s, const struct profile_entity *entity,
                           struct symbol_location *to)
{
    struct buf name = {0};
    struct symbol_frame *frame = pool_alloc(&s->pool, sizeof *frame);
    if (entity->kind == ENTITY_FIELD && *entity->scope)
        buf_printf(&name, "%s::", entity->scope);
    buf_puts(&name, *entity->name ? entity->name : "[unnamed]");
    if (entity->kind == ENTITY_PATH)
        buf_printf(&name, " (path %" PRIu64 ")", entity->number);
    else if (*entity->scope && entity->kind != ENTITY_FIELD && entity->kind != ENTITY_INTERPRETED)
        buf_printf(&name, " [%s]", entity->scope);
    buf_put_u8(&name, 0);
    if (frame && buf_ok(&name)) {
        bool has_line = entity->kind == ENTITY_INTERPRETED;
        bool mangled = entity->kind == ENTITY_GENERATED;
        const char *said = (const char *)name.data;
        *frame = (struct symbol_frame){
            .function = mangled ? demangle(&s->pool, said) : pool_intern(&s->pool, said),
            .file = has_line ? pool_intern(&s->pool, entity->scope) : "",
            .line = has_line && entity->number <= UINT32_MAX ? (uint32_t)entity->number : 0,
            .start = entity->id};
        *to = (struct symbol_location){frame, 1};
    }
    buf_free(&name);
}

static void jit_resolve(struct symbols *s, const struct profile_process *process, struct bucket *b)
{
    for (uint32_t i = 0; i < b->count; i++) {
        const struct profile_entity *entity =
            entity_is(b->offsets[i]) ? profile_entity_find(s->profile, b->offsets[i]) : NULL;
        if (entity)
            entity_resolve(s, entity, &b->locations[i]);
        if (entity_is(b->offsets[i]))
            continue;
        const struct profile_jit_symbol *symbol = profile_jit_find(process, b->offsets[i]);
        if (!symbol)
            continue;
        struct symbol_frame *frame = pool_alloc(&s->pool, sizeof *frame);
        if (!frame)
            return;
        *frame = (struct symbol_frame){ .function = demangle(&s->pool, symbol->name),
                                        .file = "",
                                        .start = symbol->address };
        b->locations[i] = (struct symbol_location){ .frames = frame, .count = 1 };
    }
}

static void images_name(struct symbols *s)
{
    for (uint32_t i = 0; i < s->profile->image_count; i++) {
        const struct profile_image *image = &s->profile->images[i];
        const char *slash = strrchr(image->path, '/');
        const char *name = slash ? slash + 1 : image->path;
        if (image->flags & PROFILE_IMAGE_VDSO)
            name = "[vdso]";
        s->image_names[i] = name[0] ? pool_intern(&s->pool, name) : "[unnamed]";
    }
}

/* Files without symbols, in one sentence: where the debug packages are missing, they are many. */
enum { NAMES_SHOWN = 4 };
struct unnamed {
    struct buf names;
    uint32_t files, addresses, of;
};

static void unnamed_add(struct unnamed *u, const char *name, uint32_t addresses, uint32_t of)
{
    if (!addresses)
        return;
    if (u->files++ < NAMES_SHOWN)
        buf_printf(&u->names, "%s%s", u->files > 1 ? ", " : "", name);
    u->addresses += addresses;
    u->of += of;
}

static void unnamed_say(struct unnamed *u, struct buf *warnings)
{
    buf_put_u8(&u->names, 0);
    if (!u->files || !buf_ok(&u->names))
        return;
    buf_printf(warnings, "%s", (const char *)u->names.data);
    if (u->files > NAMES_SHOWN)
        buf_printf(warnings, " and %u more", u->files - NAMES_SHOWN);
    buf_printf(warnings,
               " %s no symbols for %u of %u addresses: they are shown by where their functions"
               " begin. Debug symbols (-dbgsym or -debuginfo packages, or DEBUGINFOD_URLS) would"
               " name them.\n",
               u->files == 1 ? "has" : "have", u->addresses, u->of);
}

static bool image_one(struct symbols *s, const struct symbols_options *options, uint32_t i,
                      struct unnamed *unnamed, struct progress *progress)
{
    const struct profile *p = s->profile;
    struct bucket *b = &s->buckets[i];
    struct image_answer answer;
    struct image_request request = { .image = &p->images[i],
                                     .name = s->image_names[i],
                                     .offsets = b->offsets,
                                     .count = b->count,
                                     .options = *options,
                                     .stored = p->names,
                                     .index = i };
    if (!b->count)
        return true;
    if (!image_resolve(&request, b->locations, &s->pool, &s->warnings, &answer, progress))
        return false;
    unnamed_add(unnamed, s->image_names[i], answer.unnamed, b->count);
    s->levels[i] = (uint8_t)answer.level;
    return true;
}

static int image_size_compare(const void *a, const void *b, void *profile)
{
    const struct profile_image *images = ((const struct profile *)profile)->images;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (images[x].file_size != images[y].file_size)
        return images[x].file_size < images[y].file_size ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* The order of images: as in the profile; where somebody waits for each, those that are soon done
 * first. */
static uint32_t *images_order(const struct profile *p, bool small_first)
{
    uint32_t *order = calloc((size_t)p->image_count + 1, sizeof *order);
    for (uint32_t i = 0; order && i < p->image_count; i++)
        order[i] = i;
    if (order && small_first)
        qsort_r(order, p->image_count, sizeof *order, image_size_compare, (void *)p);
    return order;
}

static bool resolve_all(struct symbols *s, const struct symbols_options *options)
{
    const struct profile *p = s->profile;
    uint64_t total;
    uint32_t *order = images_order(p, options->image_done);
    bool ok = order && addresses_collect(s, &total);
    struct progress progress = { 0 };
    struct unnamed unnamed = { 0 };
    if (ok) {
        images_name(s);
        progress_begin(&progress, "Reading symbols", total);
    }
    for (uint32_t i = 0, more = 1; ok && more && i < p->image_count; i++) {
        ok = image_one(s, options, order[i], &unnamed, &progress);
        if (ok && options->image_done)
            more = options->image_done(options->context, s, order[i]);
    }
    free(order);
    for (uint32_t i = 0; i < p->process_count && ok; i++)
        jit_resolve(s, &p->processes[i], &s->buckets[p->image_count + i]);
    progress_end(&progress);
    unnamed_say(&unnamed, &s->warnings);
    buf_free(&unnamed.names);
    if (ok && !options->image_done)
        runtimes_advise(s, p, &s->warnings);
    buf_put_u8(&s->warnings, 0);
    return ok && pool_ok(&s->pool) && buf_ok(&s->warnings);
}

struct symbols *symbols_load_with(const struct profile *p, const struct symbols_options *options,
                                  struct err *e)
{
    struct symbols *s = calloc(1, sizeof *s);
    if (s) {
        s->profile = p;
        s->bucket_count = p->image_count + p->process_count;
        s->buckets = calloc((size_t)s->bucket_count + 1, sizeof *s->buckets);
        s->image_names = calloc((size_t)p->image_count + 1, sizeof *s->image_names);
        s->levels = calloc((size_t)p->image_count + 1, sizeof *s->levels);
        if (s->buckets && s->image_names && s->levels && resolve_all(s, options))
            return s;
    }
    symbols_free(s);
    err_set(e, ERR_INTERNAL, "cannot read symbols: out of memory");
    return NULL;
}

struct symbols *symbols_load(const struct profile *p, bool quick, struct err *e)
{
    struct symbols_options options = { .detail = quick ? SYMBOLS_QUICK : SYMBOLS_LINES };
    return symbols_load_with(p, &options, e);
}

void symbols_free(struct symbols *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; s->buckets && i < s->bucket_count; i++) {
        free(s->buckets[i].offsets);
        free(s->buckets[i].locations);
    }
    free(s->buckets);
    free(s->image_names);
    free(s->levels);
    buf_free(&s->warnings);
    pool_free(&s->pool);
    free(s);
}

struct symbol_location symbols_find(const struct symbols *s, const struct profile_process *process,
                                    uint32_t image, uint64_t offset)
{
    if (image == PROFILE_IMAGE_PSEUDO && offset < KEY_PSEUDO_COUNT)
        return (struct symbol_location){ &frames_pseudo[offset], 1 };
    uint32_t index = UINT32_MAX;
    if (process && process >= s->profile->processes)
        index = (uint32_t)(process - s->profile->processes);
    const struct bucket *b = bucket_of(s, index, image);
    const uint64_t *found = b && b->count ? bsearch(&offset, b->offsets, b->count, sizeof offset,
                                                    offset_compare)
                                          : NULL;
    if (found && b->locations[found - b->offsets].count)
        return b->locations[found - b->offsets];
    return (struct symbol_location){ &frame_unknown, 1 };
}

bool symbols_keep_image(const struct symbols *s, uint32_t image, struct profile_names *names)
{
    const struct bucket *b = &s->buckets[image];
    if (s->levels[image] == NAMES_NONE)
        return true;
    names->images[image].level = s->levels[image];
    return stored_keep(names, image, b->offsets, b->locations, b->count);
}

bool symbols_keep(const struct symbols *s, struct profile *p, struct err *e)
{
    struct profile_names *names = profile_names_new(p->image_count);
    bool ok = names;
    for (uint32_t i = 0; ok && i < p->image_count; i++)
        ok = symbols_keep_image(s, i, names);
    if (!ok) {
        profile_names_free(names);
        return err_set(e, ERR_INTERNAL, "cannot keep the names: out of memory");
    }
    profile_names_free(p->names);
    p->names = names;
    return true;
}

const char *symbols_image_name(const struct symbols *s, uint32_t image)
{
    if (image < s->profile->image_count)
        return s->image_names[image];
    return image == PROFILE_IMAGE_NONE ? "[jit]" : "";
}

const char *symbols_place_name(const struct symbols *s, uint32_t image, uint64_t offset)
{
    if (image != PROFILE_IMAGE_NONE || !entity_is(offset))
        return symbols_image_name(s, image);
    const struct profile_entity *entity = profile_entity_find(s->profile, offset);
    return entity_kind_place(entity ? entity->kind : ENTITY_KIND_COUNT);
}

const struct profile *symbols_profile(const struct symbols *s)
{
    return s->profile;
}

const char *symbols_warnings(const struct symbols *s)
{
    return (const char *)s->warnings.data;
}
