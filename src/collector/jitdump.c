#include "collector/jitdump.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DUMP_MAGIC 0x4a695444u
#define DUMP_SIZE_MOST (UINT64_C(1) << 32)

enum { HEADER_BYTES = 40, RECORD_BYTES = 16, LOAD_BYTES = 56, MOVE_BYTES = 64 };
enum { CODE_LOAD = 0, CODE_MOVE = 1 };

struct dump {
    const uint8_t *data;
    uint64_t size;
};

static uint32_t get_u32(const struct dump *d, uint64_t at)
{
    uint32_t value;
    memcpy(&value, d->data + at, sizeof value);
    return value;
}

static uint64_t get_u64(const struct dump *d, uint64_t at)
{
    uint64_t value;
    memcpy(&value, d->data + at, sizeof value);
    return value;
}

static bool add_load(const struct dump *d, uint64_t at, uint64_t bytes, struct jit_symbols *m)
{
    const char *name = (const char *)d->data + at + LOAD_BYTES;
    uint64_t size = get_u64(d, at + 40);
    /* A name that does not end inside the record is none. */
    if (bytes <= LOAD_BYTES || !memchr(name, 0, bytes - LOAD_BYTES) || !*name || !size)
        return true;
    return jit_add(m, get_u64(d, at + 32), size, name);
}

/* The code's name is that of the last symbol at its old address. */
static bool add_move(const struct dump *d, uint64_t at, uint64_t bytes, struct jit_symbols *m)
{
    uint64_t old = get_u64(d, at + 32);
    if (bytes < MOVE_BYTES)
        return true;
    for (size_t i = m->count; i; i--)
        if (m->symbols[i - 1].address == old) {
            uint64_t size = m->symbols[i - 1].size;
            char *name = strdup(m->symbols[i - 1].name);
            bool ok = name && jit_add(m, get_u64(d, at + 40), size, name);
            free(name);
            return ok;
        }
    return true;
}

static void read_records(const struct dump *d, struct jit_symbols *m)
{
    if (d->size < HEADER_BYTES || get_u32(d, 0) != DUMP_MAGIC || get_u32(d, 12) != EM_X86_64)
        return;
    uint64_t at = get_u32(d, 8);
    bool ok = at >= HEADER_BYTES;
    while (ok && at <= d->size && d->size - at >= RECORD_BYTES) {
        uint32_t kind = get_u32(d, at);
        uint64_t bytes = get_u32(d, at + 4);
        if (bytes < RECORD_BYTES || bytes > d->size - at)
            return;
        if (kind == CODE_LOAD && bytes >= LOAD_BYTES)
            ok = add_load(d, at, bytes, m);
        else if (kind == CODE_MOVE && bytes >= LOAD_BYTES)
            ok = add_move(d, at, bytes, m);
        at += bytes;
    }
}

void jitdump_read(int fd, uint64_t size, struct jit_symbols *m)
{
    if (size < HEADER_BYTES || size > DUMP_SIZE_MOST)
        return;
    /* Read, not mapped: a file that is cut short meanwhile would be a SIGBUS. */
    uint8_t *data = malloc(size);
    struct dump d = {.data = data};
    while (data && d.size < size) {
        ssize_t n = pread(fd, data + d.size, size - d.size, (off_t)d.size);
        if (n <= 0)
            break;
        d.size += (uint64_t)n;
    }
    if (data)
        read_records(&d, m);
    free(data);
}
