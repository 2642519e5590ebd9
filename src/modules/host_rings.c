#include <stdlib.h>
#include <string.h>

#include "modules/host_internal.h"
#include "sigsafe/hash.h"
#include "sigsafe/spool_counts.h"

enum {
    PROCESSES_MOST = 1 << 20,
    RINGS_MOST = 1 << 16,
    AT_ONCE = 256, /* sequences of one ring before the next one's turn */
};

/* ---- which rings there are ---- */

static struct host_process *add_process(struct penumbra_host *host, spool_ref ref,
                                        const struct spool_process *record)
{
    struct host_process **list =
        reallocarray(host->processes, host->process_count + 1, sizeof(struct host_process *));
    struct host_process *p = list ? calloc(1, sizeof *p) : NULL;
    if (list)
        host->processes = list;
    if (!p)
        return NULL;
    p->ref = ref;
    p->record = record;
    host->processes[host->process_count++] = p;
    return p;
}

static void find_processes(struct penumbra_host *host)
{
    uint32_t head = __atomic_load_n(&spool_header(host->spool)->processes, __ATOMIC_ACQUIRE);
    spool_ref ref = head;
    for (uint32_t n = 0; ref && ref != host->process_head && n < PROCESSES_MOST; n++) {
        const struct spool_process *record = spool_at(host->spool, ref, sizeof *record);
        if (!record || !add_process(host, ref, record))
            break;
        ref = record->next;
    }
    host->process_head = head;
}

static bool is_known(const struct penumbra_host *host, const struct tuple_ring *ring)
{
    for (uint32_t i = 0; i < host->ring_count; i++)
        if (host->rings[i].ring == ring)
            return true;
    return false;
}

static bool open_process(struct host_process *p)
{
    p->chunks = p->chunks ? p->chunks : calloc(TUPLES_CHUNKS, sizeof *p->chunks);
    p->keys = p->keys ? p->keys : calloc(HOST_KEYS, sizeof *p->keys);
    p->emitted = p->emitted ? p->emitted : calloc(1 << HOST_EMITTED_BITS, sizeof *p->emitted);
    return p->chunks && p->keys && p->emitted;
}

static void find_rings(struct penumbra_host *host, struct host_process *p)
{
    spool_ref at = __atomic_load_n(&p->record->counts, __ATOMIC_ACQUIRE);
    const struct spool_counts *counts = at ? spool_at(host->spool, at, sizeof *counts) : NULL;
    spool_ref tuples_at = counts ? __atomic_load_n(&counts->tuples, __ATOMIC_ACQUIRE) : 0;
    const struct spool_tuples *tuples =
        tuples_at ? spool_at(host->spool, tuples_at, sizeof *tuples) : NULL;
    spool_ref ref = tuples ? __atomic_load_n(&tuples->rings, __ATOMIC_ACQUIRE) : 0;
    for (uint32_t n = 0; ref && n < RINGS_MOST; n++) {
        struct tuple_ring *ring = spool_at(host->spool, ref, sizeof *ring);
        /* the rest is older, and known too */
        if (!ring || is_known(host, ring) || !open_process(p))
            return;
        struct host_ring *rings =
            reallocarray(host->rings, host->ring_count + 1, sizeof *rings);
        if (!rings)
            return;
        host->rings = rings;
        struct host_calls *calls = calloc(1, sizeof *calls);
        if (!calls)
            return;
        host_allow(host, ring, sizeof *ring);
        rings[host->ring_count++] =
            (struct host_ring){.calls = calls, .ring = ring, .process = p, .tuples = tuples};
        ref = ring->next;
    }
}

void host_rings_refresh(struct penumbra_host *host)
{
    find_processes(host);
    for (uint32_t i = 0; i < host->process_count; i++)
        find_rings(host, host->processes[i]);
}

/* ---- sequences ---- */

const struct host_insn *host_rings_insn(struct penumbra_host *host, const struct host_ring *from,
                                        uint32_t id)
{
    struct host_process *p = from->process;
    uint32_t chunk = id / TUPLES_CHUNK;
    if (chunk >= TUPLES_CHUNKS)
        return NULL;
    if (!p->chunks[chunk])
        p->chunks[chunk] = calloc(TUPLES_CHUNK, sizeof *p->chunks[chunk]);
    struct host_insn *insn = p->chunks[chunk] ? &p->chunks[chunk][id % TUPLES_CHUNK] : NULL;
    if (insn && !insn->known) {
        const struct tuple_insn *record = tuples_insn_at(host->spool, from->tuples, id);
        if (!record || !host_insn_describe(insn, record))
            return NULL;
    }
    return insn;
}

static void follow(struct host_calls *c, const struct host_insn *insn)
{
    if (insn->kind == X86_CALL || insn->kind == X86_CALL_INDIRECT) {
        if (c->depth < HOST_CALLS_MAX)
            c->returns[c->depth++] = c->now;
        else
            c->beyond++;
        c->now = insn->record.address + insn->record.length;
    } else if (insn->kind == X86_RET) {
        c->now = !c->beyond && c->depth ? c->returns[--c->depth] : 0;
        c->beyond -= c->beyond > 0;
    }
}

/* What the module sees of a sequence; large, so that it is not on the stack. */
struct shown {
    struct penumbra_tuple tuples[TUPLE_LENGTH_MAX];
    struct penumbra_item items[TUPLE_LENGTH_MAX * HOST_ITEMS_MAX];
};

/* False: an instruction of it is not known. */
static bool build(struct penumbra_host *host, const struct host_ring *from,
                  struct host_process *process, const uint64_t *words, uint32_t count,
                  struct shown *shown)
{
    const struct tuple_sequence *head = (const void *)words;
    struct host_calls *calls = from->calls;
    uint32_t items = 0, at = TUPLE_SEQUENCE_WORDS;
    if (!(head->flags & TUPLE_CONTINUES)) {
        calls->depth = calls->beyond = 0;
        calls->now = head->return_address;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct tuple_head *tuple = (const void *)&words[at];
        const struct host_insn *insn = host_rings_insn(host, from, tuple->id);
        if (!insn)
            return false;
        const uint64_t address = insn->record.address;
        struct host_key *key =
            &process->keys[hash_word(address) >> 52];
        *key = (struct host_key){.address = address, .key = insn->record.key};
        struct penumbra_tuple *t = &shown->tuples[i];
        *t = (struct penumbra_tuple){
            .pc = address,
            .code = insn->record.bytes,
            .length = insn->record.length,
            .return_address = calls->now,
            .called = tuple->flags & TUPLE_ARGUMENTS ? 1 : 0,
            .items = &shown->items[items],
        };
        t->count = host_insn_items(insn, tuple, &words[at + 1], &shown->items[items]);
        items += t->count;
        for (unsigned k = 0; k < UNOBSERVED_COUNT; k++)
            host->values->unobserved[k] += insn->unobserved[k];
        at += 1u + tuple->count;
        follow(calls, insn);
    }
    return true;
}

static struct host_process *process_find(struct penumbra_host *host, spool_ref ref)
{
    for (uint32_t i = host->process_count; i > 0; i--)
        if (host->processes[i - 1]->ref == ref)
            return host->processes[i - 1];
    return NULL;
}

/* Whose sequence it is; NULL: nobody's, or no memory. */
static struct host_process *process_of(struct penumbra_host *host, const struct host_ring *from,
                                       const struct tuple_sequence *head)
{
    if (!head->process)
        return from->process;
    struct host_process *p = process_find(host, head->process);
    if (!p) {
        find_processes(host);
        p = process_find(host, head->process);
    }
    return p && open_process(p) ? p : NULL;
}

/* The module is at work on a sequence of the ring. */
static void show_begin(struct penumbra_host *host, const struct host_ring *from,
                       struct host_process *process, const struct tuple_sequence *head)
{
    host->current = process;
    host->ring = from->ring;
    host->window = head->window;
    host->at = 0;
    __atomic_store_n(&host->values->busy, 1, __ATOMIC_RELAXED);
}

static void show_end(struct penumbra_host *host)
{
    __atomic_store_n(&host->values->busy, 0, __ATOMIC_RELAXED);
    host->sequence = NULL;
    __atomic_fetch_add(&host->values->progress, 1, __ATOMIC_RELAXED);
}

static void show_warm(struct penumbra_host *host, struct host_ring *from, const uint64_t *words)
{
    const struct tuple_sequence *head = (const void *)words;
    if (!host->warm)
        return;
    show_begin(host, from, from->process, head);
    host->warm(host, from, head->tid, words + TUPLE_SEQUENCE_WORDS,
               head->words - TUPLE_SEQUENCE_WORDS);
    show_end(host);
}

static void show(struct penumbra_host *host, struct host_ring *from, const uint64_t *words)
{
    static struct shown shown;
    const struct tuple_sequence *head = (const void *)words;
    uint32_t count = head->count < TUPLE_LENGTH_MAX ? head->count : TUPLE_LENGTH_MAX;
    if (head->flags & TUPLE_WARM) {
        show_warm(host, from, words);
        return;
    }
    struct host_process *process = process_of(host, from, head);
    if (process) {
        host_places_refresh(host, process);
        process->remembers = true;
    }
    if (!process || !build(host, from, process, words, count, &shown)) {
        host->values->refused++;
        return;
    }
    struct penumbra_sequence sequence = {
        .process = process->record->pid,
        .thread = head->tid,
        .cpu = head->cpu,
        .count = count,
        .tuples = shown.tuples,
    };
    host->sequence = &sequence;
    show_begin(host, from, process, head);
    host->module->sequence(host, &sequence);
    show_end(host);
    host->values->sequences++;
    host->values->tuples += count;
}

bool host_rings_drain(struct penumbra_host *host)
{
    static uint64_t words[TUPLE_SEQUENCE_WORDS_MAX];
    bool any = false;
    for (uint32_t i = 0; i < host->ring_count; i++)
        for (unsigned n = 0; n < AT_ONCE; n++) {
            bool broken;
            if (!tuples_next(host->spool, host->rings[i].ring, words, &broken))
                break;
            show(host, &host->rings[i], words);
            any = true;
        }
    return any;
}
