#include "sigsafe/spool_results.h"

enum { DRAWN_LEAST = 256 };

/* What of p is not the gate's; 0: all that gets here is kept. */
static uint32_t own_steps(const struct hotlist *list, uint32_t base)
{
    return list->steps > base ? list->steps - base : 0;
}

static bool keeps_all(const struct spool_result *row)
{
    return !own_steps(&row->list, row->base);
}

static uint64_t draw_gap(uint32_t steps, struct hotlist_random *r)
{
    struct hotlist p = {.steps = steps};
    return hotlist_draw_gap(&p, r);
}

/* More in entry `index`, which changes places with the one before it if it has become more
 * frequent. */
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
static void enter_all(struct hotlist *list, uint64_t value, uint64_t count,
                      struct hotlist_random *r)
{
    uint32_t at = index_of(list, value);
    if (!count)
        return;
    if (at < list->count)
        count_up(list, at, count);
    else
        hotlist_add_kept(list, (struct hotlist_value){.bits = value}, count, true, r);
}

/* `count` results of one value, of which the first `gap` are passed over. How many of those that
 * come next are. Of very many, which may be all that an instruction ever did, single ones are not
 * drawn. */
static uint64_t enter(struct hotlist *list, uint32_t base, uint64_t gap, uint64_t value,
                      uint64_t count, struct hotlist_random *r)
{
    while (count > gap) {
        count -= gap + 1;
        hotlist_add_kept(list, (struct hotlist_value){.bits = value}, 1, true, r);
        uint64_t share =
            count > DRAWN_LEAST ? hotlist_keep_evenly(count, own_steps(list, base), r) : 0;
        if (share > DRAWN_LEAST) {
            hotlist_add_kept(list, (struct hotlist_value){.bits = value}, share, true, r);
            count = 0;
        }
        gap = draw_gap(own_steps(list, base), r);
    }
    return gap - count;
}

/* Which of its stores the thread is killed between decides only how many of the results are not in
 * the spool yet. */
static void store(uint64_t *at, uint64_t value)
{
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
}

static void store_signed(int64_t *at, int64_t value)
{
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
}

/* The front's entries enter the hotlist. Until it is made again there are none: who is killed while
 * p becomes less than 1 leaves no front that would go on counting. */
static void front_take(struct result_front *front, struct spool_result *row,
                       struct hotlist_random *r)
{
    for (unsigned i = 0; i < RESULT_FRONT && keeps_all(row); i++) {
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
        bool all = keeps_all(row);
        store_signed(&front->of[i].count, all ? 0 : INT64_MIN);
        store(&front->of[i].value, all && i < row->list.count ? row->list.entries[i].bits : 0);
    }
}

static uint64_t kept(const struct hotlist *list)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < list->count; i++)
        sum += list->entries[i].count;
    return sum;
}

/* How many may be kept of so many. */
static uint64_t most_of(uint64_t seen, uint64_t most)
{
    return most != RESULT_ALL && most > RESULT_LEAST + seen / RESULT_SHARE
               ? RESULT_LEAST + seen / RESULT_SHARE
               : most;
}

/* How many steps of p leave half of what may be kept, about; *left: so many are kept before, and
 * then. */
static uint32_t steps_to_half(uint64_t *left, uint64_t most)
{
    enum { PART = 2 };
    uint32_t steps = 0;
    for (; *left > most / PART; steps++)
        *left -= *left / 16 + 1;
    return steps;
}

/* More are kept than may be: by far fewer, so that it is long until there are too many again. True
 * if p is another one. */
static bool bound(struct spool_result *row, uint64_t most, struct hotlist_random *r)
{
    uint64_t left = kept(&row->list);
    most = most_of(row->seen, most);
    if (left <= most || row->base) /* the gate has bounded it */
        return false;
    hotlist_thin_evenly(&row->list, steps_to_half(&left, most), r);
    return true;
}

/* All that the lead and the front have counted enters the row; the rest of the gap, which is
 * returned, is for whoever comes next. All of row->gap was passed over; `same`: results that are
 * the same as lead->bits. */
static uint64_t settle(struct counts_lead *lead, struct result_front *front,
                       struct spool_result *row, uint64_t same, struct hotlist_random *r)
{
    uint64_t passed = row->gap;
    store_signed(&lead->left, 0);
    front_take(front, row, r);
    store(&row->gap, 0);
    store(&row->seen, row->seen + passed + same);
    if (!keeps_all(row))
        return enter(&row->list, row->base, 0, lead->bits, same, r);
    enter_all(&row->list, lead->bits, same, r);
    return 0;
}

static void go_on(struct counts_lead *lead, struct spool_result *row, uint64_t gap)
{
    store_signed(&lead->left, (int64_t)gap);
    store(&row->gap, gap);
}

void result_draw_as(struct counts_lead *lead, struct result_front *front, struct spool_result *row,
                    uint64_t value, uint64_t most, struct hotlist_random *r)
{
    uint64_t same = (uint64_t)-lead->left - 1;
    bool all = keeps_all(row);
    uint64_t gap = settle(lead, front, row, same, r);
    store(&row->seen, row->seen + 1);
    if (all)
        enter_all(&row->list, value, 1, r);
    else
        gap = enter(&row->list, row->base, gap, value, 1, r);
    if (bound(row, most, r) || all)
        gap = draw_gap(own_steps(&row->list, row->base), r);
    if (all)
        front_make(front, row);
    if (!all || !same || !keeps_all(row))
        lead->bits = value;
    go_on(lead, row, gap);
}

void result_thin(struct counts_lead *lead, struct result_front *front, struct spool_result *row,
                 uint32_t steps, struct hotlist_random *r)
{
    steps -= RESULT_GATE_FIRST;
    uint64_t same = lead->left < 0 ? 0 - (uint64_t)lead->left : 0;
    bool all = keeps_all(row);
    if (lead->left > 0)
        store(&row->gap, row->gap - (uint64_t)lead->left);
    settle(lead, front, row, same, r);
    if (row->list.steps < steps)
        hotlist_thin_evenly(&row->list, steps - row->list.steps, r);
    row->base = steps;
    if (all)
        front_make(front, row);
    go_on(lead, row, draw_gap(own_steps(&row->list, row->base), r));
}

bool result_gate_as(struct counts_gate *gate, struct hotlist_random *r)
{
    uint32_t steps = gate->steps ? gate->steps : RESULT_GATE_FIRST;
    uint64_t kept = hotlist_keep_evenly(gate->count, steps, r),
             most = most_of(gate->count, RESULT_SAMPLED_MOST);
    if (kept > most)
        steps += steps_to_half(&kept, most);
    if (steps > RESULT_GATE_STEPS)
        steps = RESULT_GATE_STEPS;
    bool thins = gate->steps && steps != gate->steps;
    uint64_t gap = draw_gap(steps, r);
    gate->steps = (uint16_t)steps;
    gate->asked = 1;
    __atomic_store_n(&gate->left, gap < COUNTS_GATE_MOST ? (int32_t)gap : COUNTS_GATE_MOST - 1,
                     __ATOMIC_RELEASE);
    return thins;
}

static int64_t load_signed(const int64_t *at)
{
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

/* What the hotlist does not know yet enters the copy. False: no such numbers can be. */
static bool copy_rest(struct hotlist *list, uint32_t base, uint64_t same, uint64_t bits,
                      const struct result_front *front)
{
    struct hotlist_random random;
    bool all = !own_steps(list, base);
    if (same > RESULT_COUNT_MAX || list->observed > RESULT_COUNT_MAX)
        return false;
    hotlist_random_seed(&random, list->observed);
    for (unsigned i = 0; i < RESULT_FRONT && all; i++) {
        int64_t count = load_signed(&front->of[i].count);
        if (count <= 0)
            continue;
        if ((uint64_t)count > RESULT_COUNT_MAX)
            return false;
        enter_all(list, __atomic_load_n(&front->of[i].value, __ATOMIC_RELAXED), (uint64_t)count,
                  &random);
        list->observed += (uint64_t)count;
    }
    list->observed += same;
    if (all)
        enter_all(list, bits, same, &random);
    else
        enter(list, base, 0, bits, same, &random);
    return true;
}

bool result_copy(union result_list *to, struct counts_lead lead, const struct result_front *front,
                 const struct spool_result *row, bool gated)
{
    struct hotlist *list = &to->list;
    uint64_t gap = __atomic_load_n(&row->gap, __ATOMIC_RELAXED),
             same = lead.left < 0 ? 0 - (uint64_t)lead.left : 0;
    uint64_t left = lead.left < 0 ? 0 : (uint64_t)lead.left;
    uint32_t base = __atomic_load_n(&row->base, __ATOMIC_RELAXED);
    list->steps = __atomic_load_n(&row->list.steps, __ATOMIC_RELAXED);
    list->count = __atomic_load_n(&row->list.count, __ATOMIC_RELAXED);
    if (list->count > HOTLIST_CONCISE_MAX + 1 || list->steps > HOTLIST_STEPS_MAX)
        return false;
    for (uint32_t i = 0; i < list->count; i++)
        list->entries[i] = row->list.entries[i];
    /* `left` is stored first: it may be that of the next gap. */
    list->observed = __atomic_load_n(&row->seen, __ATOMIC_RELAXED) + (gap > left ? gap - left : 0);
    /* Killed while the last entry was on its way out: there is no room for another one. */
    if (list->count <= HOTLIST_CONCISE_MAX && !copy_rest(list, base, same, lead.bits, front))
        return false;
    list->steps += gated ? RESULT_GATE_FIRST : 0;
    return true;
}
