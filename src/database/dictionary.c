#include "database/dictionary.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/container.h"
#include "profile/kind/kind.h"
#include "profile/kind/names.h"

#define WHERE "a dictionary of the database"

static const struct section_type nodes_section = {1, "nodes", SECTION_REQUIRED};

static const struct section_type *lookup(uint32_t number)
{
    const struct section_type *const all[] = {&nodes_section, &kind_images.type,
                                              &kind_entities.type, &kind_names.type};
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i]->number == number)
            return all[i];
    return NULL;
}

bool dictionary_init(struct dictionary *d)
{
    *d = (struct dictionary){.p = profile_new()};
    if (d->p)
        d->p->names = profile_names_new(0);
    if (!d->p || !d->p->names || !ARRAY_ROOM(d->nodes, d->count, d->capacity))
        return false;
    d->nodes[d->count++] = (struct dictionary_node){.offset = KEY_ROOT, .parent = UINT32_MAX,
                                                    .image = PROFILE_IMAGE_PSEUDO};
    return true;
}

void dictionary_fini(struct dictionary *d)
{
    profile_free(d->p);
    free(d->nodes);
    *d = (struct dictionary){0};
}

/* ---- writing ---- */

enum { IMAGE_NONE, IMAGE_PSEUDO, IMAGE_FIRST };

static void put_node(struct buf *b, const struct dictionary_node *n, uint32_t index)
{
    uint64_t image = n->image == PROFILE_IMAGE_NONE     ? IMAGE_NONE
                     : n->image == PROFILE_IMAGE_PSEUDO ? IMAGE_PSEUDO
                                                        : (uint64_t)n->image + IMAGE_FIRST;
    buf_put_uleb(b, index - n->parent);
    buf_put_uleb(b, image * 2 + n->guessed);
    buf_put_uleb(b, n->offset);
}

uint8_t *dictionary_write(const struct profile *p, const struct dictionary_news *news,
                          size_t *size, struct err *e)
{
    enum { SECTIONS = 4 };
    struct section_out out[SECTIONS] = {{.type = &kind_images.type},
                                        {.type = &kind_entities.type},
                                        {.type = &kind_names.type},
                                        {.type = &nodes_section}};
    const struct profile view = {.images = p->images + news->first_image,
                                 .image_count = p->image_count - news->first_image,
                                 .entities = (struct profile_entity *)news->entities,
                                 .entity_count = news->entity_count};
    const struct encoder x = {.p = &view};
    kind_images.put(&out[0].raw, &x);
    kind_entities.put(&out[1].raw, &x);
    if (news->names)
        kind_names_write(&out[2].raw, news->names);
    buf_put_uleb(&out[3].raw, news->node_count);
    for (uint32_t i = 0; i < news->node_count; i++)
        put_node(&out[3].raw, &news->nodes[i], news->first_node + i);
    uint8_t *bytes = container_finish(CONTAINER_DICTIONARY, out, SECTIONS, true, size, e);
    for (unsigned i = 0; i < SECTIONS; i++)
        buf_free(&out[i].raw);
    return bytes;
}

/* ---- reading ---- */

struct reading {
    struct dictionary *to;
    struct profile *part; /* images and entities of the segment */
    struct decoder decoder;
    struct err *e;
};

static bool image_is_known(const struct profile *p, uint32_t image, uint64_t offset)
{
    if (image == PROFILE_IMAGE_NONE)
        return true;
    return image == PROFILE_IMAGE_PSEUDO ? offset < KEY_PSEUDO_COUNT
                                         : image < p->image_count && offset <= KEY_OFFSET_MASK;
}

static void get_node(struct reading *r, struct cursor *c)
{
    struct dictionary *d = r->to;
    uint64_t back = cursor_uleb(c, d->count, "the way back to a node's parent");
    uint64_t frame = cursor_uleb(c, (uint64_t)UINT32_MAX * 2 + 1, "the image of a node");
    uint64_t offset = cursor_uleb(c, UINT64_MAX, "the offset of a node");
    uint64_t image = frame / 2;
    uint32_t index = image == IMAGE_NONE     ? PROFILE_IMAGE_NONE
                     : image == IMAGE_PSEUDO ? PROFILE_IMAGE_PSEUDO
                                             : (uint32_t)(image - IMAGE_FIRST);
    if (c->failed)
        return;
    if (!back || !image_is_known(d->p, index, offset) || d->count >= DICTIONARY_NODES_MOST) {
        cursor_fail(c, "a node whose parent and image are known");
        return;
    }
    if (!ARRAY_ROOM(d->nodes, d->count, d->capacity)) {
        read_no_memory(c);
        return;
    }
    d->nodes[d->count] = (struct dictionary_node){.offset = offset,
                                                  .parent = d->count - (uint32_t)back,
                                                  .image = index, .guessed = frame & 1};
    d->count++;
}

static void get_nodes(struct reading *r, struct cursor *c)
{
    uint32_t count = cursor_count(c, 3, "a number of nodes that fits");
    for (uint32_t i = 0; i < count && !c->failed; i++)
        get_node(r, c);
}

/* Images are numbered on: two that are the same would be one. */
static void get_images(struct reading *r, struct cursor *c)
{
    struct profile *into = r->to->p;
    uint32_t before = into->image_count;
    kind_images.get(&r->decoder, c);
    struct merger m = {.into = into, .from = r->part,
                       .image_of = calloc((size_t)r->part->image_count + 1, sizeof *m.image_of)};
    if (!c->failed && (!m.image_of || !kind_images.merge(&m)))
        read_no_memory(c);
    if (!c->failed && into->image_count - before != r->part->image_count)
        cursor_fail(c, "images that are there once");
    free(m.image_of);
}

static void get_entities(struct reading *r, struct cursor *c)
{
    kind_entities.get(&r->decoder, c);
    if (!c->failed && !profile_entities_merge(r->to->p, r->part->entities, r->part->entity_count))
        cursor_fail(c, "entities whose numbers are theirs alone");
}

static void get_names(struct reading *r, struct cursor *c)
{
    struct profile *into = r->to->p;
    uint32_t *same = calloc((size_t)into->image_count + 1, sizeof *same);
    struct profile_names *names = NULL;
    if (same && c->size)
        names = kind_names_read(c->data, c->size, into->image_count);
    for (uint32_t i = 0; same && i < into->image_count; i++)
        same[i] = i;
    if (same && c->size && !names)
        cursor_fail(c, "names of functions");
    else if (!same ||
             (names && !profile_names_merge(into->names, names, same, into->image_count)))
        read_no_memory(c);
    c->at = c->size;
    profile_names_free(names);
    free(same);
}

static bool get_section(struct reading *r, const struct container *in,
                        const struct section_type *type, void (*get)(struct reading *,
                                                                     struct cursor *))
{
    struct section_in found;
    struct cursor c = {.file = WHERE, .section = type->name, .e = r->e};
    if (!container_find(in, type->number, &found))
        return err_set(r->e, ERR_FORMAT, WHERE " has no %s", type->name);
    uint8_t *raw = container_load(in, &found, &c.size, r->e);
    if (!raw)
        return false;
    c.data = raw;
    get(r, &c);
    bool ok = cursor_end(&c);
    free(raw);
    return ok;
}

bool dictionary_read(struct dictionary *d, const uint8_t *data, size_t size, struct err *e)
{
    struct container in = {.lookup = lookup};
    if (!container_open(&in, data, size, WHERE, e))
        return false;
    if (in.kind != CONTAINER_DICTIONARY)
        return err_set(e, ERR_FORMAT, WHERE " is none");
    struct reading r = {.to = d, .part = profile_new(), .e = e};
    r.decoder = (struct decoder){.p = r.part, .e = e};
    bool ok = r.part && get_section(&r, &in, &kind_images.type, get_images) &&
              get_section(&r, &in, &kind_entities.type, get_entities) &&
              get_section(&r, &in, &kind_names.type, get_names) &&
              get_section(&r, &in, &nodes_section, get_nodes);
    if (!r.part)
        err_set(e, ERR_INTERNAL, "out of memory");
    profile_free(r.part);
    return ok;
}

/* ---- names ---- */

const struct profile_name *dictionary_name(const struct profile_names *n, uint32_t image,
                                           uint64_t offset)
{
    if (image >= n->image_count)
        return NULL;
    const struct profile_named_image *m = &n->images[image];
    uint32_t low = ARRAY_LEADING(m->count, i, m->places[i].offset <= offset);
    if (!low)
        return NULL;
    const struct profile_named_place *at = &m->places[low - 1];
    if (at->offset == offset || (low < m->count && at->name == at[1].name))
        return &n->names[at->name];
    return NULL;
}
