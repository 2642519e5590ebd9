/* dump_sample FILE compressed|stored|small|parts: writes a sample profile to FILE, and prints every
 * field of it as read_pnb.py prints what it finds in FILE. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/encode.h"
#include "profile/merge.h"
#include "profile/parts.h"
#include "profile/timeline.h"
#include "sample.h"

static void print_counts(const char *what, const uint64_t *counts, unsigned first, unsigned end)
{
    printf("%s", what);
    for (unsigned i = first; i < end; i++)
        printf("\t%" PRIu64, counts[i]);
    printf("\n");
}

static void print_head(const struct profile *p)
{
    printf("drop reasons");
    for (unsigned i = 0; i < DROP_COUNT; i++)
        printf("\t%s", profile_drop_name(i));
    printf("\ntruncation reasons");
    for (unsigned i = 1; i < TRUNC_COUNT; i++)
        printf("\t%s", profile_truncation_name(i));
    printf("\ncommand\t%s\nbudget\t%u\n", p->command, p->budget_ppm);
    printf("delivery\t%u\nstart\t%" PRIu64 "\nduration\t%" PRIu64
           "\nkernel\t%s\ncpu\t%s\ncpus\t%u\n",
           p->delivery_ns, p->start_realtime_ns, p->duration_ns, p->kernel, p->cpu, p->cpus);
    printf("recovered\t%u\nexit\t%d\nnotes\t", p->recovered, p->exit_status);
    for (const char *s = p->notes; *s; s++)
        putchar(*s == '\n' ? '|' : *s);
    printf("\n");
    print_counts("drops", p->drops, 0, DROP_COUNT);
}

static void print_image(const struct profile_image *m)
{
    printf("image\t%s\t", m->path);
    for (uint32_t i = 0; i < m->build_id_size; i++)
        printf("%02x", m->build_id[i]);
    printf("\t%u\t%" PRIu64 "\t%" PRId64 "\t%" PRIu64 "\t%" PRIu64 "\n", m->flags, m->file_size,
           m->mtime_ns, m->first_vaddr, m->last_vaddr);
}

static void print_process(const struct profile_process *r)
{
    printf("process\t%d\t%d\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%u\t%u\t%u\t%u\t%u\n", r->pid,
           r->ppid, r->name, r->command, r->start_ns, r->end_ns, r->end, r->epochs, r->mechanism,
           r->arm_error, r->exclude_kernel);
    print_counts("drops", r->drops, 0, DROP_COUNT);
    for (uint32_t i = 0; i < r->map_count; i++) {
        const struct profile_map *m = &r->maps[i];
        printf("map\t%u\t%u\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", m->image, m->epoch_first,
               m->epoch_last, m->bias, m->lo, m->hi);
    }
    for (uint32_t i = 0; i < r->jit_count; i++)
        printf("jit\t%" PRIu64 "\t%" PRIu64 "\t%s\n", r->jit[i].address, r->jit[i].size,
               r->jit[i].name);
}

static void print_thread(const struct profile_thread *t)
{
    printf("thread\t%u\t%d\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
           "\t%" PRIu64 "\t%" PRIu64 "\n",
           t->process, t->tid, t->name, t->start_ns, t->end_ns, t->cpu_ns, t->taken, t->weight,
           t->weight_squares, t->guessed);
    print_counts("truncated", t->truncated, 1, TRUNC_COUNT);
    print_counts("drops", t->drops, 0, DROP_COUNT);
    printf("cost\t%" PRIu64 "\t%" PRIu64 "\n", t->cost_ns, t->deliveries);
    for (uint32_t i = 0; i < t->node_count; i++) {
        const struct profile_node *n = &t->nodes[i];
        unsigned image = n->image == PROFILE_IMAGE_PSEUDO ? 0
                         : n->image == PROFILE_IMAGE_NONE ? 1
                                                          : n->image + 2;
        printf("node\t%d\t%u\t%" PRIu64 "\t%d\t%" PRIu64 "\t%" PRIu64 "\n", (int)n->parent, image,
               n->offset, n->guessed, n->self, n->calls);
    }
}

static void print_weights(const struct profile *p)
{
    for (uint32_t m = 1; m < p->metric_count; m++) {
        printf("weights");
        for (uint32_t i = 0; i < p->thread_count; i++)
            for (uint32_t k = 0; k < p->threads[i].node_count; k++)
                printf("\t%" PRIu64, p->threads[i].nodes[k].more[m - 1]);
        printf("\n");
    }
}

static void print_sampled(const struct profile *p)
{
    static const struct profile_sampled none;
    bool any = false;
    for (uint32_t i = 0; i < p->thread_count; i++)
        any |= p->threads[i].others != NULL;
    for (uint32_t k = 1; any && k < profile_triggers(p); k++)
        for (uint32_t i = 0; i < p->thread_count; i++) {
            const struct profile_sampled *others = p->threads[i].others,
                                         *s = others ? &others[k - 1] : &none;
            printf("sampled\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", s->taken,
                   s->weight,
                   s->weight_squares, s->guessed);
            print_counts("truncated", s->truncated, 1, TRUNC_COUNT);
            print_counts("drops", s->drops, 0, DROP_COUNT);
        }
}

static void print_phases(const struct profile *p)
{
    for (uint32_t i = 0; i < p->phase_count; i++) {
        const struct profile_phase *phase = &p->phases[i];
        printf("phase\t%u\t%" PRIu64 "\t%" PRIu64 "\n", phase->outer, phase->begun,
               phase->elapsed_ns);
    }
    for (uint32_t i = 0; i < p->thread_count; i++)
        printf("in phase\t%u\n", p->threads[i].phase);
    for (uint32_t i = 0; i < p->process_count; i++)
        printf("paused\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", p->processes[i].pauses,
               p->processes[i].paused_ns, p->processes[i].phases_refused);
}

static void print_timelines(const struct profile *p)
{
    for (uint32_t i = 0; i < p->thread_count; i++) {
        const struct profile_timeline *t = p->threads[i].timeline;
        printf("timeline\t%u", t ? t->count : 0);
        if (t)
            printf("\t%" PRIu64 "\t%u", t->start_ns, t->shift);
        printf("\n");
        for (uint32_t k = 0; t && k < t->count; k++)
            printf("moment\t%u\t%u\t%d\t%u\t%" PRIu64 "\n", t->list[k].bin, t->list[k].span,
                   (int)t->list[k].node, t->list[k].metric, t->list[k].weight);
    }
}

static unsigned image_number(uint32_t image)
{
    return image + 2; /* PROFILE_IMAGE_NONE becomes 1 */
}

static void print_family(const struct figure_family *family, void *record)
{
    for (uint32_t i = 0; record && i < family->count; i++) {
        const struct figure_row *row = &family->rows[i];
        const uint64_t *numbers = figure_numbers(row, record);
        for (uint32_t k = 0; k < figure_count(row); k++) {
            if (!numbers[k] && (i || k))
                continue;
            printf("figure\t%s", row->name);
            if (row->count && row->name_of)
                printf(".%s", row->name_of(k));
            else if (row->count)
                printf(".%u", k);
            printf("\t%s\t%d\t%" PRIu64 "\n", row->unit, (int)row->how, numbers[k]);
        }
    }
}

static void print_figures(const struct profile *p)
{
    print_family(&engine_figures, observed_code(p));
    print_family(&value_figures, observed_values(p));
    print_family(&shadow_figures, observed_shadows(p));
    for (uint32_t i = 0; i < p->figure_count; i++)
        printf("figure\t%s\t%s\t%u\t%" PRIu64 "\n", p->figures[i].name, p->figures[i].unit,
               p->figures[i].how, p->figures[i].value);
}

static void print_counted(const struct profile_counts *c)
{
    printf("engine\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%d\t%d\n", c->carrier, c->tool, c->length,
           c->native_ns, c->counted, c->classified);
    for (uint32_t i = 0; i < c->block_count; i++) {
        const struct profile_block *b = &c->blocks[i];
        printf("block\t%u\t%u\t%" PRIu64 "\t%u\t%u\t%" PRIu64 "\n", image_number(b->image),
               b->process, b->offset, b->bytes, b->instructions, b->count);
    }
    for (uint32_t i = 0; i < c->edge_count; i++) {
        const struct profile_edge *g = &c->edges[i];
        printf("edge\t%u\t%u\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
               image_number(g->from_image), image_number(g->to_image), g->process, g->from, g->to,
               g->count);
    }
}

static void print_values(const struct profile_values *v)
{
    printf("values\t%s\t%u\t%d\t%u\t%u\t%" PRIu64 "\n", v->module, v->summary, v->redacted,
           v->module_end, v->module_detail, v->every);
    for (uint32_t i = 0; i < v->kind_count; i++) {
        const struct profile_value_kind *kind = &v->kinds[i];
        printf("kind\t%s\t%u\t%u", kind->name, kind->format, kind->role);
        for (uint32_t k = 0; k < kind->name_count; k++)
            printf("\t%s", kind->names[k]);
        printf("\n");
    }
    for (uint32_t i = 0; i < v->fact_count; i++)
        printf("fact\t%s\t%" PRIu64 "\n", v->facts[i].name, v->facts[i].value);
    for (uint32_t i = 0; i < v->hotlist_count; i++) {
        const struct profile_hotlist *h = &v->hotlists[i];
        printf("hotlist\t%u\t%u\t%" PRIu64 "\t%u\t%u\t%" PRIu64 "\t%" PRIu64 "\t%u\t%u\n",
               image_number(h->image), h->process, h->offset, h->kind,
               image_number(h->site_image), h->site, h->list->observed, h->list->steps,
               h->list->count);
        for (uint32_t k = 0; k < h->list->count; k++)
            printf("entry\t%u\t%" PRIu64 "\t%" PRIu64 "\n", h->list->entries[k].space,
                   h->list->entries[k].bits, h->list->entries[k].count);
    }
    for (uint32_t i = 0; i < v->text_count; i++)
        printf("text\t%u\t%u\t%" PRIu64 "\t%s\n", v->texts[i].kind, v->texts[i].value.space,
               v->texts[i].value.bits, v->texts[i].text);
}

static void print_paths(const struct profile_paths *p)
{
    printf("paths\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
           p->dropped_paths, p->dropped, p->dropped_instructions, p->cut, p->cut_instructions);
    for (uint32_t i = 0; i < p->count; i++) {
        printf("path\t%" PRIu64, p->paths[i].count);
        for (uint32_t k = 0; k < p->paths[i].length; k++)
            printf("\t%u", p->sequence[p->paths[i].first + k]);
        printf("\n");
    }
}

static void print_streams(const struct profile_streams *s)
{
    printf("streams\t%" PRIu64 "\n", s->missed);
    for (uint32_t i = 0; i < s->count; i++) {
        const struct profile_stream *at = &s->list[i];
        printf("stream\t%u\t%u\t%" PRIu64 "\t%u\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
               "\t%" PRIu64 "\t%" PRIu64,
               image_number(at->image), at->process, at->offset, at->kind, at->bytes, at->count,
               at->span, at->runs, at->same_line, at->others);
        for (unsigned k = 0; k < STREAM_STRIDES; k++)
            printf("\t%" PRId64 "\t%" PRIu64, at->strides[k], at->times[k]);
        printf("\n");
    }
}

static void print_waste(const struct profile_waste *w)
{
#define PRINT(name) printf("\t%" PRIu64, w->sums.name);
    printf("waste\t%" PRIu64, w->missed);
    WASTE_SUMS(PRINT)
#undef PRINT
    printf("\n");
    for (uint32_t i = 0; i < w->site_count; i++) {
        const struct profile_waste_site *at = &w->sites[i];
        printf("access\t%u\t%u\t%" PRIu64 "\t%u\t%u", image_number(at->image), at->process,
               at->offset, at->kind, at->bytes);
#define PRINT(name) printf("\t%" PRIu64, at->figures.name);
        WASTE_FIGURES(PRINT)
#undef PRINT
        printf("\n");
    }
    for (uint32_t i = 0; i < w->pair_count; i++) {
        const struct profile_waste_pair *at = &w->pairs[i];
        printf("pair\t%u\t%u\t%" PRIu64 "\t%u\t%u\t%" PRIu64 "\t%u\t%" PRIu64 "\t%" PRIu64 "\n",
               image_number(at->image), at->process, at->offset, image_number(at->to_image),
               at->to_process, at->to, at->kind, at->count, at->bytes);
    }
    printf("waste paths\t%" PRIu64 "\t%" PRIu64 "\n", w->paths.evicted, w->paths.unknown);
    for (uint32_t i = 0; i < w->paths.call_count; i++) {
        const struct profile_waste_call *at = &w->paths.calls[i];
        printf("waste call\t%u\t%u\t%u\t%" PRIu64 "\n", at->caller, image_number(at->image),
               at->process, at->offset);
    }
    for (uint32_t i = 0; i < w->paths.count; i++) {
        const struct profile_waste_path *at = &w->paths.list[i];
        printf("waste path\t%u\t%u\t%" PRIu64 "\t%u\t%u\t%" PRIu64 "\t%u\t%" PRIu64 "\t%" PRIu64
               "\t%u\t%u\t%u\n", image_number(at->pair.image), at->pair.process, at->pair.offset,
               image_number(at->pair.to_image), at->pair.to_process, at->pair.to, at->pair.kind,
               at->pair.count, at->pair.bytes, at->from, at->to, at->folded);
    }
}

static void print_names(const struct profile_names *n)
{
    for (uint32_t i = 0; i < n->image_count; i++) {
        printf("names\t%u\t%u\n", n->images[i].level, n->images[i].count);
        for (uint32_t k = 0; k < n->images[i].count; k++) {
            printf("place\t%" PRIu64, n->images[i].places[k].offset);
            for (uint32_t at = n->images[i].places[k].name + 1; at; at = n->names[at - 1].outer) {
                const struct profile_name *name = &n->names[at - 1];
                printf("\t%s\t%s\t%u\t%" PRIu64, n->strings[name->function], n->strings[name->file],
                       name->line, name->start);
            }
            printf("\n");
        }
    }
}

static void heap_make(struct profile *p)
{
    char **trigger = &p->metrics[p->metric_count - 1].trigger;
    free(*trigger);
    *trigger = strdup("malloc");
    profile_metrics_of_heap(p);
    p->processes[1].heap_peak_ns = 123456789;
}

/* As of two recordings, the second of which began when half of the first was over. */
static void recordings_make(struct profile *p)
{
    p->recording_count = 2;
    p->recordings = calloc(2, sizeof *p->recordings);
    uint64_t third = p->duration_ns / 3;
    for (uint32_t i = 0; i < 2; i++)
        p->recordings[i] =
            (struct profile_recording){p->start_realtime_ns + i * third, p->duration_ns - third};
    for (uint32_t i = 0; i < p->process_count; i++)
        p->processes[i].recording = i % 2;
}

static void print_recordings(const struct profile *p)
{
    if (!p->recording_count)
        return;
    for (uint32_t i = 0; i < p->recording_count; i++)
        printf("recording\t%" PRIu64 "\t%" PRIu64 "\n", p->recordings[i].start_realtime_ns,
               p->recordings[i].duration_ns);
    printf("recorded in");
    for (uint32_t i = 0; i < p->process_count; i++)
        printf("\t%u", p->processes[i].recording);
    printf("\n");
}

static void print_sandboxes(const struct profile *p)
{
    for (uint32_t i = 0; i < p->process_count; i++)
        printf("sandbox\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
               p->processes[i].sandboxed ? 1 + p->processes[i].sandbox_silenced : 0,
               p->processes[i].sandbox_threads, p->processes[i].sandbox_processes);
}

static void print_production_values(const struct production_values *v)
{
    for (unsigned i = 0; i < PRODUCTION_FIELDS; i++)
        printf("\t%u\t%u\t%u\t%" PRIu64, v->of[i].kind, image_number(v->of[i].image),
               v->of[i].process, v->of[i].offset);
}

static void print_productions(const struct profile_productions *t)
{
    printf("productions\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%u\n", t->burst, t->sparsity,
           t->bursts, t->exact);
    for (uint32_t i = 0; i < t->group_count; i++)
        printf("group\t%s\t%u\t%u\t%u\t%" PRIu64 "\t%" PRIu64 "\n", t->groups[i].name,
               t->groups[i].kind, t->groups[i].fields[0], t->groups[i].fields[1],
               t->groups[i].done, t->groups[i].lost);
    for (uint32_t i = 0; i < t->count; i++) {
        printf("count\t%u\t%" PRIu64, t->counts[i].group, t->counts[i].count);
        print_production_values(&t->counts[i].values);
        printf("\n");
    }
    for (uint32_t i = 0; i < t->stream_count; i++) {
        const struct profile_production_stream *s = &t->streams[i];
        printf("hot stream\t%u\t%" PRIu64, s->group, s->frequency);
        for (uint32_t k = 0; k < s->length; k++)
            print_production_values(&t->items[s->first + k]);
        printf("\n");
    }
}

static void print_engine(const struct profile *p)
{
    print_counted(observed_code(p));
    print_values(observed_values(p));
    print_paths(observed_table(p, TABLE_PATHS));
    print_streams(observed_table(p, TABLE_STREAMS));
    print_waste(observed_table(p, TABLE_WASTE));
    print_productions(observed_table(p, TABLE_PRODUCTIONS));
}

static void print_processes(const struct profile *p)
{
    for (uint32_t i = 0; i < p->process_count; i++)
        print_process(&p->processes[i]);
    print_sandboxes(p);
    printf("cpu time\t%" PRIu64, p->kernel_cpu_ns);
    for (uint32_t i = 0; i < p->process_count; i++)
        printf("\t%" PRIu64, p->processes[i].early_cpu_ns);
    printf("\n");
    printf("ranks");
    for (uint32_t i = 0; i < p->process_count; i++)
        printf("\t%u", p->processes[i].rank);
    printf("\n");
    print_recordings(p);
}

static void print_profile(const struct profile *p)
{
    print_head(p);
    for (uint32_t i = 0; i < p->image_count; i++)
        print_image(&p->images[i]);
    print_processes(p);
    for (uint32_t i = 0; i < p->entity_count; i++)
        printf("entity\t%" PRIu64 "\t%u\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\n", p->entities[i].id,
               p->entities[i].kind, p->entities[i].name, p->entities[i].scope, p->entities[i].at,
               p->entities[i].number);
    for (uint32_t i = 0; i < p->hit_count; i++)
        printf("hit\t%" PRIu64 "\t%" PRIu64 "\n", p->hits[i].entity, p->hits[i].weight);
    for (uint32_t i = 0; i < p->metric_count; i++)
        printf("metric\t%s\t%s\t%s\t%" PRIu64 "\t%u\n", p->metrics[i].name, p->metrics[i].trigger,
               p->metrics[i].unit, p->metrics[i].period, p->metrics[i].how);
    for (uint32_t i = 0; i < p->thread_count; i++)
        print_thread(&p->threads[i]);
    print_weights(p);
    print_sampled(p);
    for (uint32_t i = 0; i < p->thread_count; i++)
        printf("delivered\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", p->threads[i].delivered_ns,
               p->threads[i].switches, p->threads[i].switched_ns);
    print_timelines(p);
    print_phases(p);
    if (observed_code(p))
        print_engine(p);
    print_names(p->names);
    print_figures(p);
    for (uint32_t i = 0; i < p->part_count; i++) {
        const struct profile_part *part = &p->parts[i];
        printf("part\t%d\t%s\t%s\n", part->how == OBSERVED_EXACT, part->carrier, part->tool);
        print_profile(part->open);
    }
}

/* What is written; the smaller ones are for the corpus. */
static struct profile *sample_make(const char *mode, struct err *e)
{
    bool parts = !strcmp(mode, "parts"), small = parts || !strcmp(mode, "small");
    struct profile *p = small ? sample_profile(2, parts ? 6 : 20, 4) : sample_profile(5, 700, 4);
    if (small && !parts)
        heap_make(p);
    recordings_make(p);
    if (parts) {
        struct profile *samples = sample_profile(1, 6, 5);
        profile_observations_free(samples);
        bool ok = profile_merge(p, samples, e);
        profile_free(samples);
        if (!ok) {
            profile_free(p);
            return NULL;
        }
    }
    return p;
}

int main(int argc, char **argv)
{
    struct err e = {0};
    size_t size;
    if (argc != 3)
        return 2;
    struct profile *p = sample_make(argv[2], &e);
    uint8_t *data =
        p ? profile_encode_with(p, strcmp(argv[2], "compressed") == 0, &size, &e) : NULL;
    FILE *f = fopen(argv[1], "wb");
    if (!data || !f || fwrite(data, 1, size, f) != size || fclose(f) != 0) {
        fprintf(stderr, "%s: %s\n", argv[1], e.message);
        return 1;
    }
    print_profile(p);
    free(data);
    profile_free(p);
    return 0;
}
