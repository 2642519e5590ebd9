#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/saturate.h"
#include "profile/parts.h"
#include "profile/shadows.h"
#include "sigsafe/shadow_account.h"

struct profile *profile_new(void)
{
    struct profile *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->exit_status = -1;
    p->metric_count = 1;
    char **strings[] = {&p->command, &p->metrics[0].name, &p->metrics[0].trigger,
                        &p->metrics[0].unit, &p->kernel, &p->cpu, &p->notes};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        *strings[i] = strdup("");
        if (!*strings[i]) {
            profile_free(p);
            return NULL;
        }
    }
    return p;
}

void profile_build_id_put(const struct profile_image *image, struct buf *to)
{
    for (uint32_t i = 0; i < image->build_id_size && i < PROFILE_BUILD_ID_MAX; i++)
        buf_printf(to, "%02x", image->build_id[i]);
}

static void free_process(struct profile_process *r)
{
    free(r->name);
    free(r->command);
    free(r->maps);
    for (uint32_t i = 0; i < r->jit_count; i++)
        free(r->jit[i].name);
    free(r->jit);
}

void profile_thread_fini(struct profile_thread *t)
{
    free(t->name);
    free(t->nodes);
    free(t->timeline);
    free(t->shares);
    free(t->others);
}

void profile_free(struct profile *p)
{
    if (!p)
        return;
    for (uint32_t i = 0; i < p->image_count; i++)
        free(p->images[i].path);
    for (uint32_t i = 0; i < p->process_count; i++)
        free_process(&p->processes[i]);
    for (uint32_t i = 0; i < p->thread_count; i++)
        profile_thread_fini(&p->threads[i]);
    for (uint32_t i = 0; i < p->phase_count; i++)
        free(p->phases[i].name);
    free(p->phases);
    profile_observations_free(p);
    profile_parts_free(p);
    profile_names_free(p->names);
    figures_free(p->figures, p->figure_count);
    for (uint32_t i = 0; i < p->unknown_count; i++)
        free(p->unknown[i].data);
    free(p->unknown);
    free(p->recordings);
    profile_entities_free(p);
    free(p->hits);
    free(p->images);
    free(p->processes);
    free(p->threads);
    free(p->command);
    profile_metrics_fini(p, 0);
    free(p->kernel);
    free(p->cpu);
    free(p->notes);
    free(p);
}

uint32_t profile_phase_intern(struct profile *p, const char *name, uint32_t outer)
{
    for (uint32_t i = 0; i < p->phase_count; i++)
        if (p->phases[i].outer == outer && strcmp(p->phases[i].name, name) == 0)
            return i;
    struct profile_phase *grown =
        reallocarray(p->phases, (size_t)p->phase_count + 1, sizeof *grown);
    if (!grown)
        return UINT32_MAX;
    p->phases = grown;
    grown[p->phase_count] = (struct profile_phase){.name = strdup(name), .outer = outer};
    return grown[p->phase_count].name ? p->phase_count++ : UINT32_MAX;
}

/* What the program paused was not lost. */
static void add_drops(struct profile_totals *out, const uint64_t drops[DROP_COUNT])
{
    for (unsigned i = 0; i < DROP_COUNT; i++) {
        out->drops[i] += drops[i];
        out->dropped_all += i == DROP_PAUSED ? 0 : drops[i];
    }
}

double profile_spent_ns(const struct profile_totals *t)
{
    return (double)t->cost_ns + (double)t->delivered_ns + (double)t->switched_ns +
           (double)t->shadows_ns + (double)t->begun_ns;
}

uint32_t profile_sandboxed(const struct profile *p)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->process_count; i++)
        count += p->processes[i].sandboxed;
    return count;
}

struct profile_left_out profile_left_out(const struct profile *p)
{
    struct profile_left_out sum = {0, 0, 0};
    for (uint32_t i = 0; i < p->process_count; i++) {
        sum.threads = add_saturated(sum.threads, p->processes[i].sandbox_threads);
        sum.processes = add_saturated(sum.processes, p->processes[i].sandbox_processes);
        sum.silenced = add_saturated(sum.silenced, p->processes[i].sandbox_silenced);
    }
    return sum;
}

void profile_totals(const struct profile *p, struct profile_totals *out)
{
    const struct profile_shadows *shadows = observed_shadows(p);
    *out = (struct profile_totals){.sandboxed = profile_sandboxed(p),
                                   .begun_ns = p->begun.ns};
    if (shadows)
        out->shadows_ns = shadow_own_cost_ns(shadows->cost_ns, shadows->signals_ns);
    add_drops(out, p->drops);
    for (uint32_t i = 0; i < p->process_count; i++)
        add_drops(out, p->processes[i].drops);
    for (uint32_t i = 0; i < p->thread_count; i++) {
        const struct profile_thread *t = &p->threads[i];
        out->taken += t->taken;
        out->weight += t->weight;
        out->weight_squares += t->weight_squares;
        out->guessed += t->guessed;
        for (unsigned k = 1; k < TRUNC_COUNT; k++) {
            out->truncated[k] += t->truncated[k];
            out->truncated_all += t->truncated[k];
        }
        add_drops(out, t->drops);
        out->cpu_ns += t->cpu_ns;
        out->cost_ns += t->cost_ns;
        out->deliveries += t->deliveries;
        out->delivered_ns += t->delivered_ns;
        out->switches += t->switches;
        out->switched_ns += t->switched_ns;
        out->nodes += t->node_count;
    }
}

bool profile_has_samples(const struct profile *p, const struct profile_totals *t)
{
    bool any = t->taken != 0;
    for (uint32_t k = 1; !any && k < profile_triggers(p); k++)
        any = profile_sampled_by(p, k).taken != 0;
    return any;
}
