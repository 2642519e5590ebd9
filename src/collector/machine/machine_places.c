#include "collector/machine/machine_places.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/values.h"
#include "sigsafe/spool_counts.h"
#include "sigsafe/tuples.h"
#include "x86/format.h"

enum { NAME_MOST = 256, PROCESSES_MOST = 1 << 20, FUNCTION_MOST = 1 << 16 };

static bool is_kernel(uint32_t image, uint64_t offset)
{
    return image == PROFILE_IMAGE_NONE && offset <= KEY_OFFSET_MASK && machine_kernel_is(offset);
}

bool machine_values_are_kernel(const struct profile *p)
{
    const struct profile_values *v = observed_values(p);
    for (uint32_t i = 0; v && i < v->hotlist_count; i++)
        if (is_kernel(v->hotlists[i].image, v->hotlists[i].offset))
            return true;
    return false;
}

/* ---- instructions ---- */

/* What was observed in the kernel, by address. */
struct instructions {
    const struct tuple_insn **list;
    size_t count, capacity;
};

static bool tuples_add(struct instructions *to, const struct spool *s, const struct spool_tuples *t)
{
    uint32_t used = __atomic_load_n(&t->used, __ATOMIC_RELAXED);
    for (uint32_t id = 0; id < used && id < TUPLES_CHUNK * TUPLES_CHUNKS; id++) {
        const struct tuple_insn *r = tuples_insn_at(s, t, id);
        if (!r || !r->length || r->length > sizeof r->bytes || !key_is_kernel(r->key))
            continue;
        if (!ARRAY_ROOM(to->list, to->count, to->capacity))
            return false;
        to->list[to->count++] = r;
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct tuple_insn *x = *(const struct tuple_insn *const *)a,
                            *y = *(const struct tuple_insn *const *)b;
    return (x->key > y->key) - (x->key < y->key);
}

static bool instructions_read(struct instructions *to, const struct spool *s)
{
    spool_ref ref = s ? __atomic_load_n(&spool_header(s)->processes, __ATOMIC_ACQUIRE) : 0;
    for (uint32_t n = 0; ref && n < PROCESSES_MOST; n++) {
        const struct spool_process *p = spool_at(s, ref, sizeof *p);
        const struct spool_counts *counts =
            p && p->counts ? spool_at(s, p->counts, sizeof *counts) : NULL;
        const struct spool_tuples *tuples =
            counts && counts->tuples ? spool_at(s, counts->tuples, sizeof *tuples) : NULL;
        if (tuples && !tuples_add(to, s, tuples))
            return false;
        ref = p ? p->next : 0;
    }
    if (to->count)
        qsort(to->list, to->count, sizeof(struct tuple_insn *), compare);
    return true;
}

static const struct tuple_insn *instruction_at(const struct instructions *all, uint64_t key)
{
    size_t low = ARRAY_LEADING(all->count, i, all->list[i]->key < key);
    return low < all->count && all->list[low]->key == key ? all->list[low] : NULL;
}

/* ---- names ---- */

struct naming {
    struct entity_batch *made;
    const struct machine_symbols *symbols;
    struct instructions instructions;
};

/* x86_name_address */
static bool address_name(void *of, uint64_t address, char *out, size_t size)
{
    const struct machine_symbols **symbols = of;
    const char *module;
    uint64_t start;
    const char *function = machine_symbols_function(*symbols, address, &module, &start);
    if (!*function || !(address >> 63) || address - start >= FUNCTION_MOST)
        return false;
    snprintf(out, size, address == start ? "%s" : "%s+0x%" PRIx64, function, address - start);
    return true;
}

uint64_t machine_place_name(struct entity_batch *made, const struct machine_symbols *symbols,
                            uint64_t address, const uint8_t *bytes, size_t size)
{
    char name[NAME_MOST], text[X86_TEXT_SIZE] = "";
    const char *module;
    uint64_t start;
    const char *function = machine_symbols_function(symbols, address, &module, &start);
    snprintf(name, sizeof name, *module ? "%s [%s]" : "%s%s",
             *function ? function : "(kernel code)", module);
    if (size)
        x86_format(bytes, size, address, address_name, &symbols, text, sizeof text);
    const struct profile_entity entity = {.kind = ENTITY_INSTRUCTION,
                                          .name = name,
                                          .scope = text,
                                          .at = *function ? address - start : address};
    return entity_batch_add(made, &entity);
}

/* The entity's number; 0: no memory. */
static uint64_t place_name(struct naming *n, uint64_t offset)
{
    const struct tuple_insn *insn = instruction_at(&n->instructions, offset);
    return machine_place_name(n->made, n->symbols, offset | ~KEY_OFFSET_MASK,
                              insn ? insn->bytes : NULL, insn ? insn->length : 0);
}

static bool hotlist_name(struct naming *n, struct profile_hotlist *h)
{
    if (is_kernel(h->image, h->offset)) {
        h->offset = place_name(n, h->offset);
        h->process = 0;
        if (!h->offset)
            return false;
    }
    if (is_kernel(h->site_image, h->site))
        h->site = place_name(n, h->site);
    return h->site_image != PROFILE_IMAGE_NONE || h->site;
}

bool machine_values_name(struct entity_batch *made, struct profile *p, const struct spool *spool,
                         const struct machine_symbols *symbols)
{
    struct naming n = {.made = made, .symbols = symbols};
    struct profile_values *v = observed_values(p);
    if (!machine_values_are_kernel(p))
        return true;
    bool ok = instructions_read(&n.instructions, spool);
    for (uint32_t i = 0; ok && i < v->hotlist_count; i++)
        ok = hotlist_name(&n, &v->hotlists[i]);
    free(n.instructions.list);
    return ok && profile_values_settle(v);
}
