#include "fleet/batch.h"

#include <inttypes.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "fleet/schema.h"
#include "fleet/tsv.h"
#include "profile/container.h"

enum { NAME_MOST = 255, GROUPS_MOST = 4096, HOUR_S = 3600, DAY_S = 86400, S_NS = 1000000000 };
enum { HEAD, FRAMES, STACKS, SAMPLES, SECTIONS };

static const struct section_type head_section = {1, "head", SECTION_REQUIRED},
                                 frames_section = {2, "frames", SECTION_REQUIRED},
                                 stacks_section = {3, "stacks", SECTION_REQUIRED},
                                 samples_section = {4, "samples", SECTION_REQUIRED};
static const struct section_type *const sections[SECTIONS] = {&head_section, &frames_section,
                                                              &stacks_section, &samples_section};

static const struct section_type *lookup(uint32_t number)
{
    return number && number <= SECTIONS ? sections[number - 1] : NULL;
}

/* ---- numbers ---- */

/* Of strings that end with a byte 0, and of other numbers. */
static uint64_t number_of(const void *bytes, size_t size)
{
    struct sha256_ctx ctx;
    uint8_t digest[8];
    uint64_t number = 0;
    sha256_init(&ctx);
    sha256_update(&ctx, size, bytes);
    sha256_digest(&ctx, sizeof digest, digest);
    for (unsigned i = 0; i < sizeof digest; i++)
        number = number << 8 | digest[i];
    return number ? number : 1;
}

/* Those that have been written: a set. */
struct seen {
    uint64_t *slots; /* 0: free */
    size_t size, count; /* size: a power of two */
};

/* *is_new: the number was not there. False without memory. */
static bool seen_add(struct seen *s, uint64_t number, bool *is_new)
{
    if (s->count * 2 >= s->size) {
        struct seen grown = {.size = s->size ? s->size * 2 : 1024};
        bool ignored;
        grown.slots = calloc(grown.size, sizeof *grown.slots);
        if (!grown.slots)
            return false;
        for (size_t i = 0; i < s->size; i++)
            if (s->slots[i])
                seen_add(&grown, s->slots[i], &ignored);
        free(s->slots);
        *s = grown;
    }
    number += !number;
    size_t at = number & (s->size - 1);
    while (s->slots[at] && s->slots[at] != number)
        at = (at + 1) & (s->size - 1);
    *is_new = !s->slots[at];
    s->count += *is_new;
    s->slots[at] = number;
    return true;
}

void batch_day(char text[BATCH_DAY_SIZE], uint64_t day)
{
    time_t at = (time_t)(day * DAY_S);
    struct tm t;
    strftime(text, BATCH_DAY_SIZE, "%Y-%m-%d", gmtime_r(&at, &t));
}

/* ---- rows ---- */

/* A service's program, and what ended in it. */
struct of_group {
    const char *service, *program; /* cut where they are written */
    uint64_t taken, weight, squares, guessed;
    uint64_t truncated[TRUNC_COUNT];
};

struct item {
    uint32_t group;
    uint64_t stack, weight;
};

struct making {
    const struct profile *p;
    const struct profile_names *names;
    const struct store_slot *slot;
    const char *host;
    uint64_t number, period_us;
    int64_t begin_s;
    char day[BATCH_DAY_SIZE];
    struct of_group *groups;
    uint32_t group_count, group_capacity;
    struct item *items;
    uint32_t item_count, item_capacity;
    struct seen frames_seen, stacks_seen;
    struct buf row;
    struct buf out[SECTIONS];
};

static void put_u64(struct buf *b, uint64_t value)
{
    buf_put_decimal(b, value);
    buf_put_u8(b, '\t');
}

static void put_text(struct buf *b, const char *text)
{
    tsv_put_text(b, text);
    buf_put_u8(b, '\t');
}

static void put_cut(struct buf *b, const char *text)
{
    char name[NAME_MOST + 1];
    strncpy(name, text, NAME_MOST);
    name[NAME_MOST] = '\0';
    put_text(b, name);
}

/* ---- frames ---- */

/* The row of a frame after its number: kind, build_id, path, at, start, function. */
static void frame_code(struct making *m, const struct profile_node *n)
{
    const struct profile_image *image = &m->p->images[n->image];
    const struct profile_named_place *place = profile_names_find(m->names, n->image, n->offset);
    const struct profile_name *name = place ? &m->names->names[place->name] : NULL;
    put_u64(&m->row, FRAME_CODE);
    profile_build_id_put(image, &m->row);
    buf_put_u8(&m->row, '\t');
    put_text(&m->row, image->path);
    put_u64(&m->row, n->offset);
    put_u64(&m->row, name ? name->start : 0);
    put_text(&m->row, name ? m->names->strings[name->function] : "");
}

static void frame_entity(struct making *m, const struct profile_node *n)
{
    static char generated[] = "(generated code)", nothing[] = "";
    static const struct profile_entity unnamed = {.kind = ENTITY_GENERATED, .name = generated,
                                                  .scope = nothing};
    const struct profile_entity *entity =
        entity_is(n->offset) ? profile_entity_find(m->p, n->offset) : NULL;
    entity = entity ? entity : &unnamed;
    put_u64(&m->row, FRAME_ENTITY + (uint64_t)entity->kind);
    buf_put_u8(&m->row, '\t');
    put_text(&m->row, entity->scope);
    put_u64(&m->row, entity->at);
    put_u64(&m->row, entity->number);
    put_text(&m->row, entity->name);
}

/* Appends the frame's row unless it is there. Its number; 0 without memory. */
static uint64_t frame_put(struct making *m, const struct profile_node *n)
{
    bool is_new;
    m->row.size = 0;
    if (n->image < m->p->image_count)
        frame_code(m, n);
    else if (n->image == PROFILE_IMAGE_PSEUDO) {
        put_u64(&m->row, FRAME_PSEUDO);
        buf_puts(&m->row, "\t\t");
        put_u64(&m->row, n->offset);
        buf_puts(&m->row, "0\t\t");
    } else
        frame_entity(m, n);
    buf_put_u8(&m->row, n->guessed ? '1' : '0');
    if (!buf_ok(&m->row))
        return 0;
    uint64_t number = number_of(m->row.data, m->row.size);
    if (!seen_add(&m->frames_seen, number, &is_new))
        return 0;
    if (is_new) {
        put_text(&m->out[FRAMES], m->day);
        put_u64(&m->out[FRAMES], number);
        buf_put(&m->out[FRAMES], m->row.data, m->row.size);
        buf_put_u8(&m->out[FRAMES], '\n');
    }
    return number;
}

/* ---- stacks ---- */

/* frame_of, stack_of: the numbers of each node's frame, and of the stack that ends there. */
struct numbers {
    uint64_t *frame_of, *stack_of;
};

static bool numbers_find(struct making *m, const struct profile_thread *t, struct numbers *of)
{
    of->frame_of = calloc((size_t)t->node_count + 1, sizeof *of->frame_of);
    of->stack_of = calloc((size_t)t->node_count + 1, sizeof *of->stack_of);
    bool ok = of->frame_of && of->stack_of;
    for (uint32_t i = 1; ok && i < t->node_count; i++) {
        const uint64_t pair[] = {of->stack_of[t->nodes[i].parent],
                                 of->frame_of[i] = frame_put(m, &t->nodes[i])};
        of->stack_of[i] = number_of(pair, sizeof pair);
        ok = of->frame_of[i];
    }
    return ok;
}

/* Frames from the root on; the root is none. */
static bool stack_put(struct making *m, const struct profile_thread *t, const struct numbers *of,
                      uint32_t node)
{
    struct buf *b = &m->out[STACKS];
    uint32_t depth = 0;
    bool is_new;
    if (!seen_add(&m->stacks_seen, of->stack_of[node], &is_new))
        return false;
    if (!is_new)
        return true;
    for (uint32_t i = node; i; i = t->nodes[i].parent)
        depth++;
    uint64_t *path = calloc((size_t)depth + 1, sizeof *path);
    if (!path)
        return false;
    for (uint32_t i = node, at = depth; i; i = t->nodes[i].parent)
        path[--at] = of->frame_of[i];
    put_text(b, m->day);
    put_u64(b, of->stack_of[node]);
    for (uint32_t i = 0; i < depth; i++) {
        buf_put_u8(b, i ? ',' : '[');
        buf_put_decimal(b, path[i]);
    }
    buf_puts(b, depth ? "]\n" : "[]\n");
    free(path);
    return true;
}

/* ---- samples ---- */

static uint32_t group_find(struct making *m, const struct profile_process *process)
{
    const char *service = process->command, *program = process->name;
    if (m->group_count >= GROUPS_MOST)
        service = program = "(other)";
    for (uint32_t i = 0; i < m->group_count; i++)
        if (!strcmp(m->groups[i].service, service) && !strcmp(m->groups[i].program, program))
            return i;
    if (!ARRAY_ROOM(m->groups, m->group_count, m->group_capacity))
        return UINT32_MAX;
    m->groups[m->group_count] = (struct of_group){.service = service, .program = program};
    return m->group_count++;
}

static bool thread_add(struct making *m, const struct profile_thread *t)
{
    uint32_t group = group_find(m, &m->p->processes[t->process]);
    struct numbers of = {NULL, NULL};
    bool ok = group != UINT32_MAX && numbers_find(m, t, &of);
    for (uint32_t i = 0; ok && i < t->node_count; i++) {
        if (!t->nodes[i].self)
            continue;
        ok = stack_put(m, t, &of, i) && ARRAY_ROOM(m->items, m->item_count, m->item_capacity);
        if (ok)
            m->items[m->item_count++] = (struct item){group, of.stack_of[i], t->nodes[i].self};
    }
    free(of.frame_of);
    free(of.stack_of);
    if (!ok)
        return false;
    struct of_group *g = &m->groups[group];
    g->taken += t->taken;
    g->weight += t->weight;
    g->squares += t->weight_squares;
    g->guessed += t->guessed;
    for (unsigned i = 0; i < TRUNC_COUNT; i++)
        g->truncated[i] += t->truncated[i];
    return true;
}

static int compare_items(const void *x, const void *y)
{
    const struct item *a = x, *b = y;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

static void items_settle(struct making *m)
{
    uint32_t kept = 0;
    if (m->item_count)
        qsort(m->items, m->item_count, sizeof *m->items, compare_items);
    for (uint32_t i = 0; i < m->item_count; i++)
        if (kept && !compare_items(&m->items[kept - 1], &m->items[i]))
            m->items[kept - 1].weight += m->items[i].weight;
        else
            m->items[kept++] = m->items[i];
    m->item_count = kept;
}

/* What a row of samples adds up, in the order of the columns; slots is 1 in a slot's row. */
struct sums {
    uint64_t slots, taken, weight, squares, guessed, covered, lost, missed, cost;
};

/* The same row twice: of the interval, and of the hour, which is summed over hosts. */
static void row_put(struct making *m, enum fleet_kind kind, const struct of_group *g, uint64_t item,
                    const struct sums *sums)
{
    struct buf *b = &m->out[SAMPLES];
    const uint64_t all[] = {sums->slots, sums->taken, sums->weight, sums->squares, sums->guessed,
                            sums->covered, sums->lost, sums->missed, sums->cost};
    for (unsigned of_hour = 0; of_hour < 2; of_hour++) {
        put_text(b, m->day);
        put_u64(b, kind + (of_hour ? (uint64_t)FLEET_HOURS : 0));
        put_u64(b, (uint64_t)(m->begin_s - m->begin_s % HOUR_S));
        put_cut(b, of_hour ? "" : m->host);
        put_cut(b, g ? g->service : "");
        put_cut(b, g ? g->program : "");
        put_u64(b, item);
        /* Merging keeps one number of processors: hosts that have other ones are rows apart. */
        put_u64(b, !of_hour ? m->number : kind == FLEET_SLOT ? m->slot->cpus : 0);
        buf_printf(b, "%" PRId64 "\t%" PRId64 "\t", of_hour ? 0 : m->slot->begin_ns,
                   of_hour ? 0 : m->slot->end_ns);
        buf_put_decimal(b, m->slot->cpus);
        for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
            buf_put_u8(b, '\t');
            buf_put_decimal(b, all[i]);
        }
        buf_put_u8(b, '\n');
    }
}

static void group_put(struct making *m, const struct of_group *g)
{
    const uint64_t period = m->period_us;
    const struct sums sums = {.taken = g->taken, .weight = g->weight * period,
                              .squares = g->squares * period * period, .guessed = g->guessed};
    row_put(m, FLEET_TOTAL, g, 0, &sums);
    for (unsigned i = 0; i < TRUNC_COUNT; i++) {
        const struct sums cut = {.taken = g->truncated[i]};
        if (cut.taken)
            row_put(m, FLEET_CUT, g, i, &cut);
    }
}

static void samples_put(struct making *m)
{
    const struct store_slot *s = m->slot;
    const struct sums slot = {.slots = 1,
                              .covered = (uint64_t)(s->end_ns - s->begin_ns) / FLEET_UNIT_NS,
                              .lost = s->lost, .missed = s->missed_ns / FLEET_UNIT_NS,
                              .cost = s->cost_ns / FLEET_UNIT_NS};
    row_put(m, FLEET_SLOT, NULL, m->period_us, &slot);
    for (uint32_t i = 0; i < m->group_count; i++)
        group_put(m, &m->groups[i]);
    items_settle(m);
    for (uint32_t i = 0; i < m->item_count; i++) {
        const struct item *item = &m->items[i];
        const struct sums sums = {.taken = item->weight, .weight = item->weight * m->period_us,
                                  .squares = item->weight * m->period_us * m->period_us};
        row_put(m, FLEET_STACK, &m->groups[item->group], item->stack, &sums);
    }
}

/* ---- a batch ---- */

static void head_put(struct making *m)
{
    struct buf *b = &m->out[HEAD];
    uint64_t taken = m->slot->lost;
    uint64_t covered = (uint64_t)(m->slot->end_ns - m->slot->begin_ns) + m->slot->missed_ns;
    for (uint32_t i = 0; i < m->group_count; i++)
        taken += m->groups[i].taken;
    buf_put_uleb(b, (uint64_t)(m->begin_s / DAY_S));
    buf_put_uleb(b, (uint64_t)(m->begin_s - m->begin_s % HOUR_S));
    buf_put_uleb(b, m->number);
    buf_put_uleb(b, taken);
    buf_put_uleb(b, covered / FLEET_UNIT_NS);
    buf_put_string(b, m->host);
}

static void making_fini(struct making *m)
{
    for (unsigned i = 0; i < SECTIONS; i++)
        buf_free(&m->out[i]);
    buf_free(&m->row);
    free(m->groups);
    free(m->items);
    free(m->frames_seen.slots);
    free(m->stacks_seen.slots);
}

bool batch_make(const struct profile *p, const struct profile_names *names,
                const struct store_slot *slot, const char *host, uint64_t number,
                struct buf *bytes, struct err *e)
{
    struct making m = {.p = p, .names = names, .slot = slot, .host = host, .number = number,
                       .period_us = (slot->period_ns + FLEET_UNIT_NS / 2) / FLEET_UNIT_NS,
                       .begin_s = slot->begin_ns / S_NS};
    struct section_out out[SECTIONS];
    size_t size = 0;
    if (slot->begin_ns < 0 || m.begin_s > FLEET_LAST_S || slot->end_ns < slot->begin_ns)
        return err_set(e, ERR_FORMAT, "the clock is before 1970 or after 2099: the interval is not "
                                      "sent");
    batch_day(m.day, (uint64_t)(m.begin_s / DAY_S));
    bool ok = true;
    for (uint32_t i = 0; ok && i < p->thread_count; i++)
        if (p->threads[i].taken && p->threads[i].node_count)
            ok = thread_add(&m, &p->threads[i]);
    if (ok) {
        samples_put(&m);
        head_put(&m);
    }
    for (unsigned i = 0; i < SECTIONS; i++)
        out[i] = (struct section_out){.type = sections[i], .raw = m.out[i]};
    uint8_t *data = ok ? container_finish(CONTAINER_BATCH, out, SECTIONS, true, &size, e) : NULL;
    if (!ok)
        err_set(e, ERR_INTERNAL, "out of memory");
    if (data)
        buf_put(bytes, data, size);
    ok = data && (buf_ok(bytes) || err_set(e, ERR_INTERNAL, "out of memory"));
    free(data);
    making_fini(&m);
    return ok;
}

/* ---- reading ---- */

static bool head_read(struct batch *b, const struct container *in, struct err *e)
{
    struct section_in found;
    struct cursor c = {.file = in->name, .section = head_section.name, .e = e};
    if (!container_find(in, head_section.number, &found))
        return err_set(e, ERR_FORMAT, "%s has no head", in->name);
    uint8_t *raw = container_load(in, &found, &c.size, e);
    if (!raw)
        return false;
    c.data = raw;
    b->day = cursor_uleb(&c, UINT16_MAX, "a day");
    b->hour = cursor_uleb(&c, UINT32_MAX, "an hour");
    b->number = cursor_uleb(&c, UINT64_MAX, "a number");
    b->taken = cursor_uleb(&c, UINT64_MAX, "a number of samples");
    b->covered_us = cursor_uleb(&c, INT64_MAX, "a time");
    b->host = cursor_string(&c, "a host");
    bool ok = cursor_end(&c) && (b->host || err_set(e, ERR_INTERNAL, "out of memory"));
    free(raw);
    return ok;
}

bool batch_read(struct batch *b, const uint8_t *data, size_t size, struct err *e)
{
    struct container in = {.lookup = lookup};
    struct buf *const to[SECTIONS] = {NULL, &b->frames, &b->stacks, &b->samples};
    *b = (struct batch){.host = NULL};
    if (!container_open(&in, data, size, "a batch of the spool", e))
        return false;
    if (in.kind != CONTAINER_BATCH)
        return err_set(e, ERR_FORMAT, "%s is none", in.name);
    bool ok = head_read(b, &in, e);
    for (unsigned i = FRAMES; ok && i < SECTIONS; i++) {
        struct section_in found;
        ok = container_find(&in, sections[i]->number, &found) ||
             err_set(e, ERR_FORMAT, "%s has no %s", in.name, sections[i]->name);
        if (ok)
            ok = (to[i]->data = container_load(&in, &found, &to[i]->size, e));
        to[i]->capacity = to[i]->size;
    }
    return ok;
}

void batch_fini(struct batch *b)
{
    buf_free(&b->frames);
    buf_free(&b->stacks);
    buf_free(&b->samples);
    free(b->host);
    *b = (struct batch){.host = NULL};
}
