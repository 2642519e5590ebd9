#include "fleet/words.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "fleet/schema.h"
#include "sigsafe/hash.h"

/* ---- maps ---- */

static size_t slot_of(const struct word_map *m, uint64_t key)
{
    size_t at = (size_t)(hash_word(key) >> 32) & (m->size - 1);
    while (m->keys[at] && m->keys[at] != key)
        at = (at + 1) & (m->size - 1);
    return at;
}

/* UINT32_MAX: it is not there. */
static uint32_t map_find(const struct word_map *m, uint64_t key)
{
    size_t at = m->size ? slot_of(m, key) : 0;
    return m->size && m->keys[at] ? m->values[at] : UINT32_MAX;
}

static bool map_grow(struct word_map *m)
{
    struct word_map grown = {.size = m->size ? m->size * 2 : 1024, .count = m->count};
    grown.keys = calloc(grown.size, sizeof *grown.keys);
    grown.values = calloc(grown.size, sizeof *grown.values);
    if (!grown.keys || !grown.values) {
        free(grown.keys);
        free(grown.values);
        return false;
    }
    for (size_t i = 0; i < m->size; i++)
        if (m->keys[i]) {
            size_t at = slot_of(&grown, m->keys[i]);
            grown.keys[at] = m->keys[i];
            grown.values[at] = m->values[i];
        }
    free(m->keys);
    free(m->values);
    *m = grown;
    return true;
}

/* key: not 0. The first value of a key stays. */
static bool map_add(struct word_map *m, uint64_t key, uint32_t value)
{
    if (m->count * 2 >= m->size && !map_grow(m))
        return false;
    size_t at = slot_of(m, key);
    if (!m->keys[at]) {
        m->keys[at] = key;
        m->values[at] = value;
        m->count++;
    }
    return true;
}

static void map_fini(struct word_map *m)
{
    free(m->keys);
    free(m->values);
}

/* ---- images ---- */

static bool build_id_read(struct profile_image *image, const char *text)
{
    size_t length = strlen(text);
    if (length % 2 || length / 2 > PROFILE_BUILD_ID_MAX ||
        strspn(text, "0123456789abcdef") != length)
        return false;
    for (size_t i = 0; i < length / 2; i++) {
        const char pair[] = {text[2 * i], text[2 * i + 1], '\0'};
        image->build_id[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    image->build_id_size = (uint32_t)(length / 2);
    return true;
}

static bool is_same(const struct profile_image *a, const struct profile_image *b)
{
    return a->build_id_size == b->build_id_size &&
           !memcmp(a->build_id, b->build_id, a->build_id_size) && !strcmp(a->path, b->path);
}

/* The image in the profile, added if it is missing; UINT32_MAX without memory. */
static uint32_t image_take(struct words *w, struct profile *p, const struct profile_image *wanted)
{
    uint64_t key = hash_bytes(wanted->path, strlen(wanted->path)) * 31 +
                   hash_bytes(wanted->build_id, wanted->build_id_size);
    for (;; key++) {
        key += !key;
        uint32_t index = map_find(&w->image_of, key);
        if (index == UINT32_MAX)
            break;
        if (is_same(&p->images[index], wanted))
            return index;
    }
    struct profile_image *grown =
        reallocarray(p->images, (size_t)p->image_count + 1, sizeof *p->images);
    if (!grown)
        return UINT32_MAX;
    p->images = grown;
    grown[p->image_count] = *wanted;
    grown[p->image_count].path = strdup(wanted->path);
    if (!grown[p->image_count].path || !map_add(&w->image_of, key, p->image_count)) {
        free(grown[p->image_count].path);
        return UINT32_MAX;
    }
    return p->image_count++;
}

/* ---- frames ---- */

static bool code_read(struct words *w, struct answer *a, struct tsv *t, char **fields,
                      struct word_frame *to)
{
    struct profile_image image = {.path = fields[3]};
    /* As in the database of a host: a file of the kernel's. */
    if (!strcmp(fields[3], "[vdso]"))
        image.flags = PROFILE_IMAGE_VDSO;
    struct profile_names *names = a->p->names;
    if (!build_id_read(&image, fields[2]) || to->offset > KEY_OFFSET_MASK ||
        to->start > KEY_OFFSET_MASK) {
        tsv_fail(t, "a build-id, and addresses of 48 bits");
        return false;
    }
    to->image = image_take(w, a->p, &image);
    if (to->image == UINT32_MAX || !*fields[6])
        return to->image != UINT32_MAX;
    struct profile_name name = {.start = to->start};
    name.function = profile_names_string(names, fields[6]);
    to->name = name.function == UINT32_MAX ? UINT32_MAX : profile_names_add(names, &name);
    return to->name != UINT32_MAX;
}

static bool entity_read(struct answer *a, struct tsv *t, char **fields, uint64_t kind,
                        struct word_frame *to)
{
    struct profile_entity entity = {.kind = (uint32_t)kind - FRAME_ENTITY, .name = fields[6],
                                    .scope = fields[3], .at = to->offset, .number = to->start};
    entity.id = entity_id(&entity);
    to->image = PROFILE_IMAGE_NONE;
    to->offset = profile_entity_add(a->p, &entity);
    if (!to->offset)
        return err_set(t->e, ERR_INTERNAL, "out of memory");
    return true;
}

bool words_frame(struct words *w, struct answer *a, struct tsv *t, char **fields)
{
    uint64_t number = tsv_u64(t, fields[0]), kind = tsv_u64(t, fields[1]);
    struct word_frame f = {.offset = tsv_u64(t, fields[4]), .start = tsv_u64(t, fields[5]),
                           .name = UINT32_MAX, .guessed = tsv_u64(t, fields[7])};
    bool ok = true;
    if (!number || kind >= FRAME_ENTITY + UINT64_C(256) ||
        (kind > FRAME_PSEUDO && kind < FRAME_ENTITY) ||
        (kind == FRAME_PSEUDO && f.offset >= KEY_PSEUDO_COUNT))
        tsv_fail(t, "a frame");
    if (t->failed)
        return false;
    if (kind == FRAME_CODE)
        ok = code_read(w, a, t, fields, &f);
    else if (kind == FRAME_PSEUDO)
        f.image = PROFILE_IMAGE_PSEUDO;
    else
        ok = entity_read(a, t, fields, kind, &f);
    ok = ok && ARRAY_ROOM(w->frames, w->frame_count, w->frame_capacity) &&
         map_add(&w->frame_of, number, (uint32_t)w->frame_count);
    if (ok)
        w->frames[w->frame_count++] = f;
    else if (!t->failed)
        err_set(t->e, ERR_INTERNAL, "out of memory");
    return ok;
}

const struct word_frame *words_frame_of(const struct words *w, uint64_t number)
{
    uint32_t index = number ? map_find(&w->frame_of, number) : UINT32_MAX;
    return index == UINT32_MAX ? NULL : &w->frames[index];
}

/* ---- stacks ---- */

bool words_stack(struct words *w, struct tsv *t, char **fields)
{
    uint64_t number = tsv_u64(t, fields[0]), frame;
    const char *at = fields[1];
    size_t begin = w->path_count;
    bool ok = ARRAY_ROOM(w->paths, w->path_count, w->path_capacity);
    if (ok)
        w->paths[w->path_count++] = 0;
    while (ok && tsv_list(t, &at, &frame)) {
        ok = ARRAY_ROOM(w->paths, w->path_count, w->path_capacity);
        if (ok) {
            w->paths[w->path_count++] = frame;
            w->paths[begin]++;
        }
    }
    ok = ok && !t->failed && begin < UINT32_MAX &&
         (!number || map_add(&w->stack_of, number, (uint32_t)begin));
    return ok || t->failed || err_set(t->e, ERR_INTERNAL, "out of memory");
}

const uint64_t *words_stack_of(const struct words *w, uint64_t number, uint64_t *count)
{
    static const uint64_t nothing;
    *count = 0;
    if (!number) /* the root itself */
        return &nothing;
    uint32_t at = map_find(&w->stack_of, number);
    if (at == UINT32_MAX)
        return NULL;
    *count = w->paths[at];
    return w->paths + at + 1;
}

void words_fini(struct words *w)
{
    map_fini(&w->frame_of);
    map_fini(&w->stack_of);
    map_fini(&w->image_of);
    free(w->frames);
    free(w->paths);
    *w = (struct words){.frames = NULL};
}
