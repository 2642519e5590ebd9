#include "runtime/trigger/turn.h"

#include "runtime/thread.h"

typedef uint64_t __attribute__((may_alias)) word;
_Static_assert(sizeof(struct rt_clock) % sizeof(word) == 0, "copied in words");

/* No call of memcpy, which an assignment may become. */
static void clocks_exchange(struct rt_clock *a, struct rt_clock *b)
{
    word *x = (word *)(void *)a, *y = (word *)(void *)b;
    for (unsigned i = 0; i < sizeof *a / sizeof *x; i++) {
        word w = x[i];
        x[i] = y[i];
        y[i] = w;
    }
}

#define EXCHANGE(a, b)                                                                             \
    do {                                                                                           \
        __typeof__(a) was = (a);                                                                   \
        (a) = (b);                                                                                 \
        (b) = was;                                                                                 \
    } while (0)

static void exchange(struct rt_thread *t, struct rt_other *o)
{
    clocks_exchange(&t->clock, &o->clock);
    EXCHANGE(t->record, o->record);
    EXCHANGE(t->records, o->records);
    EXCHANGE(t->memo, o->memo);
    EXCHANGE(t->phase, o->phase);
    EXCHANGE(t->memo_depth, o->memo_depth);
    EXCHANGE(t->counted, o->counted);
}

bool turn_to_as(struct rt_thread *t, uint32_t which)
{
    if (t->which == which)
        return true;
    if (which && !t->others[which - 1].record && !thread_other_record_as(t, which))
        return false;
    if (t->which)
        exchange(t, t->others + (t->which - 1));
    if (which)
        exchange(t, t->others + (which - 1));
    t->which = which;
    thread_timeline_as(t);
    return true;
}

/* Where a trigger that does not count is. */
static struct rt_other *place_of(struct rt_thread *t, uint32_t which)
{
    return &t->others[(which ? which : t->which) - 1];
}

struct rt_clock *turn_clock_as(struct rt_thread *t, uint32_t which)
{
    return which == t->which ? &t->clock : &place_of(t, which)->clock;
}

struct spool_thread *turn_record_as(struct rt_thread *t, uint32_t which)
{
    return which == t->which ? t->record : place_of(t, which)->record;
}

bool turn_was_since_as(const struct rt_thread *t)
{
    for (uint32_t i = 0; i < t->other_count; i++)
        if (t->others[i].clock.last_ticks > t->clock.last_ticks)
            return true;
    return false;
}
