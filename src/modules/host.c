#include "modules/host.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "modules/host_internal.h"
#include "modules/simulate_warm.h"
#include "sigsafe/hash.h"

enum { FACTS_MOST = 64, TEXT_SIZE = 256, NAMES_MOST = 4096 };
/* Rings that are a quarter full ring the bell. Each look besides makes the program's caches and one
 * of its processors ours for a moment; with redact it is not to come too late to see where a
 * process has its memory. */
#define WAIT_NS 100000000
#define WAIT_REDACT_NS 20000000

/* ---- the module ---- */

bool host_check_module(const struct penumbra_module *module, const char *name, struct err *e)
{
    if (module->abi != PENUMBRA_MODULE_ABI || module->size < sizeof *module)
        return err_set(e, ERR_USAGE,
                       "the module %s was made for another version of penumbra: its ABI is "
                       "%u of %u bytes, this one's %u of %zu; build it again with this version's "
                       "penumbra/module.h",
                       name, module->abi, module->size, PENUMBRA_MODULE_ABI, sizeof *module);
    if (!module->name || !module->kinds || !module->kind_count ||
        module->kind_count > PENUMBRA_KINDS_MAX || !module->sequence)
        return err_set(e, ERR_USAGE,
                       "the module %s cannot be used: it needs a name, 1 to %d kinds, and "
                       "a function sequence",
                       name, PENUMBRA_KINDS_MAX);
    for (uint32_t i = 0; i < module->kind_count; i++) {
        const struct penumbra_kind *kind = &module->kinds[i];
        if (!kind->name || (kind->format == PENUMBRA_SHOW_NAME && !kind->names) ||
            (kind->format == PENUMBRA_SHOW_MODULE && !module->format))
            return err_set(e, ERR_USAGE,
                           "the module %s cannot be used: kind %u has no name, or is shown by "
                           "names or a function format that it does not have",
                           name, i);
    }
    return true;
}

/* ---- what it says of itself, and what it wants ---- */

static bool put_names(struct penumbra_host *host, const struct penumbra_kind *from,
                      struct spool_value_kind *to)
{
    uint32_t count = 0;
    while (from->names && from->format == PENUMBRA_SHOW_NAME && count < NAMES_MOST &&
           from->names[count])
        count++;
    if (!count)
        return true;
    spool_ref *names = host_alloc(host, count * sizeof *names);
    if (!names)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!(names[i] = host_string(host, from->names[i])))
            return false;
    to->names = spool_ref_of(host->spool, names);
    to->name_count = count;
    return true;
}

static bool put_kinds(struct penumbra_host *host)
{
    const struct penumbra_module *m = host->module;
    struct spool_value_kind *kinds = host_alloc(host, m->kind_count * sizeof *kinds);
    if (!kinds)
        return false;
    for (uint32_t i = 0; i < m->kind_count; i++) {
        kinds[i] = (struct spool_value_kind){.name = host_string(host, m->kinds[i].name),
                                             .format = m->kinds[i].format,
                                             .role = m->kinds[i].role};
        if (!kinds[i].name || !put_names(host, &m->kinds[i], &kinds[i]))
            return false;
    }
    host->values->kinds = spool_ref_of(host->spool, kinds);
    host->values->kind_count = m->kind_count;
    return true;
}

static spool_ref put_capture(struct penumbra_host *host)
{
    struct tuple_capture *table = host_alloc(host, sizeof *table);
    if (!table)
        return 0;
    table->registers = host->options.registers;
    for (unsigned map = 0; map < 16; map++)
        for (unsigned opcode = 0; opcode < 256; opcode++)
            for (unsigned digit = 0; digit < 8; digit++) {
                struct penumbra_opcode o = {.map = (uint8_t)map, .opcode = (uint8_t)opcode,
                                            .digit = (uint8_t)digit};
                uint32_t what = host->module->capture ? host->module->capture(&o) : 0;
                what |= host->options.productions ? PENUMBRA_TARGET : 0;
                table->what[map][opcode][digit] = (uint16_t)what;
            }
    return spool_ref_of(host->spool, table);
}

static bool put_values(struct penumbra_host *host, spool_ref *capture)
{
    const struct penumbra_module *m = host->module;
    struct spool_values *v = host->values = host_alloc(host, sizeof *v);
    if (!v)
        return false;
    v->module_end = MODULE_UNKNOWN;
    v->summary = host->options.summary;
    v->redacted = host->options.redact;
    v->context = m->context;
    v->length = m->length;
    v->every = m->every;
    v->module = host_string(host, m->name);
    *capture = put_capture(host);
    return v->module && *capture && put_kinds(host);
}

struct penumbra_host *host_new(const struct spool *s, const struct penumbra_module *module,
                               const struct host_options *options, spool_ref *capture,
                               struct err *e)
{
    struct penumbra_host *host = calloc(1, sizeof *host);
    if (!host) {
        err_set(e, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    host->spool = s;
    host->module = module;
    host->options = *options;
    hotlist_random_seed(&host->random, options->seed);
    uint8_t key[AES128_KEY_SIZE];
    if (getrandom(key, sizeof key, 0) != (ssize_t)sizeof key) {
        err_set(e, ERR_INTERNAL, "there is no random key to be had");
        host_free(host);
        return NULL;
    }
    aes128_set_encrypt_key(&host->key, key);
    explicit_bzero(key, sizeof key);
    if (!put_values(host, capture)) {
        err_set(e, ERR_OUTPUT, "there is no memory for what the module %s wants", module->name);
        host_free(host);
        return NULL;
    }
    __atomic_store_n(&spool_header(s)->values, spool_ref_of(s, host->values), __ATOMIC_RELEASE);
    int result = module->begin ? module->begin(host) : 0;
    if (!result)
        return host;
    err_set(e, ERR_USAGE, "the module %s says that it cannot run here (%d)", module->name, result);
    host_free(host);
    return NULL;
}

static void free_process(struct host_process *p)
{
    for (uint32_t i = 0; p->chunks && i < TUPLES_CHUNKS; i++)
        free(p->chunks[i]);
    free(p->chunks);
    free(p->keys);
    free(p->emitted);
    free(p->maps);
    free(p->regions);
    free(p);
}

void host_free(struct penumbra_host *host)
{
    if (!host)
        return;
    for (uint32_t i = 0; i < host->process_count; i++)
        free_process(host->processes[i]);
    for (uint32_t i = 0; i < host->ring_count; i++) {
        free(host->rings[i].calls);
        simulate_blocks_free(host->rings[i].blocks);
    }
    free(host->processes);
    free(host->rings);
    free(host->table.slots);
    free(host);
}

struct spool_values *host_values(struct penumbra_host *host)
{
    return host->values;
}

/* ---- what the module says ---- */

/* The return address of the procedure that the instruction at `pc` is in. Modules go through a
 * sequence from its start. */
static uint64_t site_of(struct penumbra_host *host, uint64_t pc)
{
    const struct penumbra_sequence *s = host->sequence;
    for (uint32_t n = 0; s && n < s->count; n++) {
        uint32_t i = (host->at + n) % s->count;
        if (s->tuples[i].pc != pc)
            continue;
        host->at = i;
        return s->tuples[i].return_address;
    }
    return 0;
}

/* Whether the place is the same in all processes: in an image, or in the kernel. */
static bool is_everywhere(uint64_t key)
{
    return key_image(key) || key_is_kernel(key);
}

static struct spool_hotlist *hotlist_find_slowly(struct penumbra_host *host, uint64_t pc,
                                                 uint32_t kind, uint64_t site)
{
    struct host_process *p = host->current;
    uint64_t key = host_place(host, p, pc);
    uint64_t call = site ? host_place(host, p, site - 1) : 0;
    bool somewhere = host->options.redact || (is_everywhere(key) && (!site || is_everywhere(call)));
    return host_table_find(host, key, call, kind, somewhere ? 0 : p->ref);
}

/* The hotlist of what the module says; NULL: there is no room. */
static struct spool_hotlist *hotlist_of(struct penumbra_host *host, uint64_t pc, uint32_t kind,
                                        uint64_t site)
{
    uint64_t hash = hash_word(pc ^ (uint64_t)kind << 48 ^ site << 17);
    struct host_emitted *e = &host->current->emitted[hash >> (64 - HOST_EMITTED_BITS)];
    if (e->list && e->pc == pc && e->kind == kind && e->site == site)
        return e->list;
    *e = (struct host_emitted){pc, site, hotlist_find_slowly(host, pc, kind, site), kind};
    return e->list;
}

void penumbra_emit(struct penumbra_host *host, uint64_t pc, uint32_t kind, uint64_t site,
                   uint64_t value)
{
    struct host_process *p = host->current;
    if (!p || kind >= host->module->kind_count) {
        host->values->refused++;
        return;
    }
    if (host->options.by_site && !site)
        site = site_of(host, pc);
    struct spool_hotlist *h = hotlist_of(host, pc, kind, site);
    if (h)
        hotlist_add(&h->list, host->options.summary, host_value(host, p, kind, value),
                    &host->random);
    else
        host->values->refused++;
}

static bool is_named(const struct penumbra_host *host, spool_ref ref, const char *name)
{
    const struct spool_string *s = spool_at(host->spool, ref, sizeof *s);
    size_t length = strlen(name);
    return s && s->length == length && !memcmp(s->bytes, name, length);
}

void penumbra_fact(struct penumbra_host *host, const char *name, uint64_t value)
{
    spool_ref ref = host->values->facts;
    uint32_t count = 0;
    /* What it says once it has seen values may be one. */
    if (host->options.redact && host->current)
        return;
    for (; ref; count++) {
        struct spool_fact *fact = spool_at(host->spool, ref, sizeof *fact);
        if (!fact)
            return;
        if (is_named(host, fact->name, name)) {
            __atomic_store_n(&fact->value, value, __ATOMIC_RELAXED);
            return;
        }
        ref = fact->next;
    }
    struct spool_fact *fact = count < FACTS_MOST ? host_alloc(host, sizeof *fact) : NULL;
    spool_ref text = fact ? host_string(host, name) : 0;
    if (!text)
        return;
    fact->name = text;
    fact->value = value;
    spool_push_as(host->spool, &host->values->facts, fact);
}

/* ---- running ---- */

bool host_drain(struct penumbra_host *host)
{
    host_rings_refresh(host);
    return host_rings_drain(host);
}

/* How the module writes the values that were kept. */
static void put_texts(struct penumbra_host *host)
{
    struct host_table *t = &host->table;
    const struct penumbra_module *m = host->module;
    for (uint32_t i = 0; i < t->capacity && !host->options.redact; i++) {
        const struct spool_hotlist *h = t->slots[i];
        if (!h || m->kinds[h->kind].format != PENUMBRA_SHOW_MODULE)
            continue;
        for (uint32_t k = 0; k < h->list.count; k++) {
            char text[TEXT_SIZE] = "";
            m->format(h->kind, h->list.entries[k].bits, text, sizeof text);
            text[TEXT_SIZE - 1] = '\0';
            struct spool_text *record = host_alloc(host, sizeof *record);
            spool_ref string = record ? host_string(host, text) : 0;
            if (!string)
                return;
            record->kind = h->kind;
            record->bits = h->list.entries[k].bits;
            record->space = h->list.entries[k].space;
            record->text = string;
            spool_push_as(host->spool, &host->values->texts, record);
        }
    }
}

static void wait_for_bell(struct penumbra_host *host, uint32_t seen)
{
    const struct timespec timeout = {0, host->options.redact ? WAIT_REDACT_NS : WAIT_NS};
    syscall(SYS_futex, &spool_header(host->spool)->tuples_bell, FUTEX_WAIT, seen, &timeout, NULL,
            0);
}

void host_run(struct penumbra_host *host)
{
    struct spool_values *v = host->values;
    for (;;) {
        uint32_t seen = __atomic_load_n(&spool_header(host->spool)->tuples_bell, __ATOMIC_ACQUIRE);
        bool finish = __atomic_load_n(&v->finish, __ATOMIC_ACQUIRE);
        if (host_drain(host))
            continue;
        if (finish)
            break;
        wait_for_bell(host, seen);
    }
    __atomic_store_n(&v->busy, 1, __ATOMIC_RELAXED);
    if (host->module->end)
        host->module->end(host);
    put_texts(host);
    __atomic_store_n(&v->busy, 0, __ATOMIC_RELAXED);
}
