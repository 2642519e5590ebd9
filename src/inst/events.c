#include "inst/inst.h"

#include "guest/images.h"
#include "sigsafe/hash.h"
#include "sigsafe/key.h"

/* The loader's own lookup may use vector registers. */
static bool image_add_as(uint64_t address)
{
    struct inst_vectors vectors;
    inst_vectors_save_as(&vectors);
    bool added = images_add_as(address);
    inst_vectors_restore_as(&vectors);
    return added;
}

uint64_t inst_key_as(uint64_t address)
{
    const struct unwind_image *image = unwind_index_find_as(images_current_as(), address);
    if (!image && image_add_as(address))
        image = unwind_index_find_as(images_current_as(), address);
    return image ? key_make(image->number, address - image->bias) : key_make(0, address);
}

/* ---- pairs ---- */

static struct spool_inst_pair *pairs_make_as(struct inst_thread *t)
{
    if (t->pairs)
        return t->pairs;
    struct spool_inst_pair *pairs =
        spool_alloc_as(&guest.spool, INST_PAIRS * sizeof(struct spool_inst_pair));
    if (!pairs)
        return NULL;
    t->pairs = pairs;
    __atomic_store_n(&t->counted->pairs, spool_ref_of(&guest.spool, pairs), __ATOMIC_RELEASE);
    return pairs;
}

/* The pair's place among those kept for targets, or among the others; NULL: none is free where it
 * belongs. */
static struct spool_inst_pair *probe_as(struct spool_inst_pair *pairs, uint64_t a, uint64_t b,
                                        bool kept)
{
    uint64_t h = hash_word(a) ^ b * UINT64_C(0xc2b2ae3d27d4eb4f);
    h ^= h >> 32;
    for (unsigned i = 0; i < INST_PAIR_PROBES; i++, h++) {
        uint64_t slot = (kept ? h * INST_KEPT_EVERY : h) % INST_PAIRS;
        struct spool_inst_pair *p = &pairs[slot];
        if (!kept && slot % INST_KEPT_EVERY == 0)
            continue;
        if (p->weight && p->a == a && p->b == b)
            return p;
        if (p->weight)
            continue;
        p->a = a;
        p->b = b;
        return p;
    }
    return NULL;
}

/* Pairs of blocks are many more than targets, and would leave them no place. */
static struct spool_inst_pair *pair_at_as(struct inst_thread *t, uint64_t a, uint64_t b)
{
    struct spool_inst_pair *pairs = pairs_make_as(t), *kept = NULL;
    if (pairs && (a & INST_TARGET))
        kept = probe_as(pairs, a, b, true);
    return kept || !pairs ? kept : probe_as(pairs, a, b, false);
}

/* False: it is the interrupted code's turn. */
static bool busy_begin_as(struct inst_thread *t)
{
    if (t->busy)
        return false;
    t->busy = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return true;
}

static void busy_end_as(struct inst_thread *t)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    t->busy = 0;
}

/* While busy. The weight last: a reader sees a pair that has one. */
static bool pair_add_as(struct inst_thread *t, uint64_t a, uint64_t b, uint64_t weight,
                        uint64_t product)
{
    struct spool_inst_pair *p = pair_at_as(t, a, b);
    if (!p)
        return false;
    p->products += product;
    p->samples++;
    __atomic_store_n(&p->weight, p->weight + weight, __ATOMIC_RELEASE);
    return true;
}

void inst_pairs_as(struct inst_thread *t)
{
    if (!busy_begin_as(t))
        return;
    uint32_t count = t->met_count;
    uint64_t w = t->weight, by = t->pairing;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = i; k < count; k++) {
            struct inst_met *a = &t->met[i], *b = &t->met[k];
            bool ordered = a->id <= b->id;
            uint64_t both = a->times < b->times ? a->times : b->times;
            if (!pair_add_as(t, ordered ? a->id : b->id, ordered ? b->id : a->id,
                             w * both * by, w * w * a->times * b->times * by))
                t->counted->pairs_missed += w * both * by;
        }
    t->met_count = 0;
    busy_end_as(t);
}

static void met_as(struct inst_thread *t, uint32_t id)
{
    bool mine = busy_begin_as(t);
    uint32_t i = 0, count = mine ? t->met_count : 0;
    while (i < count && t->met[i].id != id)
        i++;
    if (!mine || i == INST_MET) {
        uint64_t missed = (uint64_t)t->weight * t->pairing;
        __asm__("addq %1, %0" : "+m"(t->counted->pairs_missed) : "r"(missed) : "cc");
    } else {
        t->met[i].times = i < count ? t->met[i].times + 1 : 1;
        t->met[i].id = id;
        t->met_count = i < count ? count : count + 1;
    }
    if (mine)
        busy_end_as(t);
}

/* ---- the operations ---- */

struct inst_thread *inst_counting_as(const struct penumbra_inst_module *m, uint32_t *weight)
{
    *weight = 0;
    if (!(m->flags & PENUMBRA_INST_EXHAUSTIVE)) {
        struct inst_thread *known = inst_thread_known_as();
        *weight = known ? known->weight : 0;
        return known;
    }
    if (!inst.armed || spool_header(&guest.spool)->state != SPOOL_RUNNING)
        return NULL;
    struct inst_thread *t = inst_thread_as();
    if (!t)
        return NULL;
    *weight = 1;
    t->burst++;
    t->counted->most = t->counted->most ? t->counted->most : 1;
    return t;
}

/* One time more; false: there is no room for its row. */
static bool row_add_as(struct inst_thread *t, uint32_t id, uint32_t weight)
{
    struct spool_inst_row *row = rows_at_as(&t->rows, id);
    if (row)
        inst_row_add_as(row, t->burst, weight);
    else
        __asm__("addq %1, %0" : "+m"(t->counted->rows.missed) : "r"((uint64_t)weight) : "cc");
    return row;
}

void inst_event_as(struct penumbra_inst_module *m, const struct penumbra_inst_block *block)
{
    uint32_t weight;
    struct inst_thread *t = inst_counting_as(m, &weight);
    const struct inst_module *own = m->data;
    if (!weight)
        return;
    uint32_t id = own->first + (uint32_t)(block - m->blocks);
    if (row_add_as(t, id, weight) && t->pairing && own->pairs)
        met_as(t, id);
}

/* ---- values ---- */

/* Of as many bytes as it has. */
static uint64_t whole_as(const struct penumbra_inst_value *value, uint64_t of)
{
    unsigned above = value->bytes && value->bytes < sizeof of ? 64 - 8u * value->bytes : 0;
    uint64_t moved = of << above;
    return value->is_signed ? (uint64_t)((int64_t)moved >> above) : moved >> above;
}

/* While busy. */
static void bytes_add_as(struct inst_thread *t, struct spool_inst_value *v, uint32_t weight,
                         uint64_t bytes)
{
    uint64_t more, sum, product;
    if (v->burst != t->burst)
        v->in_burst = 0;
    v->burst = t->burst;
    if (__builtin_mul_overflow(bytes, weight, &more) ||
        __builtin_add_overflow(v->bytes, more, &v->bytes)) {
        v->bytes = UINT64_MAX;
        return;
    }
    sum = v->in_burst + more;
    if (__builtin_mul_overflow(more, v->in_burst + sum, &product) ||
        __builtin_add_overflow(v->squares, product, &v->squares))
        v->squares = UINT64_MAX;
    v->in_burst = sum;
}

/* While busy. */
static void value_keep_as(struct inst_thread *t, struct spool_inst_value *v, uint64_t of)
{
    struct hotlist *list = &v->list;
    list->observed++;
    if (hotlist_is_kept(list, &t->draws))
        hotlist_add_kept(list, (struct hotlist_value){.bits = of}, 1, true, &t->draws);
}

/* A call edge, too. While busy. */
static bool target_add_as(struct inst_thread *t, uint32_t id, uint32_t weight, uint64_t of)
{
    uint64_t w = weight;
    return pair_add_as(t, INST_TARGET | id, inst_key_as(of), w, w * w);
}

void inst_value_as(struct penumbra_inst_module *m, const struct penumbra_inst_value *value,
                   uint64_t of)
{
    uint32_t weight;
    if (value->kind == PENUMBRA_INST_PATH) {
        inst_path_as(m, value, of + (uint64_t)(int64_t)value->frame);
        return;
    }
    struct inst_thread *t = inst_counting_as(m, &weight);
    const struct inst_module *own = m->data;
    if (!weight)
        return;
    uint32_t id = own->values + (uint32_t)(value - m->values);
    bool mine = row_add_as(t, id, weight) && busy_begin_as(t);
    struct spool_inst_value *v = mine ? rows_at_as(&t->values, id) : NULL;
    bool target = value->kind == PENUMBRA_INST_TARGET;
    uint64_t whole = whole_as(value, of);
    if (target && (!mine || !target_add_as(t, id, weight, of)))
        __asm__("addq %1, %0" : "+m"(t->counted->targets_missed) : "r"((uint64_t)weight) : "cc");
    if (v)
        value_keep_as(t, v, whole);
    else
        __asm__("addq %1, %0" : "+m"(t->counted->values_missed) : "r"((uint64_t)weight) : "cc");
    if (v && value->kind == PENUMBRA_INST_ALLOC)
        bytes_add_as(t, v, weight, whole);
    if (mine)
        busy_end_as(t);
}
