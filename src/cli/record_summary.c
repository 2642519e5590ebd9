#include "cli/record_summary.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "cli/live_line.h"
#include "profile/profile.h"

static void put_size(struct buf *b, const char *path)
{
    struct stat st;
    if (stat(path, &st) || !S_ISREG(st.st_mode))
        return;
    if (st.st_size < 1000)
        buf_printf(b, " (%lld bytes)", (long long)st.st_size);
    else if (st.st_size < 999500)
        buf_printf(b, " (%.0f kB)", (double)st.st_size / 1e3);
    else
        buf_printf(b, " (%.1f MB)", (double)st.st_size / 1e6);
}

/* What the other triggers have sampled, each in its own number. */
static void put_others(struct buf *b, const struct profile *p)
{
    for (uint32_t m = 1; m < p->metric_count; m++) {
        uint32_t k = profile_trigger_of(p, m);
        if (k == profile_trigger_of(p, m - 1))
            continue;
        struct profile_sampled s = profile_sampled_by(p, k);
        uint64_t dropped = profile_sampled_dropped(&s);
        buf_printf(b, ", %llu of %s", (unsigned long long)s.taken, p->metrics[m].trigger);
        if (dropped)
            buf_printf(b, " (%llu dropped)", (unsigned long long)dropped);
    }
}

/* What there is in it. */
static void put_amount(struct buf *b, const struct profile *p, const struct profile_totals *t)
{
    const struct profile_counts *c = observed_code(p);
    const struct profile_shadows *s = observed_shadows(p);
    uint64_t bursts = c ? c->bursts : 0;
    bool exact = c && profile_is_exact(p);
    if (exact && !c->counted)
        buf_puts(b, "a whole run");
    else if (exact)
        buf_put_count(b, c->instructions, "instruction", "instructions");
    else if (s && (s->started || !bursts))
        buf_put_count(b, s->started, "shadow", "shadows");
    else if (!bursts)
        buf_put_count(b, t->taken, "sample", "samples");
    if (!c && profile_triggers(p) > 1) {
        buf_printf(b, " of %s", p->metrics[0].trigger);
        put_others(b, p);
    }
    if (s && s->started && bursts)
        buf_puts(b, ", ");
    if (bursts)
        buf_put_count(b, bursts, "burst", "bursts");
}

void record_summary(const struct recording_result *r)
{
    const struct profile *p = r->profile;
    const struct profile_counts *c = observed_code(p);
    struct profile_totals t;
    struct buf b = {0};
    profile_totals(p, &t);
    buf_puts(&b, "penumbra: ");
    put_amount(&b, p, &t);
    buf_printf(&b, " in %.1f s, ", (double)p->duration_ns / 1e9);
    buf_put_count(&b, p->process_count, "process", "processes");
    if (!profile_is_exact(p)) {
        buf_printf(&b, ", %llu dropped", (unsigned long long)t.dropped_all);
        put_drops(&b, t.drops);
    }
    if (!profile_is_exact(p) && !(c && tools_of_compiled(c->tools)))
        put_overhead(&b, &t, profile_spent_ns(&t), p->budget_ppm);
    buf_printf(&b, " -> %s", r->shown);
    put_size(&b, r->path);
    buf_puts(&b, "\n");
    if (buf_ok(&b))
        fwrite(b.data, 1, b.size, stderr);
    buf_free(&b);
}
