#include "sigsafe/spool_results.h"

enum { DRAWN_LEAST = 256 };

/* More in entry `index`, which changes places with the one before it if it has become more frequent. */
static void count_up(struct hotlist *list, uint32_t index, uint64_t count)
{
    struct hotlist_entry *entry = &list->entries[index], other;
    entry->count += count;
    if (!index || entry->count <= entry[-1].count)
        return;
    other = *entry;
    *entry = entry[-1];
    entry[-1] = other;
}

static uint32_t index_of(const struct hotlist *list, uint64_t value)
{
    uint32_t i = 0;
    while (i < list->count && list->entries[i].bits != value)
        i++;
    return i;
}

/* While p is 1: all enter. */
static void enter_all(struct hotlist *list, uint64_t value, uint64_t count, struct hotlist_random *r)
{
    uint32_t at = index_of(list, value);
    if (!count)
        return;
    if (at < list->count)
        count_up(list, at, count);
    else
        hotlist_add_kept(list, (struct hotlist_value){.bits = value}, count, true, r);
}

/* `count` results of one value, of which the first `gap` are passed over. How many of those that come next are. Of very
 * many, which may be all that an instruction ever did, single ones are not drawn. */
static uint64_t enter(struct hotlist *list, uint64_t gap, uint64_t value, uint64_t count, struct hotlist_random *r)
{
    while (count > gap) {
        count -= gap + 1;
        hotlist_add_kept(list, (struct hotlist_value){.bits = value}, 1, true, r);
        uint64_t share = count > DRAWN_LEAST ? hotlist_keep_evenly(count, list->steps, r) : 0;
        if (share > DRAWN_LEAST) {
            hotlist_add_kept(list, (struct hotlist_value){.bits = value}, share, true, r);
            count = 0;
        }
        gap = hotlist_draw_gap(list, r);
    }
    return gap - count;
}

/* Which of its stores the thread is killed between decides only how many of the results are not in the spool yet. */
static void store(uint64_t *at, uint64_t value)
{
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
}

static void store_signed(int64_t *at, int64_t value)
{
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
}

/* The front's entries enter the hotlist. Until it is made again there are none: who is killed while p becomes less than 1
 * leaves no front that would go on counting. */
static void front_take(struct result_front *front, struct spool_result *row, struct hotlist_random *r)
{
    for (unsigned i = 0; i < RESULT_FRONT && !row->list.steps; i++) {
        int64_t count = front->of[i].count;
        store_signed(&front->of[i].count, INT64_MIN);
        if (count <= 0)
            continue;
        store(&row->seen, row->seen + (uint64_t)count);
        enter_all(&row->list, front->of[i].value, (uint64_t)count, r);
    }
}

static void front_make(struct result_front *front, const struct spool_result *row)
{
    for (uint32_t i = 0; i < RESULT_FRONT; i++) {
        bool is = !row->list.steps && i < row->list.count;
        store_signed(&front->of[i].count, is ? 0 : INT64_MIN);
        store(&front->of[i].value, is ? row->list.entries[i].bits : 0);
    }
}

static uint64_t kept(const struct hotlist *list)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < list->count; i++)
        sum += list->entries[i].count;
    return sum;
}

/* More are kept than may be: by far fewer, so that it is long until there are too many again. True if p is another one. */
static bool bound(struct hotlist *list, uint64_t seen, uint64_t most, struct hotlist_random *r)
{
    enum { PART = 2 };
    uint64_t left = kept(list);
    uint32_t steps = 0;
    if (most != RESULT_ALL && most > RESULT_LEAST + seen / RESULT_SHARE)
        most = RESULT_LEAST + seen / RESULT_SHARE;
    if (left <= most)
        return false;
    for (; left > most / PART; steps++)
        left -= left / 16 + 1;
    hotlist_thin_evenly(list, steps, r);
    return true;
}

void result_draw_as(struct counts_lead *lead, struct result_front *front, struct spool_result *row, uint64_t value,
                    uint64_t most, struct hotlist_random *r)
{
    struct hotlist *list = &row->list;
    uint64_t same = (uint64_t)-lead->left - 1, passed = row->gap, gap = 0;
    bool all = !list->steps;
    store_signed(&lead->left, 0);
    front_take(front, row, r);
    store(&row->gap, 0);
    store(&row->seen, row->seen + passed + same + 1);
    if (all) {
        enter_all(list, lead->bits, same, r);
        enter_all(list, value, 1, r);
        bound(list, row->seen, most, r);
        gap = hotlist_draw_gap(list, r);
        front_make(front, row);
    } else {
        gap = enter(list, gap, lead->bits, same, r);
        gap = enter(list, gap, value, 1, r);
        if (bound(list, row->seen, most, r))
            gap = hotlist_draw_gap(list, r);
    }
    if (!all || !same || list->steps)
        lead->bits = value;
    store_signed(&lead->left, (int64_t)gap);
    store(&row->gap, gap);
}

static int64_t load_signed(const int64_t *at)
{
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

/* What the hotlist does not know yet enters the copy. False: no such numbers can be. */
static bool copy_rest(struct hotlist *list, uint64_t same, uint64_t bits, const struct result_front *front)
{
    struct hotlist_random random;
    if (same > RESULT_COUNT_MAX || list->observed > RESULT_COUNT_MAX)
        return false;
    hotlist_random_seed(&random, list->observed);
    for (unsigned i = 0; i < RESULT_FRONT && !list->steps; i++) {
        int64_t count = load_signed(&front->of[i].count);
        if (count <= 0)
            continue;
        if ((uint64_t)count > RESULT_COUNT_MAX)
            return false;
        enter_all(list, __atomic_load_n(&front->of[i].value, __ATOMIC_RELAXED), (uint64_t)count, &random);
        list->observed += (uint64_t)count;
    }
    list->observed += same;
    if (list->steps)
        enter(list, 0, bits, same, &random);
    else
        enter_all(list, bits, same, &random);
    return true;
}

bool result_copy(union result_list *to, struct counts_lead lead, const struct result_front *front,
                 const struct spool_result *row)
{
    struct hotlist *list = &to->list;
    uint64_t gap = __atomic_load_n(&row->gap, __ATOMIC_RELAXED), same = lead.left < 0 ? 0 - (uint64_t)lead.left : 0;
    uint64_t left = lead.left < 0 ? 0 : (uint64_t)lead.left;
    list->steps = __atomic_load_n(&row->list.steps, __ATOMIC_RELAXED);
    list->count = __atomic_load_n(&row->list.count, __ATOMIC_RELAXED);
    if (list->count > HOTLIST_CONCISE_MAX + 1 || list->steps > HOTLIST_STEPS_MAX)
        return false;
    for (uint32_t i = 0; i < list->count; i++)
        list->entries[i] = row->list.entries[i];
    /* `left` is stored first: it may be that of the next gap. */
    list->observed = __atomic_load_n(&row->seen, __ATOMIC_RELAXED) + (gap > left ? gap - left : 0);
    /* Killed while the last entry was on its way out: there is no room for another one. */
    return list->count > HOTLIST_CONCISE_MAX || copy_rest(list, same, lead.bits, front);
}
