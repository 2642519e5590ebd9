#include "database/fold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sigsafe/hash.h"

/* ---- filters ---- */

static bool is_image(const struct profile_image *image, const char *wanted)
{
    const char *slash = strrchr(image->path, '/');
    char id[2 * PROFILE_BUILD_ID_MAX + 1] = "";
    for (uint32_t i = 0; i < image->build_id_size && i < PROFILE_BUILD_ID_MAX; i++)
        snprintf(id + (size_t)2 * i, sizeof id - (size_t)2 * i, "%02x", image->build_id[i]);
    return !strcmp(image->path, wanted) || (slash && !strcmp(slash + 1, wanted)) ||
           (*id && !strcmp(id, wanted));
}

static bool is_binary(const struct dictionary *words, const struct dictionary_node *n,
                      const char *wanted)
{
    if (n->image < words->p->image_count)
        return is_image(&words->p->images[n->image], wanted);
    const struct profile_entity *entity =
        n->image == PROFILE_IMAGE_NONE ? profile_entity_find(words->p, n->offset) : NULL;
    return entity && (!strcmp(entity_kind_place(entity->kind), wanted) ||
                      (*entity->scope && !strcmp(entity->scope, wanted)));
}

static bool is_function(const struct dictionary *words, const struct folded *at,
                        const char *wanted)
{
    const char *name = at->name ? words->p->names->strings[at->name->function] : NULL;
    if (!name && at->image == PROFILE_IMAGE_NONE) {
        const struct profile_entity *entity = profile_entity_find(words->p, at->offset);
        name = entity ? entity->name : NULL;
    }
    return name && strstr(name, wanted);
}

/* ---- names ---- */

/* Those of the addresses that were met last: most are in many stacks. */
struct recent {
    uint64_t offset;
    const struct profile_name *name;
    uint32_t image; /* + 1; 0: none yet */
};

enum { RECENT_BITS = 14, RECENT_COUNT = 1 << RECENT_BITS };

static const struct profile_name *name_of(struct recent *recent, const struct profile_names *names,
                                          const struct dictionary_node *n)
{
    uint64_t h = hash_word(n->offset ^ (uint64_t)n->image << 40);
    struct recent *r = &recent[h >> (64 - RECENT_BITS)];
    if (r->offset != n->offset || r->image != n->image + 1)
        *r = (struct recent){.offset = n->offset, .image = n->image + 1,
                             .name = dictionary_name(names, n->image, n->offset)};
    return r->name;
}

/* ---- nodes ---- */

static void frame_fold(struct folded *f)
{
    if (!f->name || !f->name->start)
        return;
    f->offset = f->name->start;
    f->guessed = false;
}

bool fold_make(struct fold *f, const struct dictionary *words, const uint32_t *image_of,
               const struct store_query *q)
{
    bool *through = calloc((size_t)words->count + 1, sizeof *through);
    struct recent *recent = calloc(RECENT_COUNT, sizeof *recent);
    *f = (struct fold){.list = reallocarray(NULL, (size_t)words->count + 1, sizeof *f->list)};
    for (uint32_t i = 0; through && recent && f->list && i < words->count; i++) {
        const struct dictionary_node *n = &words->nodes[i];
        struct folded *to = &f->list[f->count++];
        *to = (struct folded){.offset = n->offset, .parent = n->parent, .image = n->image,
                              .guessed = n->guessed};
        if (n->image < words->p->image_count) {
            to->name = name_of(recent, words->p->names, n);
            to->image = image_of[n->image];
        }
        through[i] = !q->function || (i && through[n->parent]) ||
                     is_function(words, to, q->function);
        to->kept = through[i] && (!q->binary || is_binary(words, n, q->binary));
        if (q->fold)
            frame_fold(to);
    }
    free(through);
    free(recent);
    return f->count == words->count;
}

void fold_fini(struct fold *f)
{
    free(f->list);
    *f = (struct fold){0};
}
