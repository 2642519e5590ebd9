#include "collector/machine/bpf/bpf_tables.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/table.h"

enum { WORD = sizeof(uint64_t) };

/* Readers see the odd number before anything that is written next, and the even one after it. */
static void write_begin(uint32_t *sequence)
{
    __atomic_store_n(sequence, *sequence | 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void write_end(uint32_t *sequence)
{
    __atomic_store_n(sequence, *sequence + 1, __ATOMIC_RELEASE);
}

void bpf_tables_time(struct bpf_tables *t, uint64_t ns)
{
    __atomic_store_n(&t->control->epoch, (uint32_t)(ns >> BPF_EPOCH_SHIFT), __ATOMIC_RELAXED);
}

/* The tables are other ones than processes refer to. */
static void processes_drop(struct bpf_tables *t)
{
    for (uint32_t i = 0; i < WALK_PROCESSES; i++)
        t->processes[i].pid = 0;
}

void bpf_tables_forget(struct bpf_tables *t)
{
    write_begin(&t->control->sequence);
    memset(t->tables, 0, WALK_TABLES * sizeof *t->tables);
    t->count = 1;
    t->words_used = 0;
    processes_drop(t);
    write_end(&t->control->sequence);
}

/* ---- room ---- */

struct use {
    uint32_t used, number;
};

static int compare_uses(const void *a, const void *b)
{
    const struct use *x = a, *y = b;
    return (y->used > x->used) - (y->used < x->used);
}

/* In use: up to half of the room, by how long ago they were needed. */
static uint32_t most_recent(const struct bpf_tables *t, bool *kept)
{
    static struct use uses[WALK_TABLES];
    uint32_t words = 0;
    for (uint32_t i = 1; i < t->count; i++)
        uses[i - 1] = (struct use){t->tables[i].used, i};
    qsort(uses, t->count - 1, sizeof *uses, compare_uses);
    for (uint32_t i = 0; i + 1 < t->count && i < WALK_TABLES / 2; i++) {
        const struct walk_table *table = &t->tables[uses[i].number];
        uint32_t size = table->row_at + table->rows - table->bucket_at;
        if (words + size > t->words / 2)
            break;
        words += size;
        kept[uses[i].number] = true;
    }
    return words;
}

static void table_move(struct bpf_tables *t, uint32_t from, uint32_t to)
{
    struct walk_table *old = &t->tables[from], *new = &t->tables[to];
    uint32_t buckets = old->row_at - old->bucket_at, size = buckets + old->rows;
    memmove(t->pool + t->words_used, t->pool + old->bucket_at, (size_t)size * WORD);
    *new = *old;
    new->bucket_at = t->words_used;
    new->row_at = t->words_used + buckets;
    t->words_used += size;
    t->image[to] = t->image[from];
    t->image[to]->walk_table = to;
}

static void room_make(struct bpf_tables *t)
{
    bool kept[WALK_TABLES] = {0};
    uint32_t count = t->count;
    write_begin(&t->control->sequence);
    most_recent(t, kept);
    t->count = 1;
    t->words_used = 0;
    for (uint32_t i = 1; i < count; i++) {
        if (kept[i]) {
            table_move(t, i, t->count++);
        } else {
            t->image[i]->walk_table = 0;
            t->dropped++;
        }
    }
    processes_drop(t);
    write_end(&t->control->sequence);
}

/* ---- what is added ---- */

bool bpf_tables_add(struct bpf_tables *t, struct machine_image *image)
{
    if (!image->table || !image->table_ref)
        return false;
    const struct unwind_table *from =
        (const void *)(image->table + (size_t)MACHINE_TABLE_UNIT * image->table_ref);
    uint64_t header = sizeof *from / WORD,
             words = unwind_table_size(from->buckets, from->rows) / WORD - header;
    if (words > t->words / 2 || !from->rows)
        return false;
    if (t->words_used + words > t->words || t->count == WALK_TABLES)
        room_make(t);
    memcpy(t->pool + t->words_used, (const uint64_t *)(const void *)from + header, words * WORD);
    t->tables[t->count] = (struct walk_table){
        .text_lo = from->text_lo,
        .buckets = from->buckets,
        .rows = from->rows,
        .bucket_at = t->words_used,
        .row_at = t->words_used + (uint32_t)words - from->rows,
        .used = t->control->epoch,
    };
    t->words_used += (uint32_t)words;
    t->image[t->count] = image;
    /* No process refers to it yet. */
    image->walk_table = t->count++;
    t->made++;
    return true;
}

bool bpf_tables_process(struct bpf_tables *t, const struct machine_images *images,
                        const struct machine_process *p, const struct machine_record *r)
{
    struct walk_process *to = &t->processes[(uint32_t)p->pid % WALK_PROCESSES];
    const struct unwind_index *index = p->index;
    if (!index || index->count > WALK_MAPS)
        return false;
    write_begin(&to->sequence);
    to->pid = p->pid;
    to->identity = r->identity;
    to->time = r->time;
    to->count = index->count;
    for (uint32_t i = 0; i < index->count; i++) {
        const struct unwind_image *from = &index->image[i];
        const struct machine_image *image = machine_image_numbered(images, from->number);
        to->map[i] = (struct walk_map){.lo = from->lo, .hi = from->hi, .bias = from->bias,
                                       .table = image ? image->walk_table : 0};
    }
    write_end(&to->sequence);
    return true;
}
