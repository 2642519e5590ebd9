#include "profile/spool_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"

/* ---- the view ---- */

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t used_bytes(const struct spool *s)
{
    const struct spool_header *h = spool_header(s);
    uint64_t limit = __atomic_load_n(&h->limit, __ATOMIC_ACQUIRE);
    uint64_t next = __atomic_load_n(&h->next, __ATOMIC_ACQUIRE);
    return min_u64(s->mapped, limit > next ? limit : next);
}

bool spool_view_open(struct spool_view *v, const struct spool *s, struct err *e)
{
    *v = (struct spool_view){.spool = *s};
    if (!s->base || s->mapped < SPOOL_HEADER_SIZE)
        return err_set(e, ERR_FORMAT,
                       "the spool is %" PRIu64 " bytes, shorter than its header of %u",
                       s->base ? s->mapped : 0, SPOOL_HEADER_SIZE);
    const struct spool_header *h = spool_header(s);
    if (h->magic != SPOOL_MAGIC)
        return err_set(e, ERR_FORMAT, "the spool's offset 0: expected its magic %#" PRIx64
                       ", found %#" PRIx64, SPOOL_MAGIC, h->magic);
    if (h->version != SPOOL_VERSION)
        return err_set(e, ERR_FORMAT,
                       "the spool's offset 8: version %" PRIu32 "; this penumbra reads "
                       "version %u: recover it with the penumbra that recorded it",
                       h->version, SPOOL_VERSION);
    if (h->layout != SPOOL_LAYOUT)
        return err_set(e, ERR_FORMAT,
                       "the spool's offset 64: layout %" PRIu32 "; this penumbra reads "
                       "layout %u: recover it with the penumbra that recorded it",
                       h->layout, SPOOL_LAYOUT);
    v->spool.mapped = used_bytes(s);
    if (v->spool.mapped < SPOOL_HEADER_SIZE)
        v->spool.mapped = SPOOL_HEADER_SIZE;
    v->strings = v->timelines = v->spool.mapped;
    v->visited_size = (size_t)(v->spool.mapped / SPOOL_UNIT / 8 + 1);
    /* Zero pages that cost nothing until a record behind them is visited. */
    v->visited = mmap(NULL, v->visited_size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (v->visited == MAP_FAILED) {
        v->visited = NULL;
        return err_set(e, ERR_INTERNAL, "no memory to keep track of a spool of %" PRIu64 " bytes",
                       v->spool.mapped);
    }
    return true;
}

void spool_view_close(struct spool_view *v)
{
    if (v->visited)
        munmap(v->visited, v->visited_size);
    v->visited = NULL;
}

void *spool_view_visit(struct spool_view *v, spool_ref ref, uint64_t size)
{
    if (!ref)
        return NULL;
    void *record = spool_at(&v->spool, ref, size);
    uint8_t bit = (uint8_t)(1u << (ref & 7));
    if (!record || v->visited[ref >> 3] & bit) {
        v->damage++;
        return NULL;
    }
    v->visited[ref >> 3] |= bit;
    return record;
}

uint64_t spool_view_count(struct spool_view *v, const uint64_t *counter)
{
    uint64_t n = __atomic_load_n(counter, __ATOMIC_RELAXED);
    if (n <= SPOOL_COUNT_MAX)
        return n;
    v->damage++;
    return SPOOL_COUNT_MAX;
}

/* ---- strings ---- */

/* The bytes at ref, or none. */
static const char *string_at(struct spool_view *v, spool_ref ref, uint32_t *length)
{
    *length = 0;
    if (!ref)
        return "";
    const struct spool_string *s = spool_at(&v->spool, ref, sizeof *s);
    uint32_t n = s ? __atomic_load_n(&s->length, __ATOMIC_RELAXED) : 0;
    if (!s || n > SPOOL_PATH_MAX * 4 || n > v->strings ||
        !spool_at(&v->spool, ref, sizeof *s + n)) {
        v->damage++;
        return "";
    }
    v->strings -= n;
    *length = n;
    return s->bytes;
}

char *spool_view_string(struct spool_view *v, spool_ref ref)
{
    uint32_t length;
    const char *bytes = string_at(v, ref, &length);
    return strndup(bytes, length);
}

static bool is_plain(const char *word, size_t length)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./,:@%^";
    for (size_t i = 0; i < length; i++)
        if (!memchr(plain, word[i], sizeof plain - 1))
            return false;
    return length > 0;
}

static void quote(struct buf *out, const char *word, size_t length)
{
    if (is_plain(word, length)) {
        buf_put(out, word, length);
        return;
    }
    buf_put_u8(out, '\'');
    for (size_t i = 0; i < length; i++) {
        if (word[i] == '\'')
            buf_puts(out, "'\\''");
        else
            buf_put_u8(out, (uint8_t)word[i]);
    }
    buf_put_u8(out, '\'');
}

/* Arguments separated by NUL, as a shell would take them. The last may lack its NUL. */
char *spool_view_command(struct spool_view *v, spool_ref ref)
{
    struct buf out = {0};
    size_t size;
    uint32_t length;
    char bytes[SPOOL_PATH_MAX * 4];
    /* A copy, because the words are looked at twice and the program may change them meanwhile. */
    const char *shared = string_at(v, ref, &length);
    memcpy(bytes, shared, length);
    for (uint32_t i = 0; i < length;) {
        size_t n = strnlen(bytes + i, length - i);
        if (i)
            buf_put_u8(&out, ' ');
        quote(&out, bytes + i, n);
        i += (uint32_t)n + 1;
    }
    buf_put_u8(&out, 0);
    return (char *)buf_detach(&out, &size);
}

/* ---- lists ---- */

bool spool_view_list(struct spool_view *v, const uint32_t *head, uint64_t size,
                     struct record_list *list)
{
    *list = (struct record_list){0};
    void *record = spool_view_visit(v, __atomic_load_n(head, __ATOMIC_ACQUIRE), size);
    while (record) {
        if (list->count == list->capacity) {
            uint32_t capacity = list->capacity ? list->capacity * 2 : 16;
            void **records = list->capacity > UINT32_MAX / 4
                                 ? NULL : realloc(list->records, capacity * sizeof *records);
            if (!records)
                return false;
            list->records = records;
            list->capacity = capacity;
        }
        list->records[list->count++] = record;
        record = spool_view_visit(v, __atomic_load_n((spool_ref *)record, __ATOMIC_ACQUIRE), size);
    }
    for (uint32_t i = 0; i < list->count / 2; i++) {
        void *swap = list->records[i];
        list->records[i] = list->records[list->count - 1 - i];
        list->records[list->count - 1 - i] = swap;
    }
    return true;
}
