/* The processor model (model/core.h), fed with what the program executes: one core a thread.
 *
 *     sequence ─> crack (once an instruction) ─> model_step ─> rows of the instruction and of its
 *                                                              calling context, in the spool
 *
 * An instruction is executed in the model when the one after it is known, which says where a branch
 * went. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crack/crack.h"
#include "model/core.h"
#include "modules/builtin.h"
#include "modules/host_internal.h"
#include "modules/sample.h"
#include "modules/simulate_dise.h"
#include "modules/simulate_functions.h"
#include "modules/simulate_paths.h"
#include "modules/simulate_rows.h"
#include "modules/simulate_warm.h"
#include "sigsafe/hash.h"
#include "sigsafe/tools.h"
#include "x86/operands.h"

enum {
    INSNS_FIRST = 1 << 12, UNKNOWN_MOST = 48, CODE = 15, FOUND = 1 << 17, CORES_FIRST = 32,
};

static const struct penumbra_kind kinds[] = {
    {"cycles", PENUMBRA_SHOW_DECIMAL, PENUMBRA_ROLE_OTHER, NULL}};

/* An instruction that has been cracked. */
struct known {
    uint64_t pc;
    struct host_process *process;
    uint8_t code[CODE];
    struct uop_insn insn;
    struct simulate_site *site; /* NULL: no production matches it */
    struct spool_cost *row; /* NULL: there is no room */
    struct simulate_place place;
    struct known *older;    /* other code at this address */
};

/* One thread, as long as it executes one program: exec makes another process of it. */
struct core {
    const struct host_process *process;
    int32_t thread;
    struct model_core *model;   /* without productions */
    struct simulate_dise *dise; /* with productions */
    struct simulate_paths *paths;
    struct known *last;     /* waits for the one after it */
    struct uop_executed executed;
    uint64_t registers[16]; /* before it, if productions keep some */
    uint64_t target;        /* of an indirect transfer, with productions */
    uint64_t steps;         /* instructions that the thread has executed, where that is told */
    struct sample_window window;
    struct simulate_warm warm;
    struct core *next;
};

static struct {
    struct known **table;   /* open addressing, by process and pc */
    uint32_t capacity, count;
    /* By where the host keeps the code, which it does as long as it runs. */
    struct {
        const uint8_t *code;
        struct known *known;
    } found[FOUND];
    struct core *cores;
    struct core *recent;
    unsigned core_count, cores_next; /* that there are; at which those of ended threads are freed */
    struct {
        char name[32];
        uint64_t count;
    } unknown[UNKNOWN_MOST];
    unsigned unknown_count;
    struct sample sample;
    bool incomplete; /* there was no memory for some core or row */
} all;

/* ---- instructions ---- */

static uint32_t slot_of(const struct host_process *p, uint64_t pc)
{
    uint64_t hash = hash_word(pc ^ (uint64_t)(uintptr_t)p << 20);
    uint32_t at = (uint32_t)(hash >> 32) & (all.capacity - 1);
    while (all.table[at] && (all.table[at]->pc != pc || all.table[at]->process != p))
        at = (at + 1) & (all.capacity - 1);
    return at;
}

static bool grow(void)
{
    struct known **old = all.table;
    uint32_t count = all.capacity, capacity = count ? count * 2 : INSNS_FIRST;
    struct known **table = calloc(capacity, sizeof *table);
    if (!table)
        return false;
    all.table = table;
    all.capacity = capacity;
    for (uint32_t i = 0; i < count; i++)
        if (old[i])
            table[slot_of(old[i]->process, old[i]->pc)] = old[i];
    free(old);
    return true;
}

static void note_unknown(const uint8_t *code, uint32_t length)
{
    const char *name = x86_mnemonic(code, length);
    unsigned i = 0;
    while (i < all.unknown_count && strcmp(all.unknown[i].name, name ? name : "?") != 0)
        i++;
    if (i == UNKNOWN_MOST)
        return;
    if (i == all.unknown_count) {
        snprintf(all.unknown[i].name, sizeof all.unknown[i].name, "%s", name ? name : "?");
        all.unknown_count++;
    }
    all.unknown[i].count++;
}

static struct known *crack_anew(struct penumbra_host *host, const struct penumbra_tuple *t)
{
    struct known *k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    k->pc = t->pc;
    k->process = host->current;
    memcpy(k->code, t->code, t->length);
    if (!crack(t->code, t->length, host->options.machine->vector_bytes, &k->insn))
        k->insn = (struct uop_insn){.length = t->length, .count = 1, .flags = INSN_UNKNOWN,
                                    .uops = {{.class = UOP_COMPLEX}}};
    k->site = simulate_site_new(host, t);
    k->row = simulate_row_new(host, t->pc);
    all.incomplete |= !k->row;
    k->place.key = host_place(host, host->current, t->pc);
    k->place.call_key = host_place(host, host->current, t->pc + t->length - 1);
    k->place.function = simulate_function(host, k->place.key);
    return k;
}

static struct known *find_slowly(struct penumbra_host *host, const struct penumbra_tuple *t)
{
    if (all.count >= all.capacity / 2 && !grow())
        return NULL;
    uint32_t at = slot_of(host->current, t->pc);
    for (struct known *k = all.table[at]; k; k = k->older)
        if (k->insn.length == t->length && !memcmp(k->code, t->code, t->length))
            return k;
    struct known *k = crack_anew(host, t);
    if (!k)
        return NULL;
    all.count += !all.table[at];
    k->older = all.table[at];
    all.table[at] = k;
    return k;
}

static struct known *find(struct penumbra_host *host, const struct penumbra_tuple *t)
{
    uint32_t at = (uint32_t)((uintptr_t)t->code / sizeof(struct host_insn)) % FOUND;
    if (all.found[at].code != t->code) {
        all.found[at].code = t->code;
        all.found[at].known = find_slowly(host, t);
    }
    return all.found[at].known;
}

/* ---- execution ---- */

/* Where costs go besides: to the calling context of the core's last instruction. */
static void add_to_context(struct penumbra_host *host, struct core *c, bool counts)
{
    struct spool_context_cost *context =
        simulate_paths_enter(host, c->paths, &c->last->place);
    uint64_t *parts = context && counts ? context->parts : NULL;
    all.incomplete |= !context;
    if (parts)
        context->count++;
    if (c->dise)
        simulate_dise_add_to(c->dise, parts);
    else
        model_add_to(c->model, parts);
}

static void execute(struct penumbra_host *host, struct core *c, struct known *k, bool counts)
{
    static struct model_cost lost;
    struct spool_cost *row = counts ? k->row : NULL;
    struct model_cost *cost = row ? &row->cost : &lost;
    add_to_context(host, c, counts);
    if (c->dise)
        simulate_dise_step(host, c->dise, k->process, k->site,
                           &(struct simulate_values){c->registers, c->target}, &k->insn,
                           &c->executed, cost);
    else
        model_step(c->model, &k->insn, &c->executed, cost);
    c->steps++;
    if (row)
        row->count++;
    all.incomplete |=
        !simulate_paths_follow(host, c->paths, &k->place, &k->insn, &c->executed);
}

/* The last instruction of the core, as the one at `next` follows it; 0: none does. */
static void execute_last(struct penumbra_host *host, struct core *c, uint64_t next,
                         const struct known *follower)
{
    struct known *k = c->last;
    struct host_process *now = host->current;
    if (!k)
        return;
    host->current = k->process;
    c->executed.next = next;
    c->executed.follower = follower ? &follower->insn : NULL;
    bool counts = !all.sample.settings.period ||
                  sample_step(&all.sample, &c->window, model_cycles(c->model));
    execute(host, c, k, counts);
    if (k->insn.flags & INSN_UNKNOWN)
        note_unknown(k->code, k->insn.length);
    host->current = now;
    c->last = NULL;
}

/* Is there one of the program that the thread has executed since? Younger cores come first. */
static bool is_succeeded(const struct core *c)
{
    const struct core *younger = all.cores;
    while (younger != c && (younger->thread != c->thread ||
                            younger->process->record->pid != c->process->record->pid))
        younger = younger->next;
    return younger != c;
}

static bool is_gone(const struct core *c)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d", c->process->record->pid, c->thread);
    return is_succeeded(c) || access(path, F_OK) != 0;
}

/* A core takes some megabytes. What an ended thread has still left in its ring gets a new one. */
static void free_ended(struct penumbra_host *host)
{
    for (struct core **at = &all.cores; *at;) {
        struct core *c = *at;
        if (!is_gone(c)) {
            at = &c->next;
            continue;
        }
        execute_last(host, c, 0, NULL);
        *at = c->next;
        model_core_free(c->model);
        simulate_dise_free(c->dise);
        simulate_paths_free(c->paths);
        free(c);
        all.core_count--;
    }
    all.recent = NULL;
    all.cores_next = all.core_count * 2 > CORES_FIRST ? all.core_count * 2 : CORES_FIRST;
}

static bool core_make(struct penumbra_host *host, struct core *c)
{
    c->paths = simulate_paths_new(c->thread);
    if (!c->paths)
        return false;
    if (host->options.productions)
        c->dise = simulate_dise_new(host);
    else
        c->model = model_core_new(host->options.machine);
    return c->dise || c->model;
}

/* The current process's. */
static struct core *core_of(struct penumbra_host *host, int32_t thread)
{
    const struct host_process *process = host->current;
    struct core *c = all.recent;
    if (c && c->process == process && c->thread == thread)
        return c;
    for (c = all.cores; c; c = c->next)
        if (c->process == process && c->thread == thread)
            return all.recent = c;
    if (all.core_count >= all.cores_next)
        free_ended(host);
    c = calloc(1, sizeof *c);
    if (c)
        *c = (struct core){.process = process, .thread = thread, .next = all.cores};
    if (!c || !core_make(host, c)) {
        simulate_paths_free(c ? c->paths : NULL);
        free(c);
        return NULL;
    }
    all.core_count++;
    return all.cores = all.recent = c;
}

/* Addresses; of string instructions how often they are repeated, rcx; what productions keep. */
static void take_items(const struct penumbra_tuple *t, struct core *c)
{
    struct uop_executed *x = &c->executed;
    *x = (struct uop_executed){.pc = t->pc, .repeat = 1};
    for (uint32_t i = 0; i < t->count; i++) {
        const struct penumbra_item *item = &t->items[i];
        if (item->what == PENUMBRA_ADDRESS && item->index < INSN_OPERANDS) {
            x->address[item->index] = item->value;
            x->known[item->index] = true;
        } else if (item->what == PENUMBRA_SOURCES && item->reg == X86_RCX) {
            x->repeat = item->value;
        } else if (item->what == 1u << TUPLE_REGISTERS && item->reg < 16) {
            c->registers[item->reg] = item->value;
        } else if (item->what == PENUMBRA_TARGET) {
            c->target = item->value;
        }
    }
}

static void sequence(struct penumbra_host *host, const struct penumbra_sequence *s)
{
    struct core *c = core_of(host, s->thread);
    if (c && host->window != c->window.number) {
        c->last = NULL; /* where it went is not known */
        c->warm.block = NULL;
        all.incomplete |= !simulate_paths_break(host, c->paths);
        sample_begin(&all.sample, &c->window, host->window);
    }
    for (uint32_t i = 0; c && i < s->count; i++) {
        struct known *k = find(host, &s->tuples[i]);
        execute_last(host, c, s->tuples[i].pc, k);
        if (!k)
            continue;
        take_items(&s->tuples[i], c);
        c->last = k;
    }
    if (!c)
        all.incomplete = true;
}

struct records_of {
    struct penumbra_host *host;
    const struct host_ring *ring;
};

static const struct tuple_insn *find_record(void *data, uint32_t id)
{
    const struct records_of *of = data;
    const struct host_insn *insn = host_rings_insn(of->host, of->ring, id);
    return insn ? &insn->record : NULL;
}

/* What was executed between windows. */
static void warm(struct penumbra_host *host, struct host_ring *from, int32_t tid,
                 const uint64_t *words, uint32_t count)
{
    struct core *c = core_of(host, tid);
    if (!c || !c->model) {
        all.incomplete = true;
        return;
    }
    c->last = NULL; /* where it went is not known */
    c->warm.branches = sample_is_near(&all.sample.settings, c->window.number + 1, c->steps);
    struct records_of of = {host, from};
    uint64_t executed =
        simulate_warm_words(&from->blocks, (struct simulate_records){find_record, &of}, c->model,
                            &c->warm, words, count);
    all.sample.between += executed;
    c->steps += executed;
}

/* Of string instructions their registers, too. */
static uint32_t capture(const struct penumbra_opcode *opcode)
{
    bool string = opcode->map == 0 && ((opcode->opcode & 0xfe) == 0xa4 ||
                                       (opcode->opcode & 0xfe) == 0xaa ||
                                       (opcode->opcode & 0xfe) == 0xac);
    return PENUMBRA_ADDRESS | (string ? PENUMBRA_SOURCES : 0);
}

static uint64_t millionths(double value)
{
    return (uint64_t)(int64_t)llround(value * 1e6);
}

static void tell_sample(struct penumbra_host *host, const struct sample *s)
{
#define NAME(id, name) name,
    static const char *const names[] = {SIMULATED_FACTS(NAME)};
#undef NAME
    const uint64_t facts[SIMULATED_FACT_COUNT] = {
        [SAMPLED_PERIOD] = s->settings.period, [SAMPLED_WARMING] = s->settings.warming,
        [SAMPLED_MEASURED] = s->settings.measured,
        [SAMPLED_COLD] = !s->settings.lines,
        [SAMPLED_INSTRUCTIONS] = sample_instructions(s),
        [SAMPLED_WINDOWS] = s->cpi.count, [SAMPLED_CPI] = millionths(s->cpi.mean),
        [SAMPLED_HALF] = millionths(sample_half_width(&s->cpi)),
        [SAMPLED_LONG] = s->bias.count, [SAMPLED_BIAS] = millionths(s->bias.mean),
        [SAMPLED_BIAS_HALF] = millionths(sample_half_width(&s->bias)),
    };
    for (unsigned i = 0; i < SIMULATED_FACT_COUNT; i++)
        if ((i != SAMPLED_HALF || s->cpi.count > 1) && (i != SAMPLED_BIAS || s->bias.count) &&
            (i != SAMPLED_BIAS_HALF || s->bias.count > 1))
            penumbra_fact(host, names[i], facts[i]);
}

static void end(struct penumbra_host *host)
{
    char name[64];
    for (struct core *c = all.cores; c; c = c->next) {
        execute_last(host, c, 0, NULL);
        if (c->dise)
            simulate_dise_sum(c->dise);
    }
    simulate_dise_facts(host);
    if (all.sample.settings.period)
        tell_sample(host, &all.sample);
    for (unsigned i = 0; i < all.unknown_count; i++) {
        snprintf(name, sizeof name, SIMULATED_UNKNOWN "%s", all.unknown[i].name);
        penumbra_fact(host, name, all.unknown[i].count);
    }
    if (all.incomplete)
        fputs("penumbra: there was no memory to simulate all that was executed\n", stderr);
}

static int begin(struct penumbra_host *host)
{
    all.sample.settings = host->options.sample;
    host->warm = warm;
    return !host->options.machine;
}

const struct penumbra_module module_simulate = {
    .abi = PENUMBRA_MODULE_ABI,
    .size = sizeof(struct penumbra_module),
    .name = "simulate",
    .kinds = kinds,
    .kind_count = 1,
    .capture = capture,
    .begin = begin,
    .sequence = sequence,
    .end = end,
};
