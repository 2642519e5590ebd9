#include "collector/machine/machine_memory.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* What is less than this above the piece of a stack belongs to the same stack. */
#define STACK_MOST (UINT64_C(8) << 20)

void machine_memory_begin(struct machine_memory *m, const struct machine_process *process,
                          const struct machine_record *sample)
{
    m->sample = sample;
    m->process = process;
    m->beyond = false;
    m->page_at = 0;
}

static bool page_read(struct machine_memory *m, uint64_t address)
{
    const struct machine_map *map = machine_process_map(m->process, address);
    ssize_t n = -1;
    if (m->page_at == address)
        return true;
    m->page_at = 0;
    if (map && map->image && map->image->fd >= 0)
        n = pread(map->image->fd, m->page, sizeof m->page,
                  (off_t)(map->offset + (address - map->lo)));
    struct iovec local = {m->page, sizeof m->page},
                 remote = {(void *)(uintptr_t)address, sizeof m->page};
    if (map && n <= 0)
        n = process_vm_readv(m->process->pid, &local, 1, &remote, 1, 0);
    if (n <= 0)
        return false;
    memset(m->page + n, 0, sizeof m->page - (size_t)n);
    m->page_at = address;
    return true;
}

static bool byte_read(struct machine_memory *m, uint64_t address, uint8_t *to)
{
    if (!page_read(m, address & ~(uint64_t)(MACHINE_PAGE - 1)))
        return false;
    *to = m->page[address % MACHINE_PAGE];
    return true;
}

bool machine_memory_fetch(void *memory, uint64_t address, uint64_t *value)
{
    struct machine_memory *m = memory;
    const struct machine_record *s = m->sample;
    uint64_t from = address - s->regs.r[UNWIND_RSP];
    uint64_t first = address & ~(uint64_t)(MACHINE_PAGE - 1);
    uint8_t bytes[sizeof *value];
    if (from < s->stack_size && s->stack_size - from >= sizeof *value) {
        memcpy(value, s->stack + from, sizeof *value);
        return true;
    }
    m->beyond |= s->stack_cut && from - s->stack_size < STACK_MOST;
    if (address > UINT64_MAX - sizeof bytes)
        return false;
    if (address - first <= MACHINE_PAGE - sizeof bytes) {
        if (!page_read(m, first))
            return false;
        memcpy(value, m->page + (address - first), sizeof *value);
        return true;
    }
    for (unsigned i = 0; i < sizeof bytes; i++)
        if (!byte_read(m, address + i, &bytes[i]))
            return false;
    memcpy(value, bytes, sizeof *value);
    return true;
}
