#include "tools/calls_fold.h"

#include "sigsafe/key.h"
#include "tools/memory.h"

/* ---- what is referred to ---- */

bool fold_moved_make_as(struct fold_moved *m, uint32_t count)
{
    m->size = 64;
    while (m->size < 2 * count)
        m->size *= 2;
    m->moves = memory_map_as(m->size * sizeof *m->moves);
    return m->moves;
}

void fold_moved_free_as(struct fold_moved *m)
{
    own_unmap_as(m->moves, m->size * sizeof *m->moves);
}

static struct fold_move *move_at(const struct fold_moved *m, spool_ref from)
{
    uint32_t at = from * UINT32_C(0x9e3779b1) & (m->size - 1);
    while (m->moves[at].from && m->moves[at].from != from)
        at = (at + 1) & (m->size - 1);
    return &m->moves[at];
}

void fold_moved_add(struct fold_moved *m, spool_ref from)
{
    move_at(m, from)->from = from;
}

spool_ref fold_moved_to(const struct fold_moved *m, spool_ref from)
{
    return move_at(m, from)->to;
}

/* ---- the old tree ---- */

struct item {
    uint64_t total;  /* calls in it and below */
    spool_ref from, to;
    uint32_t parent; /* an earlier item */
    bool kept;       /* something refers to it, or to what is below */
    bool folded;     /* `to` is a [folded] */
};

struct list {
    struct item *items;
    uint64_t count, room;
};

static bool append(struct list *l, spool_ref from, uint64_t parent)
{
    if (!from)
        return true;
    if (l->count == l->room)
        return false;
    l->items[l->count++] = (struct item){ .from = from, .parent = (uint32_t)parent };
    return true;
}

/* The list is the queue of what is still to be looked at. */
static bool list_fill(const struct spool *spool, struct list *l, spool_ref root)
{
    bool ok = append(l, root, 0);
    for (uint64_t i = 0; ok && i < l->count; i++) {
        const struct cct_node *n = cct_node_at(spool, l->items[i].from);
        l->items[i].total = n->samples;
        ok = append(l, n->child, i) && (i == 0 || (append(l, n->left, l->items[i].parent) &&
                                                   append(l, n->right, l->items[i].parent)));
    }
    return ok;
}

static void totals_add(const struct fold_moved *moved, struct list *l)
{
    for (uint64_t i = l->count; i-- > 1;) {
        struct item *parent = &l->items[l->items[i].parent];
        l->items[i].kept |= move_at(moved, l->items[i].from)->from != 0;
        parent->total += l->items[i].total;
        parent->kept |= l->items[i].kept;
    }
}

static bool is_leaf(const struct spool *spool, const struct item *item)
{
    return !cct_node_at(spool, item->from)->child;
}

static unsigned bin_of(uint64_t total)
{
    return total ? 64 - (unsigned)__builtin_clzll(total) : 0;
}

/* Contexts with fewer calls go. An entry stays or goes with the context that it is in. */
static uint64_t least_find(const struct spool *spool, const struct list *l, uint64_t most)
{
    uint64_t nodes[65] = { 0 }, kept = 0;
    for (uint64_t i = 1; i < l->count; i++) {
        const struct item *item = &l->items[i];
        nodes[bin_of(is_leaf(spool, item) ? l->items[item->parent].total : item->total)]++;
    }
    for (unsigned bin = 64; bin > 0; bin--) {
        kept += nodes[bin];
        if (kept > most / 2)
            return bin < 64 ? UINT64_C(1) << bin : UINT64_MAX;
    }
    return 1;
}

/* ---- the new one ---- */

static void counts_add(struct cct_node *to, const struct cct_node *from)
{
    to->samples += from->samples;
    to->calls = to->calls > UINT32_MAX - from->calls ? UINT32_MAX : to->calls + from->calls;
}

/* False: there is no room. */
static bool item_copy_as(struct cct_store *store, const struct item *parent, struct item *item,
                         uint64_t least)
{
    const struct cct_node *n = cct_node_at(store->spool, item->from);
    bool goes = n->child && item->total < least && !item->kept;
    spool_ref entry = 0;
    item->to = parent->to;
    item->folded = parent->folded;
    if (!parent->folded && (goes || n->key == key_pseudo(KEY_FOLDED))) {
        item->to = cct_child_as(store, parent->to, key_pseudo(KEY_FOLDED));
        item->folded = true;
    } else if (!parent->folded && (n->samples || item->total || item->kept)) {
        item->to = entry = cct_child_as(store, parent->to, n->key);
    }
    if (!item->to)
        return false;
    if (!entry && n->samples)
        entry = n->key == key_pseudo(KEY_FOLDED) ? item->to : cct_child_as(store, item->to, n->key);
    if (n->samples && entry)
        counts_add(cct_node_at(store->spool, entry), n);
    return entry || !n->samples;
}

static bool items_copy_as(struct cct_store *store, struct list *l, uint64_t least)
{
    for (uint64_t i = 1; i < l->count; i++)
        if (!item_copy_as(store, &l->items[l->items[i].parent], &l->items[i], least))
            return false;
    return true;
}

static spool_ref tree_make_as(struct cct_store *to, struct list *l, uint64_t least,
                              struct fold_moved *moved)
{
    const struct cct_node *root = cct_node_at(to->spool, l->items[0].from);
    l->items[0].to = cct_root_as(to, root->key);
    if (!l->items[0].to || !items_copy_as(to, l, least))
        return 0;
    counts_add(cct_node_at(to->spool, l->items[0].to), root);
    for (uint64_t i = 0; i < l->count; i++) {
        struct fold_move *move = move_at(moved, l->items[i].from);
        if (move->from)
            move->to = l->items[i].to;
    }
    return l->items[0].to;
}

spool_ref fold_cold_as(struct cct_store *store, spool_ref root, uint64_t most,
                       struct fold_moved *moved)
{
    struct list l = { .room = *store->nodes + 1 };
    spool_ref made = 0;
    l.items = memory_map_as(l.room * sizeof *l.items);
    if (!l.items)
        return 0;
    if (list_fill(store->spool, &l, root)) {
        uint64_t nodes = 0;
        struct cct_store to = { .spool = store->spool, .nodes = &nodes, .blocks = store->blocks };
        totals_add(moved, &l);
        uint32_t old = cct_blocks_mark(store->blocks);
        made = tree_make_as(&to, &l, least_find(store->spool, &l, most), moved);
        cct_blocks_free(store->blocks, made ? 0 : old, made ? old : UINT32_MAX);
        if (made) {
            store->block = to.block;
            store->block_end = to.block_end;
            *store->nodes = nodes;
        }
    }
    own_unmap_as(l.items, l.room * sizeof *l.items);
    return made;
}
