#include "collector/machine/machine_kernel.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "collector/machine/machine_hits.h"
#include "collector/machine/machine_places.h"
#include "profile/entity_batch.h"
#include "profile/merge.h"

/* Names are where they stand in `text`, each with its NUL; a module's name follows its symbol's: ""
 * of the kernel's own. */
struct symbol {
    uint64_t address;
    size_t name;
};

struct machine_symbols {
    struct symbol *list;
    size_t count, capacity;
    struct buf text;
    bool ordered; /* as they were read */
};

enum { LINE_MOST = 1024 };

static char nothing[] = "", unnamed[] = "(kernel code)";

/* ffffffff81000000 T _stext            ffffffffc0200000 t ext4_mount	[ext4] */
static bool line_take(struct machine_symbols *s, const char *line)
{
    char *at;
    uint64_t address = strtoull(line, &at, 16);
    if (!address || at[0] != ' ' || !at[1] || !strchr("tTwW", at[1]) || at[2] != ' ')
        return true;
    const char *name = at + 3;
    size_t length = strcspn(name, "\t\n");
    const char *module = name[length] == '\t' && name[length + 1] == '[' ? name + length + 2 : "";
    if (!ARRAY_ROOM(s->list, s->count, s->capacity))
        return false;
    s->ordered = s->ordered && (!s->count || s->list[s->count - 1].address <= address);
    s->list[s->count++] = (struct symbol){address, s->text.size};
    buf_put(&s->text, name, length);
    buf_put_u8(&s->text, '\0');
    buf_put(&s->text, module, strcspn(module, "]"));
    buf_put_u8(&s->text, '\0');
    return buf_ok(&s->text);
}

/* Of several names of one address, the one that is read first. */
static int compare(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

struct machine_symbols *machine_symbols_read_file(const char *path)
{
    char line[LINE_MOST];
    struct machine_symbols *s = calloc(1, sizeof *s);
    FILE *f = s ? fopen(path, "re") : NULL;
    bool ok = s;
    if (s)
        s->ordered = true;
    while (f && ok && fgets(line, sizeof line, f))
        ok = line_take(s, line);
    if (f)
        fclose(f);
    if (ok && !s->ordered)
        qsort(s->list, s->count, sizeof *s->list, compare);
    if (ok)
        return s;
    machine_symbols_free(s);
    return NULL;
}

struct machine_symbols *machine_symbols_read(void)
{
    return machine_symbols_read_file("/proc/kallsyms");
}

void machine_symbols_free(struct machine_symbols *s)
{
    if (!s)
        return;
    free(s->list);
    buf_free(&s->text);
    free(s);
}

static char *symbol_name(const struct machine_symbols *s, const struct symbol *of)
{
    return (char *)s->text.data + of->name;
}

static char *symbol_module(const struct machine_symbols *s, const struct symbol *of)
{
    char *name = symbol_name(s, of);
    return name + strlen(name) + 1;
}

/* Where the symbol stands in the list; its count, if there is none. */
static size_t symbol_named(const struct machine_symbols *s, const char *name)
{
    size_t i = 0;
    while (i < s->count && strcmp(symbol_name(s, &s->list[i]), name) != 0)
        i++;
    return i;
}

uint64_t machine_symbols_address(const struct machine_symbols *s, const char *name)
{
    size_t i = symbol_named(s, name);
    return i < s->count ? s->list[i].address : 0;
}

/* The last that begins at or before the address; NULL. */
static const struct symbol *symbol_at(const struct machine_symbols *s, uint64_t address)
{
    size_t low = ARRAY_LEADING(s->count, i, s->list[i].address <= address);
    while (low > 1 && s->list[low - 2].address == s->list[low - 1].address)
        low--;
    return low ? &s->list[low - 1] : NULL;
}

uint64_t machine_symbols_next(const struct machine_symbols *s, uint64_t address)
{
    size_t next = ARRAY_LEADING(s->count, i, s->list[i].address <= address);
    return next < s->count ? s->list[next].address : 0;
}

static bool is_kernel(const struct profile_node *n)
{
    return profile_is_private(n->image, n->offset) && machine_kernel_is(n->offset);
}

/* *named: whether any node has become an entity. */
static bool nodes_name(struct entity_batch *made, const struct machine_symbols *s,
                       struct profile_thread *t, bool *named)
{
    for (uint32_t i = 0; i < t->node_count; i++) {
        struct profile_node *n = &t->nodes[i];
        if (!is_kernel(n))
            continue;
        const struct symbol *found = symbol_at(s, n->offset | ~KEY_OFFSET_MASK);
        const struct profile_entity entity = {.kind = ENTITY_KERNEL,
                                              .name = found ? symbol_name(s, found) : unnamed,
                                              .scope = found ? symbol_module(s, found) : nothing};
        n->offset = entity_batch_add(made, &entity);
        if (!n->offset)
            return false;
        *named = true;
    }
    return true;
}

const char *machine_symbols_function(const struct machine_symbols *s, uint64_t address,
                                     const char **module, uint64_t *start)
{
    const struct symbol *found = symbol_at(s, address);
    *module = found ? symbol_module(s, found) : nothing;
    *start = found ? found->address : 0;
    return found ? symbol_name(s, found) : nothing;
}

static bool has_kernel(const struct profile *p)
{
    for (uint32_t i = 0; i < p->thread_count; i++)
        for (uint32_t n = 0; n < p->threads[i].node_count; n++)
            if (is_kernel(&p->threads[i].nodes[n]))
                return true;
    return machine_values_are_kernel(p);
}

bool machine_kernel_name_by(struct profile *p, const struct spool *spool,
                            const struct machine_symbols *symbols, bool *hidden)
{
    struct entity_batch made = {0};
    bool ok = true, any = false;
    for (uint32_t i = 0; ok && i < p->thread_count; i++) {
        bool named = false;
        ok = nodes_name(&made, symbols, &p->threads[i], &named) &&
             (!named || profile_thread_settle(p, &p->threads[i]));
        any |= named;
    }
    ok = ok && machine_values_name(&made, p, spool, symbols) && entity_batch_merge(&made, p);
    *hidden = any && !symbols->count;
    entity_batch_free(&made);
    return ok;
}

static bool hits_keep(struct machine_hits *hits, struct profile *p,
                      const struct machine_symbols *symbols)
{
    if (!hits->count || !symbols->count)
        return true;
    struct machine_code *code = machine_code_open("/proc/kcore", true);
    bool ok = code && machine_hits_keep(hits, p, symbols, code);
    machine_code_close(code);
    return ok;
}

bool machine_kernel_name(struct profile *p, const struct spool *spool, bool same_boot,
                         bool *hidden)
{
    static const struct machine_symbols none;
    struct machine_hits hits = {0};
    *hidden = false;
    if (!has_kernel(p))
        return true;
    struct machine_symbols *symbols = same_boot ? machine_symbols_read() : NULL;
    const struct machine_symbols *known = symbols ? symbols : &none;
    bool ok = (symbols || !same_boot) && machine_hits_take(&hits, p) &&
              machine_kernel_name_by(p, spool, known, hidden) && hits_keep(&hits, p, known);
    machine_hits_free(&hits);
    machine_symbols_free(symbols);
    return ok;
}

/* ---- ranges ---- */

/* last NULL: the function `first` alone. */
static bool range_find(const struct machine_symbols *s, const char *first, const char *last,
                       uint64_t *lo, uint64_t *hi)
{
    size_t from = symbol_named(s, first), to = last ? symbol_named(s, last) : from + 1;
    while (!last && to < s->count && s->list[to].address == s->list[from].address)
        to++;
    if (from >= s->count || to >= s->count)
        return false;
    *lo = s->list[from].address;
    *hi = s->list[to].address;
    return *lo < *hi;
}

bool machine_kernel_ranges(struct machine_ranges *r)
{
    struct machine_symbols *s = machine_symbols_read();
    *r = (struct machine_ranges){0};
    bool ok = s &&
              range_find(s, "__sched_text_start", "__sched_text_end", &r->waits_lo,
                         &r->waits_hi) &&
              range_find(s, "try_to_wake_up", NULL, &r->wakes_lo, &r->wakes_hi) &&
              range_find(s, "asm_common_interrupt", "__irqentry_text_end", &r->interrupts_lo,
                         &r->interrupts_hi);
    if (!ok)
        *r = (struct machine_ranges){0};
    machine_symbols_free(s);
    return ok;
}
