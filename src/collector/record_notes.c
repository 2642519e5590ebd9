#include "collector/record_notes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "collector/events.h"
#include "collector/record_heap.h"
#include "profile/coverage.h"
#include "profile/profile.h"
#include "profile/spool_read.h"
#include "sigsafe/key.h"
#include "sigsafe/settings.h"
#include "sigsafe/shadow_place.h"
#include "sigsafe/spool_counts.h"
#include "x86/format.h"

static uint32_t first_arm_error(const struct profile *p)
{
    for (uint32_t i = 0; i < p->process_count; i++)
        if (p->processes[i].arm_error && p->processes[i].arm_error != ARM_ERROR_STOPS)
            return p->processes[i].arm_error;
    return 0;
}

static const char *arm_error_text(uint32_t error)
{
    if (error == ARM_ERROR_TRACED)
        return "it runs under a debugger or tracer, which would see every sample";
    if (error == ARM_ERROR_TRANSLATED)
        return "it runs inside valgrind or another translator, which takes our signals for its own";
    if (error == ARM_ERROR_OWN_ALLOCATOR)
        return "it has a malloc of its own, which is called instead of the interposed one";
    return strerror((int)error);
}

/* Threads whose trigger was ended since they are traced, or those in which it could not be set. */
static uint64_t unarmed(const struct profile *p, bool stops)
{
    uint64_t threads = 0;
    for (uint32_t i = 0; i < p->process_count; i++)
        if ((p->processes[i].arm_error == ARM_ERROR_STOPS) == stops)
            threads += p->processes[i].unarmed;
    return threads;
}

static void put_stops(struct buf *b, const struct profile *p)
{
    uint64_t threads = unarmed(p, true);
    if (!threads)
        return;
    buf_printf(b, "samples ended in ");
    buf_put_count(b, threads, "thread", "threads");
    buf_printf(b,
               " when a debugger or tracer came: each of its stops is an event for -e %s, and so "
               "would make the next one\n",
               p->metrics[0].trigger);
}

/* Threads of which nothing is known, and why. */
static void put_unarmed(struct buf *b, const struct profile *p)
{
    uint32_t error = first_arm_error(p);
    uint64_t threads = unarmed(p, false);
    bool in_kernel = !strcmp(p->metrics[0].trigger, "wall") ||
                     !strcmp(p->metrics[0].trigger, "context-switches");
    if (!error)
        return;
    buf_printf(b, "the trigger could not be set in ");
    if (threads)
        buf_put_count(b, threads, "thread", "threads");
    else
        buf_puts(b, "some threads");
    buf_printf(b, ": %s", arm_error_text(error));
    if (error == EACCES && in_kernel)
        buf_printf(b,
                   " (-e %s needs events inside the kernel, which a program that has dropped its "
                   "rights does not get; sysctl "
                   "kernel.perf_event_paranoid=1 allows them)",
                   p->metrics[0].trigger);
    buf_puts(b, "\n");
}

static void put_ticking(struct buf *b, const struct profile *p)
{
    uint64_t threads = 0;
    for (uint32_t i = 0; i < p->process_count; i++)
        threads += p->processes[i].ticking;
    if (!threads)
        return;
    buf_put_count(b, threads, "thread", "threads");
    buf_puts(
        b,
        " switched so often that events would have slowed it down: sampled at the kernel's ticks "
        "meanwhile "
        "(100 to 1000 times a second), each sample standing for all periods since the last one\n");
}

/* Processes some of whose threads have not got the event that the recording began with: they came
 * to it without rights. */
static void put_user_mode(struct buf *b, const struct record_spool *s, const struct profile *p)
{
    uint64_t processes = 0;
    bool is_cpu = !strcmp(p->metrics[0].trigger, "cpu");
    for (uint32_t i = 0; i < p->process_count; i++)
        processes += p->processes[i].exclude_kernel != 0;
    if (!processes || settings_sampling(&s->spool)->exclude_kernel)
        return;
    buf_printf(b, "%s inside the kernel is not sampled in some threads of ",
               is_cpu ? "time" : p->metrics[0].trigger);
    buf_put_count(b, processes, "process", "processes");
    buf_printf(
        b,
        ", which had dropped %s rights by then%s (sysctl kernel.perf_event_paranoid=1 allows it)\n",
        processes == 1 ? "its" : "their", is_cpu ? ": it is [unattributed]" : "");
}

static void put_sandbox(struct buf *b, const struct profile *p)
{
    const struct profile_left_out out = profile_left_out(p);
    buf_puts(b, "the program entered a sandbox (seccomp), and ");
    buf_put_count(b, out.threads, "thread", "threads");
    buf_puts(b, " and ");
    buf_put_count(b, out.processes, "process", "processes");
    buf_puts(b, " were made there that are not observed");
    if (out.silenced) {
        buf_puts(b, "; ");
        buf_put_count(b, out.silenced, "thread is", "threads are");
        buf_puts(b, " not sampled in it, as a sample could end or stop the program there");
    }
    buf_puts(b, "\n");
}

/* Of a profile that is not empty, how much more there was. */
static void put_unseen(struct buf *b, const struct profile *p)
{
    const struct profile_left_out out = profile_left_out(p);
    if (!out.threads && !out.processes && !out.silenced)
        return;
    buf_puts(b, "not recorded, as it was made in a sandbox (seccomp), or a sample there could end "
                "the program: ");
    buf_put_count(b, out.threads + out.silenced, "thread", "threads");
    buf_puts(b, " and ");
    buf_put_count(b, out.processes, "process", "processes");
    buf_puts(b, ", with all that these began\n");
}

/* Why a profile is empty, as far as it can be known. */
static void put_reason(struct buf *b, const struct profile *p, const struct profile_totals *t)
{
    enum { MANY = 30 }; /* periods, in which something that ran would have been sampled */
    const struct profile_counts *code = observed_code(p);
    buf_puts(b, "nothing was sampled: ");
    if (code && tools_of_compiled(code->tools))
        buf_puts(b, p->process_count ? "no check has been a sample (more often: --interval)\n"
                                     : "no code ran that penumbra cc has instrumented\n");
    else if (!p->process_count)
        buf_puts(b, "libpenumbra-rt.so was never loaded (the program cleared LD_PRELOAD or ended "
                    "before its libraries were loaded)\n");
    else if (first_arm_error(p))
        buf_printf(b, "the trigger could not be set in the program: %s\n",
                   arm_error_text(first_arm_error(p)));
    else if (t->sandboxed && !profile_is_exact(p))
        put_sandbox(b, p);
    else if (t->dropped_all)
        buf_puts(b, "every sample was dropped\n");
    else if (profile_is_exact(p))
        buf_puts(b, "the engine could not begin (penumbra report says why: stopped)\n");
    else if (!strcmp(p->metrics[0].trigger, "cpu"))
        buf_printf(b, "the program used %.1f ms of CPU time, and a sample is taken every %.1f ms "
                      "(a higher rate: -F; waiting time: -e wall)\n",
                   (double)t->cpu_ns / 1e6, (double)p->metrics[0].period / 1e6);
    else if (!strcmp(p->metrics[0].trigger, "wall") && p->duration_ns > MANY * p->metrics[0].period)
        buf_printf(
            b, "no thread that is recorded woke up in %.1f ms (waiting is counted when it ends)\n",
            (double)p->duration_ns / 1e6);
    else if (!strcmp(p->metrics[0].trigger, "wall"))
        buf_printf(b, "the program ran for %.1f ms, and a sample is taken every %.1f ms (a higher "
                      "rate: -F)\n",
                   (double)p->duration_ns / 1e6, (double)p->metrics[0].period / 1e6);
    else if (!strcmp(p->metrics[0].unit, "bytes"))
        buf_printf(b, "no thread used as many as %llu bytes of %s (-e %s=BYTES sets the period)\n",
                   (unsigned long long)p->metrics[0].period, p->metrics[0].trigger,
                   p->metrics[0].trigger);
    else if (!strcmp(p->metrics[0].trigger, "lock-wait"))
        buf_printf(b, "no thread waited for locks for %.3f ms in all (-e lock-wait=TIME sets the "
                      "period)\n", (double)p->metrics[0].period / 1e6);
    else
        buf_printf(b, "%s did not happen %llu times in any thread (-c sets the period)\n",
                   p->metrics[0].trigger, (unsigned long long)p->metrics[0].period);
}

/* Triggers after the first, and kernel parts of stacks, which were not had in all threads. */
static void put_unarmed_others(struct buf *b, const struct record_spool *s)
{
    enum { MOST = 1 << 20 }; /* the program can scribble over the spool */
    uint64_t times = 0, refused = 0;
    const struct spool_process *p;
    spool_ref ref = spool_header(&s->spool)->processes;
    for (unsigned n = 0; n < MOST && (p = spool_at(&s->spool, ref, sizeof *p)); n++) {
        ref = p->next;
        times += p->unarmed_others;
        refused += p->kernel_refused;
    }
    if (times) {
        buf_put_count(b, times, "time", "times");
        buf_puts(b, " one of several triggers could not be set in a thread, where the others "
                    "were\n");
    }
    if (refused) {
        buf_put_count(b, refused, "thread has", "threads have");
        buf_puts(b, " no kernel functions in their stacks: there was no memory for them "
                    "(kernel.perf_event_mlock_kb, ulimit -l)\n");
    }
}

/* Where `auto` has chosen bursts, and why: a line each. */
static void put_places(struct buf *b, const struct profile *p)
{
    const struct profile_shadows *s = observed_shadows(p);
    for (unsigned i = 0; s && i < PLACE_COUNT; i++)
        if (shadow_place_is_burst(i) && s->placed[i])
            buf_printf(b, "bursts in place instead of shadows (decided %llu time%s): %s\n",
                       (unsigned long long)s->placed[i], s->placed[i] == 1 ? "" : "s",
                       profile_place_sentence(i));
}

/* The index of the largest, but for those whose bit is in `without`; `count`: the others are 0. */
static unsigned most_of(const uint64_t *counts, unsigned count, uint32_t without)
{
    unsigned most = count;
    for (unsigned i = 0; i < count; i++)
        if (!(without >> i & 1) && counts[i] && (most == count || counts[i] > counts[most]))
            most = i;
    return most;
}

/* Why most triggers made no shadow, but for those at which enough were active, or another thread
 * was deciding: that one has a reason of its own. DECLINE_COUNT: there were no others. Where the
 * kernel has refused what the budget allowed, that is why. */
static unsigned declined_most(const struct profile_shadows *s)
{
    if (s->declined[DECLINE_FORK])
        return DECLINE_FORK;
    unsigned why = most_of(s->declined, DECLINE_COUNT, 1u << DECLINE_LOAD | 1u << DECLINE_BUSY);
    return why == DECLINE_COUNT && s->declined[DECLINE_BUSY] ? DECLINE_BUSY : why;
}

static void put_shadowless(struct buf *b, const struct profile *p)
{
    const struct profile_shadows *s = observed_shadows(p);
    if (!s || s->started || observed_code(p)->bursts)
        return;
    unsigned why = declined_most(s);
    if (why == DECLINE_BUDGET)
        buf_printf(
            b, "the budget allowed no shadow: forking this program takes too long for it, or it "
               "ended too soon (a larger --budget; --load 0.5 makes shadows at any cost, --carrier "
               "burst observes it in place)\n");
    else if (why == DECLINE_FORK)
        buf_printf(b,
                   "no shadow was made: the kernel refused (%s%s; --carrier burst observes the "
                   "program in place)\n",
                   s->fork_errno ? strerror((int)s->fork_errno) : "to fork",
                   s->fork_errno == EAGAIN
                       ? ", as where RLIMIT_NPROC allows no more processes"
                       : "");
    else if (why == DECLINE_BARRIER)
        buf_printf(
            b, "no shadow was made: %s (--threads one makes shadows of one thread)\n",
            profile_barrier_sentence(most_of(s->gave_up, BARRIER_COUNT, 0)));
    else if (why != DECLINE_COUNT)
        buf_printf(b, "no shadow was made: %s\n", profile_decline_sentence(why));
}

static void put_left_behind(struct buf *b, const struct record_outcome *r)
{
    if (r->left_behind)
        buf_printf(
            b,
            "processes that the program has left behind go on, and are not recorded any more%s\n",
            r->wait_all ? "" : " (--wait-all records them to their end)");
}

static bool had_triggers(const struct profile_shadows *s)
{
    return s->started || s->declined[DECLINE_LOAD] || declined_most(s) != DECLINE_COUNT;
}

/* Whole runs that were not whole, with the reason that came most often. */
static void put_left(struct buf *b, const struct profile *p)
{
    unsigned most = 0;
    uint64_t all = 0;
    const struct profile_counts *code = profile_is_exact(p) ? observed_code(p) : NULL;
    for (unsigned i = 0; code && i < STOP_COUNT; i++) {
        all += code->stopped[i];
        if (code->stopped[i] > code->stopped[most])
            most = i;
    }
    if (all)
        buf_printf(b,
                   "%llu time%s a thread went on natively, unseen, with all that it began "
                   "afterwards: %s\n",
                   (unsigned long long)all, all == 1 ? "" : "s", profile_stop_sentence(most));
}

/* Of a program that goes on, `translated` is not known yet. */
static bool engine_began(const struct profile_counts *c)
{
    return c->bursts || c->translated || profile_latency_count(&c->latencies[LATENCY_TRANSLATION]);
}

/* The spool can be scribbled over: more programs than process numbers there cannot have been. */
static void put_unfollowed(struct buf *b, const struct record_spool *s)
{
#define SENTENCE(id, name, sentence) sentence,
    static const char *const sentences[] = { UNFOLLOWED_REASONS(SENTENCE) };
#undef SENTENCE
    for (unsigned i = 0; i < UNFOLLOWED_COUNT; i++) {
        uint64_t n = spool_header(&s->spool)->unfollowed[i];
        if (n && n < UINT32_MAX)
            buf_printf(b, "not recorded, of programs that were executed: %llu, %s\n",
                       (unsigned long long)n, sentences[i]);
    }
}

/* Nothing is said where hardly anything could have been sampled. */
static bool put_coverage(struct buf *b, const struct profile *p, const struct profile_totals *t)
{
    enum { WORTH_SAYING = 70 };
    struct profile_coverage c;
    if (!t->taken || !profile_coverage(p, t, &c) || !c.lacking ||
        100 * c.sampled_ns > (double)WORTH_SAYING * c.all_ns)
        return false;
    buf_printf(b,
               "samples stand for %.0f%% of the CPU time only (%.2f s): where the rest went, "
               "penumbra report says "
               "(covered)\n",
               100 * c.sampled_ns / c.all_ns, c.all_ns / 1e9);
    return true;
}

/* The processes in which calls are not counted although that was asked for, by reason. */
static void put_trampolines(struct buf *b, const struct record_spool *s)
{
#define SENTENCE(id, name, sentence) sentence,
    static const char *const sentences[] = { TRAMPOLINE_STATES(SENTENCE) };
#undef SENTENCE
    uint64_t processes[TRAMPOLINE_STATE_COUNT] = { 0 };
    const struct spool_process *p;
    spool_ref ref = spool_header(&s->spool)->processes;
    enum { MOST = 1 << 20 }; /* the program can scribble over the spool */
    for (unsigned n = 0; n < MOST && (p = spool_at(&s->spool, ref, sizeof *p)); n++, ref = p->next)
        if (p->trampoline < TRAMPOLINE_STATE_COUNT)
            processes[p->trampoline]++;
    for (unsigned i = TRAMPOLINE_ON + 1; i < TRAMPOLINE_STATE_COUNT; i++)
        if (processes[i])
            buf_printf(b, "calls are not counted in %llu process%s: %s\n",
                       (unsigned long long)processes[i], processes[i] == 1 ? "" : "es",
                       sentences[i]);
}

/* The file name of the image with this number. */
static void put_image_name(struct buf *b, const struct record_spool *s, unsigned number)
{
    const struct spool_image *image;
    spool_ref ref = spool_header(&s->spool)->images;
    for (unsigned n = 0; n <= KEY_IMAGE_MAX && (image = spool_at(&s->spool, ref, sizeof *image));
         n++, ref = image->next) {
        const struct spool_string *path =
            image->number == number ? spool_at(&s->spool, image->path, sizeof *path) : NULL;
        if (!path || !spool_at(&s->spool, image->path, sizeof *path + path->length))
            continue;
        const char *slash = memrchr(path->bytes, '/', path->length);
        const char *name = slash ? slash + 1 : path->bytes;
        buf_printf(b, "%.*s+", (int)(path->bytes + path->length - name), name);
        return;
    }
}

/* The instructions that could not be translated: how often one was executed natively, and which was
 * the first. */
static void put_refused(struct buf *b, const struct record_spool *s)
{
    enum { MOST = 1 << 20, KNOWN = 2 };
    const struct spool_process *process;
    spool_ref ref = spool_header(&s->spool)->processes;
    for (unsigned n = 0; n < MOST && (process = spool_at(&s->spool, ref, sizeof *process));
         n++, ref = process->next) {
        const struct spool_counts *c = spool_at(&s->spool, process->counts, sizeof *c);
        if (!c || c->refused != KNOWN)
            continue;
        char text[X86_TEXT_SIZE];
        unsigned length = x86_format(c->refused_code, sizeof c->refused_code,
                                     key_offset(c->refused_key), NULL, NULL, text, sizeof text);
        buf_printf(b, "process %d: \"%s\" (", process->pid, text);
        for (unsigned i = 0; i < length; i++)
            buf_printf(b, i ? " %02x" : "%02x", c->refused_code[i]);
        buf_puts(b, ") at ");
        put_image_name(b, s, key_image(c->refused_key));
        buf_printf(b, "0x%llx cannot be translated",
                   (unsigned long long)key_offset(c->refused_key));
        if (c->alone)
            buf_printf(b, "; %llu times such an instruction was executed natively, alone",
                       (unsigned long long)c->alone);
        buf_puts(b, "\n");
    }
}

/* The most periods that a sample of a synchronous trigger stood for. */
static uint64_t stretched_most(const struct spool *s, uint32_t which)
{
    enum { MOST = 1 << 20 }; /* the program can scribble over the spool */
    const struct spool_process *p;
    const struct spool_thread *t;
    spool_ref process = spool_header(s)->processes;
    uint64_t most = 1;
    for (unsigned n = 0; n < MOST && (p = spool_at(s, process, sizeof *p)); process = p->next)
        for (spool_ref ref = p->threads; n++ < MOST && (t = spool_at(s, ref, sizeof *t));
             ref = t->next)
            if (t->which == which && t->stretched > most)
                most = t->stretched;
    return most;
}

static void put_stretched_one(struct buf *b, const struct spool_config *c,
                              struct spool_trigger trigger, uint64_t most)
{
    bool several = spool_triggers(c) > 1;
    const struct event *event = events_of_trigger(trigger);
    buf_printf(b,
               "samples %s%s%swould have cost more than %.4g%% of the CPU time, so some stood for "
               "up to %llu periods (%s)\n",
               several ? "of " : "", several && event ? event->name : "", several ? " " : "",
               trigger.bound_ppm / 1e4, (unsigned long long)most,
               c->budget_ppm ? "a longer period costs less: -c"
               : trigger_is_synchronous(trigger.trigger) ? "--budget 100 takes one each period"
               : trigger_is_time(trigger.trigger)        ? "-F 997 takes one each period"
                                                         : "-c 1 takes each");
}

static void put_stretched(struct buf *b, const struct profile *p, const struct record_spool *s)
{
    const struct spool_config *c = settings_sampling(&s->spool);
    uint32_t triggers = spool_triggers(c);
    for (uint32_t which = 0; which < triggers; which++) {
        struct spool_trigger trigger = spool_trigger_at(c, which);
        struct profile_sampled sampled = profile_sampled_by(p, which);
        bool synchronous = trigger_is_synchronous(trigger.trigger);
        uint64_t most = stretched_most(&s->spool, which);
        /* A clock that was slowed down for a moment is not worth a word, and a thread that waits
         * has no CPU time for any sample. */
        bool many = synchronous || (trigger.trigger != TRIGGER_WALL && !c->budget_ppm &&
                                    sampled.weight > sampled.taken + sampled.taken / 2);
        if (most > 1 && many)
            put_stretched_one(b, c, trigger, most);
    }
}

/* What was found out only now joins what was known at the start. */
char *record_notes_all(const struct record_outcome *r, const struct profile *p,
                       const struct record_spool *s)
{
    struct buf b = {0};
    struct profile_totals t;
    size_t size;
    profile_totals(p, &t);
    buf_puts(&b, r->notes);
    if (s->full && t.drops[DROP_SPOOL_FULL])
        buf_printf(&b, "the spool could not be extended: %s\n", strerror(s->full));
    put_unarmed(&b, p);
    put_unarmed_others(&b, s);
    put_stops(&b, p);
    put_ticking(&b, p);
    put_user_mode(&b, s, p);
    put_trampolines(&b, s);
    put_unfollowed(&b, s);
    put_refused(&b, s);
    put_stretched(&b, p, s);
    record_heap_put(&b, p);
    put_places(&b, p);
    put_shadowless(&b, p);
    put_left_behind(&b, r);
    if (r->damage)
        buf_printf(&b,
                   "the program overwrote counters: %llu broken places were cut off or restored\n",
                   (unsigned long long)r->damage);
    buf_put_u8(&b, '\0');
    return (char *)buf_detach(&b, &size);
}

void record_notes_tell(const struct record_outcome *r, const struct profile *p,
                       const struct record_spool *s, const struct recording_callbacks *callbacks)
{
    struct profile_totals t;
    struct buf b = {0};
    bool lacking = profile_is_exact(p);
    profile_totals(p, &t);
    const struct profile_shadows *shadows = observed_shadows(p);
    const struct profile_counts *c = observed_code(p);
    if (!profile_has_samples(p, &t) && !(shadows && had_triggers(shadows)) &&
        !(c && engine_began(c))) {
        put_reason(&b, p, &t);
        lacking = true;
    } else if (unarmed(p, false)) {
        put_unarmed(&b, p);
    }
    if (t.taken && !profile_is_exact(p))
        put_unseen(&b, p);
    put_stops(&b, p);
    put_user_mode(&b, s, p);
    put_places(&b, p);
    put_shadowless(&b, p);
    put_left(&b, p);
    put_left_behind(&b, r);
    lacking |= put_coverage(&b, p, &t);
    if (lacking)
        put_unfollowed(&b, s);
    buf_put_u8(&b, '\0');
    if (buf_ok(&b))
        tell_notes(callbacks, (const char *)b.data);
    buf_free(&b);
}
