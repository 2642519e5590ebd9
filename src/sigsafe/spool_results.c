#include "sigsafe/spool_results.h"

/* The same results, in front of the one that was `seen`, belong to their entry. First they count as settled: who is
 * killed in between leaves entries that lack some, not such that have them twice. */
static void settle(struct spool_result *row, uint64_t seen)
{
    uint64_t same = seen - row->settled;
    __atomic_store_n(&row->settled, seen + 1, __ATOMIC_RELEASE);
    if (same && row->list.count)
        row->list.entries[row->same].count += same;
}

/* One more in entry `index`, which changes places with the one before it if it has become more frequent. Where it is. */
static uint32_t count_up(struct hotlist *list, uint32_t index)
{
    struct hotlist_entry *entry = &list->entries[index], other;
    entry->count++;
    if (!index || entry->count <= entry[-1].count)
        return index;
    other = *entry;
    *entry = entry[-1];
    entry[-1] = other;
    return index - 1;
}

static uint32_t index_of(const struct hotlist *list, uint64_t value)
{
    uint32_t i = 0;
    while (i < list->count && list->entries[i].bits != value)
        i++;
    return i;
}

static void pass_over(struct result_lead *lead, const struct hotlist *list, struct hotlist_random *r)
{
    lead->until = lead->seen + hotlist_draw_gap(list, r);
    lead->mask = 0;
}

void result_draw_as(struct result_lead *lead, struct spool_result *row, uint64_t bits, uint64_t mask,
                    struct hotlist_random *r)
{
    struct hotlist *list = &row->list;
    uint64_t value = (bits & mask) >> __builtin_ctzll(mask);
    if (list->steps) {
        lead->seen++;
        hotlist_add_kept(list, (struct hotlist_value){.bits = value}, r);
        pass_over(lead, list, r);
        return;
    }
    settle(row, lead->seen++);
    uint32_t at = index_of(list, value);
    if (at < list->count)
        at = count_up(list, at);
    else
        hotlist_append(list, (struct hotlist_value){.bits = value}, 1);
    while (list->count > HOTLIST_CONCISE_MAX)
        hotlist_thin(list, r);
    if (list->steps) {
        pass_over(lead, list, r);
        return;
    }
    row->same = at;
    lead->bits = bits;
    lead->mask = mask;
    lead->until = UINT64_MAX;
}

bool result_copy(union result_list *to, const struct result_lead *lead, const struct spool_result *row)
{
    struct hotlist *list = &to->list;
    uint32_t same = __atomic_load_n(&row->same, __ATOMIC_RELAXED);
    uint64_t entered = 0;
    list->steps = __atomic_load_n(&row->list.steps, __ATOMIC_RELAXED);
    list->count = __atomic_load_n(&row->list.count, __ATOMIC_RELAXED);
    if (list->count > HOTLIST_CONCISE_MAX + 1)
        return false;
    for (uint32_t i = 0; i < list->count; i++) {
        list->entries[i] = row->list.entries[i];
        entered += list->entries[i].count;
    }
    list->observed = __atomic_load_n(&lead->seen, __ATOMIC_RELAXED);
    if (!list->steps && same < list->count && entered < list->observed)
        list->entries[same].count += list->observed - entered;
    return true;
}
