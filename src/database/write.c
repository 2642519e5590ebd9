/* Adds what a daemon has sampled in an interval. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "database/counts.h"
#include "database/internal.h"
#include "profile/kind/kind.h"

/* A dictionary that has grown beyond this is sealed, and the day gets another one: it is in memory,
 * with 110 bytes a node. */
enum { NODES_MANY = 200000, SERVICES_MOST = 4096, NAME_MOST = 255 };

static char generated[] = "(generated code)", nothing[] = "";

/* ---- the part ---- */

static void part_drop(struct store *s)
{
    dictionary_fini(&s->part.words);
    tree_sum_fini(&s->part.tree);
    s->part.id = 0;
}

/* Its nodes become a tree in which they are found. */
static bool part_load(struct store *s, int64_t id, struct err *e)
{
    struct dictionary *words = &s->part.words;
    part_drop(s);
    if (!store_words(s, id, words, e))
        return false;
    bool ok = true, same = true;
    for (uint32_t i = 0; ok && i < words->count; i++) {
        const struct profile_node n = {.image = words->nodes[i].image,
                                       .guessed = words->nodes[i].guessed,
                                       .offset = words->nodes[i].offset};
        uint32_t index = tree_sum_node(&s->part.tree, words->nodes[i].parent, &n);
        ok = index != UINT32_MAX;
        same = same && index == i;
    }
    same = same && ok;
    free(words->nodes);
    words->nodes = NULL;
    words->capacity = 0;
    s->part.id = same ? id : 0;
    return ok ? same || err_set(e, ERR_FORMAT, "a dictionary of the database has a node twice")
              : err_set(e, ERR_INTERNAL, "out of memory");
}

/* Whether what we know of the part is what the database has: garbage may have been collected, and a
 * transaction rolled back. */
static bool part_is_current(struct store *s, int64_t day, bool *current, struct err *e)
{
    int64_t nodes;
    *current = false;
    if (!s->part.id || s->part.day != day)
        return true;
    if (!sql_number(s->db, e, -1, &nodes,
                    "SELECT nodes FROM part WHERE id = ? AND sealed = 0", "i", s->part.id))
        return false;
    *current = nodes == (int64_t)s->part.tree.count;
    return true;
}

static bool part_open(struct store *s, int64_t day, struct err *e)
{
    int64_t id;
    bool current;
    if (s->part.tree.count > NODES_MANY &&
        !sql_run(s->db, e, "UPDATE part SET sealed = 1 WHERE id = ?", "i", s->part.id))
        return false;
    if (!part_is_current(s, day, &current, e) || current)
        return current;
    if (!sql_number(s->db, e, 0, &id,
                    "SELECT id FROM part WHERE host = ? AND day = ? AND sealed = 0 "
                    "ORDER BY id DESC LIMIT 1", "si", s->host, day))
        return false;
    if (!id) {
        if (!sql_run(s->db, e, "INSERT INTO part (host, day) VALUES (?, ?)", "si", s->host, day))
            return false;
        id = sqlite3_last_insert_rowid(s->db);
    }
    s->part.day = day;
    return part_load(s, id, e);
}

/* ---- services ---- */

/* What names are may be anything: they are cut, and those that are too many are one. */
static bool service_find(struct store *s, const struct profile_process *p, int64_t *id,
                         struct err *e)
{
    char name[NAME_MOST + 1], program[NAME_MOST + 1];
    int64_t count;
    strncpy(name, p->command, NAME_MOST);
    strncpy(program, p->name, NAME_MOST);
    name[NAME_MOST] = program[NAME_MOST] = '\0';
    static const char find[] = "SELECT id FROM service WHERE part = ? AND name = ? AND program = ?";
    if (!sql_number(s->db, e, 0, id, find, "iss", s->part.id, name, program) || *id)
        return *id;
    if (!sql_number(s->db, e, 0, &count, "SELECT count(*) FROM service WHERE part = ?", "i",
                    s->part.id))
        return false;
    if (count >= SERVICES_MOST) {
        strcpy(name, "(other)");
        strcpy(program, "(other)");
        if (!sql_number(s->db, e, 0, id, find, "iss", s->part.id, name, program) || *id)
            return *id;
    }
    bool ok = sql_run(s->db, e, "INSERT INTO service (part, name, program) VALUES (?, ?, ?)",
                      "iss", s->part.id, name, program);
    *id = sqlite3_last_insert_rowid(s->db);
    return ok;
}

/* ---- what the profile has ---- */

struct putting {
    struct store *s;
    const struct profile *p;
    const struct store_slot *slot;
    uint32_t *image_of; /* the profile's in the dictionary */
    uint32_t first_image, first_node;
    struct profile_entity *fresh; /* not owned */
    uint32_t fresh_count, fresh_capacity;
    struct profile_names *names; /* new ones, of the dictionary's images; NULL: none */
    struct of_service {
        int64_t id;
        struct counts counts;
    } *services; /* of each process; those of one service follow the first */
    uint32_t service_count;
    struct err *e;
};

static bool no_memory(struct putting *w)
{
    return err_set(w->e, ERR_INTERNAL, "out of memory");
}

static bool images_add(struct putting *w)
{
    struct profile *into = w->s->part.words.p;
    w->first_image = into->image_count;
    w->image_of = calloc((size_t)w->p->image_count + 1, sizeof *w->image_of);
    struct merger m = {.into = into, .from = (struct profile *)w->p, .image_of = w->image_of};
    return (w->image_of && kind_images.merge(&m)) || no_memory(w);
}

static bool fresh_add(struct putting *w, const struct profile_entity *entity)
{
    if (profile_entity_find(w->s->part.words.p, entity->id))
        return true;
    if (!ARRAY_ROOM(w->fresh, w->fresh_count, w->fresh_capacity))
        return no_memory(w);
    w->fresh[w->fresh_count++] = *entity;
    return true;
}

static int compare_entities(const void *a, const void *b)
{
    const struct profile_entity *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* Generated code without a name means nothing outside its process. */
static struct profile_entity nameless_code(void)
{
    struct profile_entity entity = {.kind = ENTITY_GENERATED, .name = generated, .scope = nothing};
    entity.id = entity_id(&entity);
    return entity;
}

static bool entities_add(struct putting *w)
{
    const struct profile_entity unnamed = nameless_code();
    bool ok = fresh_add(w, &unnamed);
    for (uint32_t i = 0; ok && i < w->p->entity_count; i++)
        if (w->p->entities[i].id != unnamed.id)
            ok = fresh_add(w, &w->p->entities[i]);
    if (ok && w->fresh_count)
        qsort(w->fresh, w->fresh_count, sizeof *w->fresh, compare_entities);
    return ok && (profile_entities_merge(w->s->part.words.p, w->fresh, w->fresh_count) ||
                  no_memory(w));
}

static bool names_add(struct putting *w)
{
    struct profile *into = w->s->part.words.p;
    uint32_t images = into->image_count;
    w->names = profile_names_new(images);
    /* Also without names the dictionary's know of all images. */
    struct profile_names *none = w->p->names ? NULL : profile_names_new(w->p->image_count);
    const struct profile_names *names = w->p->names ? w->p->names : none;
    bool ok = w->names && names &&
              profile_names_merge(w->names, names, w->image_of, images) &&
              profile_names_merge(into->names, names, w->image_of, images);
    profile_names_free(none);
    return ok || no_memory(w);
}

/* ---- its trees ---- */

static void node_move(const struct putting *w, struct profile_node *n, uint64_t unnamed)
{
    if (n->image < w->p->image_count)
        n->image = w->image_of[n->image];
    else if (profile_is_private(n->image, n->offset))
        n->offset = unnamed;
    n->calls = 0;
}

static bool thread_add(struct putting *w, const struct profile_thread *t, struct counts *to)
{
    uint32_t count = t->node_count;
    const uint64_t unnamed = nameless_code().id;
    struct profile_node *nodes = calloc((size_t)count + 1, sizeof *nodes);
    uint32_t *index_of = calloc((size_t)count + 1, sizeof *index_of);
    bool ok = nodes && index_of;
    for (uint32_t i = 0; ok && i < count; i++) {
        nodes[i] = t->nodes[i];
        node_move(w, &nodes[i], unnamed);
        nodes[i].self = 0;
    }
    ok = ok && tree_sum_add(&w->s->part.tree, nodes, count, index_of);
    for (uint32_t i = 0; ok && i < count; i++)
        ok = !t->nodes[i].self || counts_add(to, index_of[i], t->nodes[i].self);
    free(nodes);
    free(index_of);
    to->taken += t->taken;
    to->weight += t->weight;
    to->squares += t->weight_squares;
    to->guessed += t->guessed;
    for (unsigned i = 0; i < TRUNC_COUNT; i++)
        to->truncated[i] += t->truncated[i];
    return ok || no_memory(w);
}

static struct counts *service_counts(struct putting *w, int64_t id)
{
    for (uint32_t i = 0; i < w->service_count; i++)
        if (w->services[i].id == id)
            return &w->services[i].counts;
    w->services[w->service_count].id = id;
    return &w->services[w->service_count++].counts;
}

static bool trees_add(struct putting *w)
{
    w->first_node = w->s->part.tree.count;
    w->services = calloc((size_t)w->p->process_count + 1, sizeof *w->services);
    int64_t *of = calloc((size_t)w->p->process_count + 1, sizeof *of);
    if (!w->services || !of) {
        free(of);
        return no_memory(w);
    }
    bool ok = true;
    for (uint32_t i = 0; ok && i < w->p->process_count; i++)
        ok = service_find(w->s, &w->p->processes[i], &of[i], w->e);
    for (uint32_t i = 0; ok && i < w->p->thread_count; i++) {
        const struct profile_thread *t = &w->p->threads[i];
        if (t->taken && t->node_count)
            ok = thread_add(w, t, service_counts(w, of[t->process]));
    }
    free(of);
    return ok;
}

/* ---- the database ---- */

/* The tree's nodes that are new. To free(). */
static struct dictionary_node *new_nodes(const struct putting *w)
{
    const struct tree_sum *tree = &w->s->part.tree;
    uint32_t count = tree->count - w->first_node;
    struct dictionary_node *list = calloc((size_t)count + 1, sizeof *list);
    for (uint32_t i = 0; list && i < count; i++) {
        const struct profile_node *n = &tree->nodes[w->first_node + i];
        list[i] = (struct dictionary_node){.offset = n->offset, .parent = n->parent,
                                           .image = n->image, .guessed = n->guessed};
    }
    return list;
}

static bool segment_write(struct putting *w)
{
    const struct store_part *part = &w->s->part;
    bool named = false;
    for (uint32_t i = 0; i < w->names->image_count; i++)
        named |= w->names->images[i].count != 0;
    if (!named && !w->fresh_count && part->words.p->image_count == w->first_image &&
        part->tree.count == w->first_node)
        return true;
    struct dictionary_node *nodes = new_nodes(w);
    if (!nodes)
        return no_memory(w);
    const struct dictionary_news news = {.first_image = w->first_image,
                                         .first_node = w->first_node,
                                         .nodes = nodes,
                                         .node_count = part->tree.count - w->first_node,
                                         .entities = w->fresh,
                                         .entity_count = w->fresh_count,
                                         .names = named ? w->names : NULL};
    size_t size;
    uint8_t *bytes = dictionary_write(part->words.p, &news, &size, w->e);
    free(nodes);
    const struct sql_blob blob = {bytes, size};
    bool ok = bytes &&
              sql_run(w->s->db, w->e, "INSERT INTO segment (part, bytes) VALUES (?, ?)", "ib",
                      part->id, blob) &&
              sql_run(w->s->db, w->e, "UPDATE part SET nodes = ? WHERE id = ?", "ii",
                      (int64_t)part->tree.count, part->id);
    free(bytes);
    return ok;
}

static bool slot_write(struct putting *w, int64_t *id)
{
    const struct store_slot *t = w->slot;
    bool ok = sql_run(w->s->db, w->e,
                      "INSERT INTO slot (part, begin_ns, end_ns, period_ns, cpus, covered_ns, "
                      "lost, missed_ns, cost_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", "iiiiiiiii",
                      w->s->part.id, t->begin_ns, t->end_ns, (int64_t)t->period_ns,
                      (int64_t)t->cpus, t->end_ns - t->begin_ns, (int64_t)t->lost,
                      (int64_t)t->missed_ns, (int64_t)t->cost_ns);
    *id = sqlite3_last_insert_rowid(w->s->db);
    return ok && (!w->s->run || sql_run(w->s->db, w->e, "UPDATE run SET last_ns = ? WHERE id = ?",
                                        "ii", t->end_ns, w->s->run));
}

/* What is to be freed; NULL: no memory. */
static uint8_t *counts_take(struct of_service *of, struct sql_blob *blob, struct err *e)
{
    size_t size = 0;
    counts_settle(&of->counts);
    uint8_t *bytes = counts_encode(&of->counts, &size, e);
    *blob = (struct sql_blob){bytes, size};
    return bytes;
}

static bool samples_write(struct putting *w, int64_t slot)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < w->service_count; i++) {
        struct of_service *of = &w->services[i];
        struct sql_blob blob;
        uint8_t *bytes = counts_take(of, &blob, w->e);
        ok = bytes && sql_run(w->s->db, w->e,
                              "INSERT INTO samples (service, slot, taken, weight, bytes) "
                              "VALUES (?, ?, ?, ?, ?)", "iiiib",
                              of->id, slot, (int64_t)of->counts.taken,
                              (int64_t)of->counts.weight, blob);
        free(bytes);
    }
    return ok;
}

static void putting_fini(struct putting *w)
{
    for (uint32_t i = 0; i < w->service_count; i++)
        counts_fini(&w->services[i].counts);
    free(w->services);
    free(w->image_of);
    free(w->fresh);
    profile_names_free(w->names);
}

bool store_put(struct store *s, const struct profile *p, const struct store_slot *slot,
               struct err *e)
{
    struct putting w = {.s = s, .p = p, .slot = slot, .e = e};
    int64_t id;
    if (!sql_begin(s->db, e))
        return false;
    bool ok = part_open(s, store_day(slot->begin_ns), e) &&
              store_totals_drop(s, s->part.id, e) && images_add(&w) && entities_add(&w) &&
              names_add(&w) && trees_add(&w) && segment_write(&w) && slot_write(&w, &id) &&
              samples_write(&w, id);
    ok = sql_end(s->db, ok, e);
    /* What it has learnt is not in the database. */
    if (!ok)
        part_drop(s);
    putting_fini(&w);
    return ok;
}

/* ---- a digest ---- */

static bool totals_write(struct putting *w, uint64_t period_ns)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < w->service_count; i++) {
        struct of_service *of = &w->services[i];
        struct sql_blob blob;
        uint8_t *bytes = counts_take(of, &blob, w->e);
        ok = bytes && sql_run(w->s->db, w->e, "INSERT INTO total (service, period_ns, bytes) "
                                              "VALUES (?, ?, ?)", "iib",
                              of->id, (int64_t)period_ns, blob);
        free(bytes);
    }
    return ok;
}

bool store_digest_put(struct store *s, const char *host, int64_t day, const struct profile *p,
                      uint64_t unit_ns, struct err *e)
{
    struct store to = {.db = s->db};
    struct putting w = {.s = &to, .p = p, .e = e};
    const struct profile_node root = {.image = PROFILE_IMAGE_PSEUDO, .offset = KEY_ROOT};
    bool ok = sql_run(s->db, e, "INSERT INTO part (host, day, sealed, summed) VALUES (?, ?, 2, 1)",
                      "si", host, day);
    to.part.id = sqlite3_last_insert_rowid(s->db);
    ok = ok && ((dictionary_init(&to.part.words) &&
                 tree_sum_node(&to.part.tree, UINT32_MAX, &root) != UINT32_MAX) || no_memory(&w));
    ok = ok && images_add(&w) && entities_add(&w) && names_add(&w) && trees_add(&w) &&
         segment_write(&w) && totals_write(&w, unit_ns);
    part_drop(&to);
    putting_fini(&w);
    return ok;
}

/* ---- what has no name yet ---- */

struct nameless {
    const struct profile *p;
    struct profile *out;
    uint32_t *image_of;
    uint32_t capacity; /* of nodes */
};

static bool nameless_add(struct nameless *w, const struct dictionary *words,
                         const struct profile_node *n)
{
    struct profile_thread *to = &w->out->threads[0];
    if (n->image >= w->p->image_count || w->p->images[n->image].flags & PROFILE_IMAGE_VDSO)
        return true;
    uint32_t image = w->image_of[n->image];
    if (image < words->p->image_count && dictionary_name(words->p->names, image, n->offset))
        return true;
    if (!ARRAY_ROOM(to->nodes, to->node_count, w->capacity))
        return false;
    to->nodes[to->node_count] = (struct profile_node){.subtree = 1, .image = n->image,
                                                      .offset = n->offset, .self = 1};
    to->nodes[0].subtree = ++to->node_count;
    return true;
}

static bool nameless_begin(struct nameless *w)
{
    struct profile *out = w->out = profile_new();
    if (!out)
        return false;
    out->threads = calloc(1, sizeof *out->threads);
    out->processes = calloc(1, sizeof *out->processes);
    struct merger m = {.into = out, .from = (struct profile *)w->p,
                       .image_of = calloc((size_t)w->p->image_count + 1, sizeof *m.image_of)};
    /* Images keep their numbers: of a profile no two are the same. */
    bool ok = out->threads && out->processes && m.image_of && kind_images.merge(&m) &&
              out->image_count == w->p->image_count;
    free(m.image_of);
    if (!ok)
        return false;
    out->thread_count = out->process_count = 1;
    out->threads[0].name = strdup("");
    out->processes[0].name = strdup("");
    out->processes[0].command = strdup("");
    struct profile_thread *t = &out->threads[0];
    if (!ARRAY_ROOM(t->nodes, t->node_count, w->capacity))
        return false;
    t->nodes[t->node_count++] = (struct profile_node){.parent = UINT32_MAX, .subtree = 1,
                                                      .image = PROFILE_IMAGE_PSEUDO,
                                                      .offset = KEY_ROOT};
    return t->name && out->processes[0].name && out->processes[0].command;
}

/* Where the dictionary has the profile's images, or would have them. *known: to be freed. */
static bool images_find(const struct nameless *w, const struct profile *words,
                        struct profile *known)
{
    uint32_t *same = calloc((size_t)words->image_count + 1, sizeof *same);
    struct merger m = {.into = known, .from = (struct profile *)words, .image_of = same};
    bool ok = same && kind_images.merge(&m);
    m.from = (struct profile *)w->p;
    m.image_of = w->image_of;
    ok = ok && kind_images.merge(&m);
    free(same);
    return ok;
}

static bool nameless_find(struct store *s, struct nameless *w)
{
    const struct dictionary *words = &s->part.words;
    struct profile *known = profile_new();
    bool ok = nameless_begin(w) && known && images_find(w, words->p, known);
    for (uint32_t i = 0; ok && i < w->p->thread_count; i++)
        for (uint32_t k = 0; ok && k < w->p->threads[i].node_count; k++)
            ok = nameless_add(w, words, &w->p->threads[i].nodes[k]);
    profile_free(known);
    return ok;
}

struct profile *store_nameless(struct store *s, const struct profile *p, int64_t when_ns,
                               struct err *e)
{
    struct nameless w = {.p = p};
    if (!sql_begin(s->db, e))
        return NULL;
    if (!sql_end(s->db, part_open(s, store_day(when_ns), e), e)) {
        part_drop(s);
        return NULL;
    }
    w.image_of = calloc((size_t)p->image_count + 1, sizeof *w.image_of);
    bool ok = w.image_of && nameless_find(s, &w);
    free(w.image_of);
    if (!ok)
        err_set(e, ERR_INTERNAL, "out of memory");
    if (ok && w.out->threads[0].node_count > 1)
        return w.out;
    profile_free(w.out);
    return NULL;
}
