/* What samples cost the thread, measured in it.
 *
 *     the period expires      the handler begins      it ends      the program goes on
 *              |------ latency ------|------ cost ------|------ return ------|
 *
 * Cost is read off the time stamp counter. Where that took long, the thread may have been switched
 * out: then the thread's CPU clock bounds it, which is read at the entry of one sample in TURNS,
 * and of each tick of discovery.
 *
 * Delivery is latency and return, and what the interruption has displaced from caches. Where the
 * event has just been set, the moment of its expiry is known on the thread's CPU clock, and so the
 * latency. WHOLE, in percent of it, is set so that the account meets what is measured
 * (bench/run.py account). The collector has measured latency L and whole delivery D of an empty
 * handler in a loop. A delivery is no cheaper than that, and no dearer than MOST times L allows;
 * where no latency is known, it is COLD percent of that: programs use their caches.
 *
 *     delivery = max(D, min(latency, MOST * L) * WHOLE / 100), or D * COLD / 100
 *
 * A signal that no timer of its own brings (at a kernel tick, at a page fault, at the end of a
 * short wait) is charged the collector's price of one at a kernel tick, as much more as latencies
 * are.
 *
 * A period that expires in the kernel, where that is not seen, or while a signal is pending,
 * interrupts the thread too. It costs a delivery less a signal, whose price the collector has
 * measured as well. */
#include "runtime/thread.h"
#include "runtime/trigger/internal.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/sample_path.h"
#include "sigsafe/sys.h"

enum { SHORT_US = 20, TURNS = 4, BURST_US = 200, WHOLE = 140, COLD = 300, SIGNAL_COLD = 120,
      SWITCH_COLD = 2, MOST = 8 };

/* Of the process: where a thread begins. 0: not measured yet. */
static uint64_t process_latency_ns;

static uint64_t ns_to_ticks(uint64_t ns)
{
    return ns * ticks_per_us() / 1000u;
}

void account_begin_as(struct rt_thread *t)
{
    t->account =
        (struct rt_account){.latency_ns = __atomic_load_n(&process_latency_ns, __ATOMIC_RELAXED)};
}

/* The median of the last few: a period that expires in a page fault is delivered at its end, so
 * single ones say nothing. */
static uint64_t latency_median(const struct rt_account *a)
{
    uint32_t sorted[ACCOUNT_LATENCIES] = {0},
             count = a->measured < ACCOUNT_LATENCIES ? a->measured : ACCOUNT_LATENCIES;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        for (; at && sorted[at - 1] > a->latencies[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = a->latencies[i];
    }
    return sorted[count / 2];
}

void account_set_as(struct rt_thread *t)
{
    t->account.set = true;
}

/* The clock stands still as the event does while the thread is switched out. */
void account_latency_as(struct rt_thread *t, uint64_t expiry_cpu_ns, uint64_t ticks_at_entry)
{
    uint64_t now = cpu_clock_as(t), since_entry = ticks_to_ns(sys_ticks_as() - ticks_at_entry);
    t->account.set = false;
    uint64_t before = expiry_cpu_ns + since_entry;
    if (now <= before || now - before >= t->clock.period || now - before > UINT32_MAX)
        return;
    t->account.latencies[t->account.measured++ % ACCOUNT_LATENCIES] = (uint32_t)(now - before);
    t->account.latency_ns = latency_median(&t->account);
    __atomic_store_n(&process_latency_ns, t->account.latency_ns, __ATOMIC_RELAXED);
}

/* The collector's, where the latency is shorter. */
static uint64_t latency_credible(uint64_t latency_ns)
{
    uint64_t least = rt.config->latency_ns, most = least * MOST;
    return latency_ns < least ? least : most && latency_ns > most ? most : latency_ns;
}

/* As much more than in the collector's loop as the latency is. */
static uint64_t colder(uint64_t price_ns, uint64_t latency_ns)
{
    uint64_t least = rt.config->latency_ns;
    return least ? price_ns * latency_credible(latency_ns) / least : price_ns;
}

static uint64_t signal_price(uint64_t latency_ns)
{
    return colder((uint64_t)rt.config->tick_ns * SIGNAL_COLD / 100, latency_ns);
}

/* Of one that a timer of its own brings. */
static uint64_t delivery_price(uint64_t latency_ns)
{
    uint64_t loop = rt.config->delivery_ns, whole = latency_credible(latency_ns) * WHOLE / 100;
    if (!latency_ns)
        return loop * COLD / 100;
    return whole > loop ? whole : loop;
}

uint64_t account_price_as(const struct rt_thread *t)
{
    bool ticks = t->timer >= 0 && !t->which && guest.process->mechanism == MECHANISM_PERF;
    return ticks || t->clock.weightless || !trigger_is_time(t->clock.trigger)
               ? signal_price(t->account.latency_ns)
               : delivery_price(t->account.latency_ns);
}

/* The timer's part of a delivery. */
void account_unseen_as(struct rt_thread *t, uint64_t expirations)
{
    uint64_t delivery = delivery_price(t->account.latency_ns),
             signal = signal_price(t->account.latency_ns);
    if (expirations && delivery > signal)
        t->record->delivered_ns += expirations * (delivery - signal);
}

uint64_t trigger_price_as(void)
{
    return delivery_price(__atomic_load_n(&process_latency_ns, __ATOMIC_RELAXED));
}

/* Stopping an event and starting it programs the processor's timer where its expiry is the next of
 * all. The collector has measured that at the period that was asked for; with a longer one it is as
 * much rarer. */
static uint64_t switch_price(uint64_t period_ns)
{
    uint64_t near = rt.config->switch_ns, far = rt.config->switch_far_ns;
    uint64_t measured = rt.config->period;
    return period_ns <= measured || far >= near ? near : far + (near - far) * measured / period_ns;
}

/* Who is preempted finds its caches full of what others have done meanwhile. */
void account_switches_as(struct rt_thread *t, struct rt_switches s)
{
    uint64_t price = switch_price(t->clock.period), cold = colder(price, t->account.latency_ns);
    t->record->switches += s.waits + s.preempted;
    t->record->switched_ns +=
        s.waits * price + s.preempted * (cold < SWITCH_COLD * price ? cold : SWITCH_COLD * price);
}

void account_enter_as(struct rt_thread *t)
{
    struct rt_account *a = &t->account;
    a->entry_cpu_ns = a->turn++ % TURNS ? 0 : cpu_clock_as(t);
}

/* What took long, in ticks of the time stamp counter: by the thread's clock, if that was read at
 * the entry; else as long as the last one for which it was. No clock tells of other triggers: a
 * long time is believed when the one before was as long. */
static uint64_t cost_bound(struct rt_thread *t, uint64_t cost, uint64_t before)
{
    struct rt_account *a = &t->account;
    uint64_t credible = SHORT_US * ticks_per_us();
    if (a->entry_cpu_ns && !rt_quiet_as()) {
        uint64_t now = cpu_clock_as(t);
        a->typical = now > a->entry_cpu_ns ? ns_to_ticks(now - a->entry_cpu_ns) : 0;
    }
    if (a->typical)
        return a->typical < cost ? a->typical : cost;
    if (t->clock.trigger != TRIGGER_CPU && before > credible)
        credible = before;
    return cost < credible ? cost : credible;
}

/* In ticks of the time stamp counter. */
SAMPLE_PATH
static uint64_t cost_credible(struct rt_thread *t, uint64_t cost, uint64_t before)
{
    return cost <= SHORT_US * ticks_per_us() ? cost : cost_bound(t, cost, before);
}

uint64_t account_so_far_as(struct rt_thread *t, uint64_t ticks_at_entry)
{
    return ticks_to_ns(cost_credible(t, sys_ticks_as() - ticks_at_entry, t->account.last_cost));
}

SAMPLE_PATH
uint64_t account_call_as(struct rt_thread *t, uint64_t ticks_at_entry)
{
    uint64_t before = t->account.last_cost, cost = sys_ticks_as() - ticks_at_entry;
    t->account.last_cost = cost;
    cost = cost_credible(t, cost, before);
    t->record->cost_ticks += cost;
    return cost;
}

/* There are as many of such signals however rare samples are: the window goes on without. */
static void window_without(struct rt_thread *t, uint64_t cost, uint64_t price)
{
    t->clock.window_deliveries++;
    t->clock.window_cost_ticks += cost;
    t->clock.window_delivered_ns += price;
}

SAMPLE_PATH
uint64_t account_finish_as(struct rt_thread *t, uint64_t ticks_at_entry)
{
    uint64_t cost = account_call_as(t, ticks_at_entry), price = account_price_as(t);
    t->record->delivered_ns += price;
    t->account.entry_cpu_ns = 0;
    if (t->clock.weightless)
        window_without(t, cost, price);
    return cost;
}

/* The first one touches much, and one that finds a thread makes its events. */
static uint64_t ticked_cost(uint64_t ticks_at_entry, uint64_t entry_cpu_ns)
{
    uint64_t cost = sys_ticks_as() - ticks_at_entry;
    if (cost <= SHORT_US * ticks_per_us())
        return cost;
    uint64_t most = ns_to_ticks(thread_cpu_ns_as() - entry_cpu_ns);
    return cost < most ? cost : most;
}

void trigger_ticked_as(struct rt_thread *t, uint64_t ticks_at_entry, uint64_t entry_cpu_ns)
{
    ticks_discovered_as(t);
    uint64_t cost = ticked_cost(ticks_at_entry, entry_cpu_ns),
             price = delivery_price(t->account.latency_ns);
    t->record->deliveries++;
    t->record->cost_ticks += cost;
    t->record->delivered_ns += price;
    window_without(t, cost, price);
}

uint64_t account_bound_as(struct rt_thread *t, uint64_t cpu_ns)
{
    uint64_t ours = t->record->cost_ticks - t->clock.window_cost_ticks, most = ns_to_ticks(cpu_ns);
    if (ours > most)
        t->record->cost_ticks -= ours - most;
    return ours < most ? ticks_to_ns(ours) : cpu_ns;
}

uint64_t trigger_burst_as(struct rt_thread *t, uint64_t ticks)
{
    uint64_t credible = ns_to_ticks(1000 * BURST_US);
    uint64_t cost = ticks < credible ? ticks : credible;
    t->record->cost_ticks += cost;
    return ticks_to_ns(cost);
}

void trigger_took_as(struct rt_thread *t, uint64_t cpu_ns)
{
    uint64_t ticks = ns_to_ticks(cpu_ns);
    /* samples of this thread add to it */
    __atomic_fetch_add(&t->record->cost_ticks, ticks, __ATOMIC_RELAXED);
    t->clock.window_cost_ticks += ticks;
}
