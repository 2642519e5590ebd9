#include <link.h>
#include <pthread.h>
#include <stdlib.h>

#include "guest/images.h"
#include "inst/inst.h"
#include "sigsafe/bytes.h"
#include "sigsafe/sys.h"

struct inst inst;

/* Not in all C libraries, and in static programs only if they were linked with it. */
#pragma weak _dl_find_object

static const struct penumbra_inst_ops ops = {inst_sample_as, inst_event_as, inst_value_as};

/* ---- the process ---- */

/* An earlier image of this process: exec has replaced it. */
static void former_end(void)
{
    enum { MOST = 1 << 16 };
    int32_t pid = (int32_t)sys_call3_as(SYS_getpid, 0, 0, 0);
    spool_ref ref = __atomic_load_n(&spool_header(&guest.spool)->processes, __ATOMIC_ACQUIRE);
    struct spool_process *p;
    for (unsigned i = 0; i < MOST && (p = spool_at(&guest.spool, ref, sizeof *p)); i++) {
        uint32_t running = PROCESS_RUNNING;
        if (p->pid == pid &&
            __atomic_compare_exchange_n(&p->state, &running, PROCESS_EXECING, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            p->end_ns = sys_clock_ns_as(CLOCK_MONOTONIC);
        ref = p->next;
    }
}

/* Modules of the process that are recorded. */
static struct inst_module modules[INST_MODULES];

static void fork_child(void)
{
    const struct spool_counts *parent = inst.counts;
    if (!inst.armed)
        return;
    inst.armed = spool_header(&guest.spool)->follow && guest_fork_child_as();
    if (inst.armed)
        inst.counts = counts_fork_child_as(&guest.spool, parent, guest.process);
    inst.armed = inst.armed && inst.counts;
    inst_thread_fork_child();
    for (uint32_t i = 0; i < INST_MODULES; i++)
        inst_counters_fork_child(&modules[i]);
}

static void process_end(void)
{
    struct inst_thread *t = inst.armed ? inst_thread_known_as() : NULL;
    if (!inst.armed)
        return;
    if (t) {
        inst_pairs_as(t);
        inst_paths_thread_end_as(t);
        guest_thread_end_as(t->record, 0);
    }
    guest_end_as();
}

/* False: it is none of this carrier's, or of another layout. */
static bool spool_open(const char *path)
{
    if (!guest_open(path, UINT64_MAX))
        return false;
    const struct spool_config *config = settings_sampling_as(&guest.spool);
    inst.settings = settings_inst_as(&guest.spool);
    const struct spool_header *h = spool_header(&guest.spool);
    bool wanted = h->follow || !h->processes; /* or it is the program itself */
    if (guest.layout_known && config && config->carrier == CARRIER_COMPILED && inst.settings &&
        wanted && h->state == SPOOL_RUNNING)
        return true;
    guest_close();
    return false;
}

static bool process_begin(void)
{
    former_end();
    struct spool_process *p = guest_process_make_as(0);
    if (!p)
        return false;
    p->command = guest_command_of_kernel();
    p->mechanism = MECHANISM_CALLS;
    guest_process_publish_as(p);
    inst.counts = counts_begin_as(&guest.spool, p);
    return inst.counts && images_begin((struct images_ways){.find = _dl_find_object}) &&
           inst_threads_begin() && pthread_atfork(NULL, NULL, fork_child) == 0 &&
           atexit(process_end) == 0;
}

/* Once in a process, by the first module that registers. */
static void begin_once(void)
{
    enum { NOT_YET, BEGINS, DONE };
    static uint32_t begun;
    uint32_t was = NOT_YET;
    if (!__atomic_compare_exchange_n(&begun, &was, BEGINS, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_ACQUIRE)) {
        while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) != DONE)
            sys_call3_as(SYS_sched_yield, 0, 0, 0);
        return;
    }
    const char *path = secure_getenv(SPOOL_ENV);
    if (path && spool_open(path))
        inst.armed = process_begin();
    __atomic_store_n(&begun, DONE, __ATOMIC_RELEASE);
}

/* ---- a module's tables ---- */

/* The collector keeps storage ready: where a table is larger than that, it is waited for. */
static void *alloc_wait(uint64_t size)
{
    enum { TRIES = 200 };
    static const struct timespec pause = {0, 1000000};
    void *at = spool_alloc_as(&guest.spool, size);
    for (int i = 0; !at && i < TRIES && spool_can_grow_as(&guest.spool); i++) {
        sys_call3_as(SYS_nanosleep, (long)&pause, 0, 0);
        at = spool_alloc_as(&guest.spool, size);
    }
    return at;
}

/* FNV-1a, by words. */
static uint64_t hash_add(uint64_t h, const void *from, uint64_t size)
{
    const uint8_t *at = from;
    uint64_t word;
    for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
        bytes_copy_as(&word, at, sizeof word);
        h = (h ^ word) * UINT64_C(0x100000001b3);
        h ^= h >> 32;
    }
    while (size--)
        h = (h ^ *at++) * UINT64_C(0x100000001b3);
    return h;
}

/* What the module is, without copies. References are distances, so addresses are those of the first
 * table. */
static void describe(const struct penumbra_inst_module *m, struct spool_module *to)
{
    const void *const ends[INST_TABLES][2] = {
        {m->functions, m->functions_end}, {m->blocks, m->blocks_end}, {m->events, m->events_end},
        {m->values, m->values_end},       {m->types, m->types_end},   {m->fields, m->fields_end},
        {m->strings, m->strings_end}};
    uint64_t base = (uint64_t)m->functions - ((uint64_t)1 << 40), h = m->flags;
    *to = (struct spool_module){.flags = m->flags};
    for (unsigned i = 0; i < INST_TABLES; i++) {
        to->tables[i].at = (uint64_t)ends[i][0] - base;
        to->tables[i].bytes = (uint64_t)ends[i][1] - (uint64_t)ends[i][0];
        h = hash_add(h, &to->tables[i].at, 2 * sizeof(uint64_t));
        h = hash_add(h, ends[i][0], to->tables[i].bytes);
    }
    to->hash = h;
    to->ids = (uint32_t)(m->blocks_end - m->blocks + m->values_end - m->values);
}

static const struct spool_module *same_module(const struct spool_module *as)
{
    enum { MOST = 1 << 14 };
    spool_ref ref = __atomic_load_n(&inst.settings->modules, __ATOMIC_ACQUIRE);
    const struct spool_module *m;
    for (unsigned i = 0; i < MOST && (m = spool_at(&guest.spool, ref, sizeof *m)); i++) {
        if (m->hash == as->hash && m->ids == as->ids)
            return m;
        ref = m->next;
    }
    return NULL;
}

static bool copy_tables(const struct penumbra_inst_module *m, struct spool_module *to)
{
    uint64_t base = (uint64_t)m->functions - to->tables[INST_FUNCTIONS].at;
    for (unsigned i = 0; i < INST_TABLES; i++) {
        uint64_t bytes = to->tables[i].bytes;
        void *copy = bytes ? alloc_wait(bytes) : NULL;
        if (bytes && !copy)
            return false;
        if (copy)
            bytes_copy_as(copy, (const void *)(base + to->tables[i].at), bytes);
        to->tables[i].copy = copy ? spool_ref_of(&guest.spool, copy) : 0;
    }
    return true;
}

/* The module's record in the spool. NULL: it has more blocks than there are numbers, or no room. */
static const struct spool_module *module_record(const struct penumbra_inst_module *m)
{
    struct spool_module made;
    describe(m, &made);
    const struct spool_module *same = same_module(&made);
    if (same)
        return same;
    uint32_t ids = (made.ids + ROWS_CHUNK - 1) / ROWS_CHUNK * ROWS_CHUNK;
    if (made.ids > INST_IDS_MOST ||
        __atomic_load_n(&inst.settings->ids, __ATOMIC_RELAXED) > INST_IDS_MOST - ids)
        return NULL;
    made.first = __atomic_fetch_add(&inst.settings->ids, ids, __ATOMIC_RELAXED);
    struct spool_module *record = copy_tables(m, &made) ? alloc_wait(sizeof made) : NULL;
    if (!record)
        return NULL;
    bytes_copy_as(record, &made, sizeof made);
    spool_push_as(&guest.spool, &inst.settings->modules, record);
    return record;
}

/* Several modules may have a copy of this runtime inside; a process is recorded by one, that which
 * registers first. The loader makes one of all symbols that are unique, in whatever way their
 * libraries were loaded. */
typedef void registering(struct penumbra_inst_module *m);
__attribute__((visibility("default"))) extern registering *__penumbra1_owner;
__asm__(".pushsection .bss\n.balign 8\n"
        ".globl __penumbra1_owner\n.type __penumbra1_owner, @gnu_unique_object\n"
        ".size __penumbra1_owner, 8\n__penumbra1_owner: .zero 8\n.popsection\n");

bool inst_has_events(const struct penumbra_inst_module *m, uint32_t kinds)
{
    for (const struct penumbra_inst_event *e = m->events; e < m->events_end; e++)
        if (e->kind < 32 && kinds >> e->kind & 1)
            return true;
    return false;
}

/* Pairs are of fields. */
static bool has_fields(const struct penumbra_inst_module *m)
{
    return inst_has_events(m, 1u << PENUMBRA_INST_READ | 1u << PENUMBRA_INST_WRITE);
}

static void register_module(struct penumbra_inst_module *m)
{
    static uint32_t count;
    begin_once();
    if (!inst.armed || m->abi != PENUMBRA_INST_ABI ||
        m->bytes < offsetof(struct penumbra_inst_module, sites))
        return;
    images_refresh();
    const struct spool_module *record = module_record(m);
    uint32_t number = record ? __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) : INST_MODULES;
    if (number >= INST_MODULES) {
        inst_drop_as(DROP_SPOOL_FULL);
        return;
    }
    struct inst_module *own = &modules[number];
    *own = (struct inst_module){.first = record->first,
                                .values = record->first + (uint32_t)(m->blocks_end - m->blocks),
                                .number = number,
                                .pairs = has_fields(m)};
    m->data = own;
    bool can_begin = inst_counters_begin(m, own) && inst_paths_begin(m, own);
    if (!can_begin || !inst_sites_arm(m)) {
        inst_drop_as(can_begin ? DROP_LOCKED : DROP_SPOOL_FULL);
        return;
    }
    __atomic_store_n(&m->ops, &ops, __ATOMIC_RELEASE);
    *m->counter() = 0;
    __atomic_store_n(&own->switched, inst_switch_share(m), __ATOMIC_RELEASE);
}

__attribute__((visibility("default"))) void
__penumbra_inst_register(struct penumbra_inst_module *m)
{
    registering *owner = NULL;
    __atomic_compare_exchange_n(&__penumbra1_owner, &owner, register_module, false,
                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    (owner ? owner : register_module)(m);
}

/* What it has counted stays; another library may take its place. */
__attribute__((visibility("default"))) void
__penumbra_inst_unregister(struct penumbra_inst_module *m)
{
    if (m->bytes >= offsetof(struct penumbra_inst_module, places))
        m->flush = NULL;
    __atomic_store_n(&m->ops, NULL, __ATOMIC_RELEASE);
}
