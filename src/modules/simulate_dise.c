#include "modules/simulate_dise.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profile/simulate.h"
#include "sigsafe/key.h"
#include "sigsafe/settings.h"
#include "sigsafe/spool_productions.h"
#include "sigsafe/tools.h"
#include "tools/trigger.h"

enum {
    ACTIONS_MOST = TRIGGER_MEMORIES * PRODUCTION_ACTIONS,
    WAIT_NS = 1000000, WAITS = 3000, NO_OPERAND = 0xff, RECORDS_MOST = 1 << 20,
};

struct simulate_site {
    uint64_t mask; /* of productions */
    uint64_t key, target_key;
    int64_t immediate;
    uint32_t opcode;
    bool is_call, is_indirect;
    uint8_t memories, operands[TRIGGER_MEMORIES]; /* of struct uop_executed; NO_OPERAND: none */
};

struct simulate_dise {
    struct dise *dise;
    struct host_process *process; /* whose state it has */
    struct production_store store; /* without a record: nothing is kept */
    uint32_t breaks; /* groups whose streams do not go on */
};

static struct {
    const struct production_program *program;
    struct dise_sums sums;
    uint64_t unkept; /* actions of threads without a record */
    bool any;
} all;

/* A copy: the program may write to the spool. */
static const struct production_program *program_of(const struct penumbra_host *host)
{
    if (all.program || !host->options.productions)
        return all.program;
    const struct production_settings_block *settings = settings_productions_as(host->spool);
    const struct production_program *there =
        settings ? spool_at(host->spool, settings->program, sizeof *there) : NULL;
    struct production_program *copy = there ? malloc(sizeof *copy) : NULL;
    if (copy)
        memcpy(copy, there, sizeof *copy);
    return all.program = copy;
}

/* ---- sites ---- */

static bool is_direct(const struct x86_insn *insn)
{
    return insn->kind == X86_JCC || insn->kind == X86_LOOP || insn->kind == X86_JMP ||
           insn->kind == X86_CALL;
}

static bool is_indirect(const struct x86_insn *insn)
{
    return insn->kind == X86_CALL_INDIRECT || insn->kind == X86_JMP_INDIRECT ||
           insn->kind == X86_RET;
}

/* A tuple's addresses are those of all memory operands but a gather's or scatter's. */
static void take_operands(struct simulate_site *site, const struct trigger *t,
                          const struct x86_insn *insn)
{
    for (; site->memories < t->memories; site->memories++) {
        unsigned number = t->memory[site->memories].number - (insn->traits & X86_VSIB ? 1u : 0u);
        site->operands[site->memories] =
            number < INSN_OPERANDS ? (uint8_t)number : (uint8_t)NO_OPERAND;
    }
}

struct simulate_site *simulate_site_new(struct penumbra_host *host, const struct penumbra_tuple *t)
{
    const struct production_program *p = program_of(host);
    struct x86_insn insn;
    struct trigger trigger;
    if (!p || !x86_decode_as(t->code, t->length, &insn))
        return NULL;
    struct simulate_site site = {.key = host_place(host, host->current, t->pc)};
    struct production_trigger *seen = &trigger.seen;
    trigger_make_as(&insn, t->code, t->pc, &trigger);
    seen->offset = key_offset(site.key);
    if (p->image_count && key_image(site.key))
        seen->images = production_image_bits_as(host->spool, p, key_image(site.key));
    seen->has_target = is_direct(&insn);
    if (seen->has_target)
        seen->target = t->pc + insn.length + (uint64_t)(int64_t)x86_relative_as(&insn, t->code);
    site.mask = production_match(p, seen);
    if (!site.mask)
        return NULL;
    site.opcode = seen->opcode;
    site.immediate = seen->immediate;
    site.is_call = trigger.is_call;
    site.is_indirect = is_indirect(&insn);
    site.target_key = seen->has_target ? host_place(host, host->current, seen->target) : 0;
    take_operands(&site, &trigger, &insn);
    struct simulate_site *kept = malloc(sizeof *kept);
    if (kept)
        *kept = site;
    return kept;
}

/* ---- threads ---- */

/* The record of the thread whose ring the sequence comes from. */
static void find_store(const struct penumbra_host *host, struct simulate_dise *d)
{
    const struct spool *s = host->spool;
    spool_ref at = __atomic_load_n(&d->process->record->counts, __ATOMIC_ACQUIRE);
    const struct spool_counts *counts = at ? spool_at(s, at, sizeof *counts) : NULL;
    spool_ref ref =
        counts ? __atomic_load_n(&counts->tables[TABLE_PRODUCTIONS], __ATOMIC_ACQUIRE) : 0;
    struct spool_productions *record = ref ? spool_at(s, ref, sizeof *record) : NULL;
    for (unsigned n = 0; record && record->window != host->ring->window; n++)
        record = record->next && n < RECORDS_MOST ? spool_at(s, record->next, sizeof *record)
                                                  : NULL;
    d->store = (struct production_store){.spool = s, .record = record};
    if (record && record->counts)
        d->store.counts = spool_at(s, record->counts, sizeof *d->store.counts);
}

static void enter(const struct penumbra_host *host, struct simulate_dise *d,
                  struct host_process *process)
{
    d->process = process;
    d->breaks = UINT32_MAX;
    dise_begin(d->dise);
    find_store(host, d);
}

struct simulate_dise *simulate_dise_new(struct penumbra_host *host)
{
    const struct production_program *p = program_of(host);
    struct simulate_dise *d = p ? calloc(1, sizeof *d) : NULL;
    if (!d)
        return NULL;
    d->dise = dise_new(host->options.machine, p,
                       host->options.dise_original ? DISE_ORIGINAL : DISE_HPS);
    if (!d->dise) {
        free(d);
        return NULL;
    }
    enter(host, d, host->current);
    return d;
}

void simulate_dise_free(struct simulate_dise *d)
{
    if (!d)
        return;
    simulate_dise_sum(d);
    dise_free(d->dise);
    free(d);
}

/* ---- what they find ---- */

/* The collector makes room; true: there may be some. */
static bool wait_for_room(const struct spool *s, unsigned *waits)
{
    const struct timespec pause = {0, WAIT_NS};
    if (++*waits > WAITS)
        return false;
    spool_wake_as(s, &spool_header(s)->bell);
    nanosleep(&pause, NULL);
    return true;
}

static void search(struct simulate_dise *d, uint32_t group)
{
    struct spool_production_buffer *b = &d->store.record->buffers[group];
    void *memory = calloc(1, hot_streams_bytes(b->count));
    if (memory) {
        production_search_as(&d->store, group, memory);
    } else {
        d->store.record->lost[group] += b->count;
        __atomic_store_n(&b->count, 0, __ATOMIC_RELEASE);
    }
    free(memory);
}

static void append(struct simulate_dise *d, uint32_t group, struct hot_item item)
{
    enum production_put put;
    unsigned waits = 0;
    do {
        put = production_append_as(&d->store, group, item);
        if (put == PRODUCTION_FULL)
            search(d, group);
    } while (put == PRODUCTION_FULL ||
             (put == PRODUCTION_NO_ROOM && wait_for_room(d->store.spool, &waits)));
    d->store.record->lost[group] += put != PRODUCTION_PUT;
}

static void keep_count(struct simulate_dise *d, uint32_t group, struct hot_item item)
{
    enum production_put put;
    unsigned waits = 0;
    do
        put = production_count_as(&d->store, group, item.a, item.b);
    while (put == PRODUCTION_NO_ROOM && wait_for_room(d->store.spool, &waits));
    d->store.record->lost[group] += put != PRODUCTION_PUT;
}

static void keep(struct simulate_dise *d, uint32_t group, struct hot_item item)
{
    if (!d->store.record) {
        all.unkept++;
        return;
    }
    d->store.record->done[group]++;
    if (all.program->groups[group].kind == GROUP_COUNT) {
        keep_count(d, group, item);
        return;
    }
    if (d->breaks >> group & 1 && d->store.record->buffers[group].count)
        append(d, group, HOT_BREAK);
    d->breaks &= ~(UINT32_C(1) << group);
    append(d, group, item);
}

/* ---- an instruction ---- */

/* What an action is given. */
struct given {
    struct penumbra_host *host;
    struct host_process *process;
    const struct simulate_site *site;
    const struct simulate_values *values;
    const struct uop_executed *x;
};

static uint64_t field_value(const struct given *g, uint8_t field, unsigned memory)
{
    const struct simulate_site *site = g->site;
    if (field >= FIELD_REGISTER)
        return field < FIELD_END ? g->values->registers[field - FIELD_REGISTER] : 0;
    if (field == FIELD_METHOD)
        field = site->is_call ? FIELD_TARGET : FIELD_PC;
    switch (field) {
    case FIELD_TARGET:
        return site->is_indirect ? host_place(g->host, g->process, g->values->target)
                                 : site->target_key;
    case FIELD_ADDRESS:
        return memory < site->memories && site->operands[memory] != NO_OPERAND
                   ? g->x->address[site->operands[memory]]
                   : 0;
    case FIELD_IMMEDIATE: return (uint64_t)site->immediate;
    case FIELD_OPCODE: return site->opcode;
    default: return site->key;
    }
}

/* Each as often as there are addresses that it is given. */
static unsigned act(struct simulate_dise *d, const struct given *given, uint32_t group,
                    struct dise_action *list, unsigned count)
{
    const struct production_group *g = &all.program->groups[group];
    bool each = g->fields[0] == FIELD_ADDRESS || g->fields[1] == FIELD_ADDRESS;
    unsigned times = each ? given->site->memories : 1;
    for (unsigned i = 0; i < times; i++) {
        struct hot_item item = {.a = field_value(given, g->fields[0], i)};
        if (g->fields[1] != FIELD_NOTHING)
            item.b = field_value(given, g->fields[1], i);
        keep(d, group, item);
        if (count < ACTIONS_MOST)
            list[count++] = (struct dise_action){
                .group = (uint8_t)group, .operand = i < given->site->memories
                                                        ? given->site->operands[i]
                                                        : (uint8_t)NO_OPERAND,
                .a = item.a, .b = item.b};
    }
    return count;
}

static unsigned act_all(struct simulate_dise *d, const struct given *given,
                        struct dise_action *list)
{
    const struct production_program *p = all.program;
    unsigned count = 0;
    for (uint64_t left = dise_active(d->dise, given->site->mask); left; left &= left - 1) {
        struct production_run run = p->productions[__builtin_ctzll(left)].actions;
        for (uint32_t i = 0; i < run.count; i++)
            count = act(d, given, p->actions[run.first + i] % PRODUCTION_GROUPS, list, count);
    }
    return count;
}

void simulate_dise_add_to(struct simulate_dise *d, uint64_t *parts)
{
    dise_add_to(d->dise, parts);
}

void simulate_dise_step(struct penumbra_host *host, struct simulate_dise *d,
                        struct host_process *process, const struct simulate_site *site,
                        const struct simulate_values *values, const struct uop_insn *insn,
                        const struct uop_executed *x, struct model_cost *cost)
{
    static struct dise_action actions[ACTIONS_MOST];
    const struct given given = {host, process, site, values, x};
    if (d->process != process)
        enter(host, d, process);
    unsigned count = site ? act_all(d, &given, actions) : 0;
    struct dise_moved moved =
        dise_step(d->dise, site ? site->mask : 0, actions, count, insn, x, cost);
    if (moved.set)
        d->breaks = UINT32_MAX;
    for (unsigned i = 0; d->store.record && i < PRODUCTION_COUNTERS; i++)
        d->store.record->overflows[i] += moved.overflowed >> i & 1;
}

/* ---- facts ---- */

void simulate_dise_sum(const struct simulate_dise *d)
{
    dise_sum(d->dise, &all.sums);
    all.any = true;
}

static void put_fact(struct penumbra_host *host, const char *what, const char *name,
                     uint64_t value)
{
    char text[64];
    snprintf(text, sizeof text, "%s%s", what, name);
    penumbra_fact(host, text, value);
}

void simulate_dise_facts(struct penumbra_host *host)
{
    static const char *const parts[] = {
#define PART(id, name, what) #name,
        DISE_PARTS(PART)
#undef PART
    };
    static const char *const counts[] = {
#define COUNT(id, name, title) #name,
        DISE_COUNTS(COUNT)
#undef COUNT
    };
    if (all.unkept)
        fprintf(stderr,
                "penumbra: there was no room for what productions found, %" PRIu64 " times\n",
                all.unkept);
    if (!all.any)
        return;
    penumbra_fact(host, SIMULATED_DISE_ORIGINAL, host->options.dise_original);
    for (unsigned i = 0; i < DISE_PART_COUNT; i++)
        put_fact(host, SIMULATED_DISE_CYCLES, parts[i], all.sums.cycles[i]);
    for (unsigned i = 0; i < DISE_COUNT_COUNT; i++)
        put_fact(host, SIMULATED_DISE, counts[i], all.sums.counts[i]);
}
