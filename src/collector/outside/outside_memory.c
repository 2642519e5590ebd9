#include "collector/outside/outside_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { AHEAD = 4 };

static unsigned slot_of(uint64_t address)
{
    return (unsigned)(address / OUTSIDE_PAGE % OUTSIDE_PAGES);
}

void outside_memory_begin(struct outside_memory *m, pid_t pid)
{
    m->pid = pid;
    m->moment++;
    m->error = 0;
    m->later = false;
}

void outside_memory_ahead(struct outside_memory *m, uint64_t address)
{
    struct iovec local[AHEAD], remote[AHEAD];
    uint64_t first = address - address % OUTSIDE_PAGE;
    for (unsigned i = 0; i < AHEAD; i++) {
        uint64_t at = first + (uint64_t)i * OUTSIDE_PAGE;
        unsigned slot = slot_of(at);
        local[i] = (struct iovec){m->page[slot].bytes, OUTSIDE_PAGE};
        remote[i] = (struct iovec){(void *)(uintptr_t)at, OUTSIDE_PAGE};
        m->page[slot].moment = 0;
        m->page[slot].address = at;
    }
    ssize_t n = process_vm_readv(m->pid, local, AHEAD, remote, AHEAD, 0);
    for (unsigned i = 0; i < AHEAD && n >= OUTSIDE_PAGE; i++, n -= OUTSIDE_PAGE)
        m->page[slot_of(first + (uint64_t)i * OUTSIDE_PAGE)].moment = m->moment;
}

/* Where a filter refuses the call. */
static bool file_read(pid_t pid, uint64_t address, void *bytes)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? pread(fd, bytes, OUTSIDE_PAGE, (off_t)address) : -1;
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return n == OUTSIDE_PAGE;
}

static bool page_read(struct outside_memory *m, uint64_t address, void *bytes)
{
    struct iovec local = {bytes, OUTSIDE_PAGE}, remote = {(void *)(uintptr_t)address, OUTSIDE_PAGE};
    if (process_vm_readv(m->pid, &local, 1, &remote, 1, 0) == OUTSIDE_PAGE)
        return true;
    if ((errno == EPERM || errno == ENOSYS) && file_read(m->pid, address, bytes))
        return true;
    m->error = errno;
    return false;
}

static const uint8_t *page_at(struct outside_memory *m, uint64_t address)
{
    unsigned slot = slot_of(address);
    if (m->page[slot].address == address && m->page[slot].moment == m->moment)
        return m->page[slot].bytes;
    m->page[slot].moment = 0;
    m->page[slot].address = address;
    m->later = true;
    if (!page_read(m, address, m->page[slot].bytes))
        return NULL;
    m->page[slot].moment = m->moment;
    return m->page[slot].bytes;
}

bool outside_memory_fetch(void *memory, uint64_t address, uint64_t *value)
{
    struct outside_memory *m = memory;
    uint8_t bytes[sizeof *value];
    for (unsigned done = 0; done < sizeof bytes;) {
        uint64_t at = address + done, offset = at % OUTSIDE_PAGE;
        unsigned part = (unsigned)(sizeof bytes - done);
        const uint8_t *page = page_at(m, at - offset);
        if (!page)
            return false;
        if (part > OUTSIDE_PAGE - offset)
            part = (unsigned)(OUTSIDE_PAGE - offset);
        memcpy(bytes + done, page + offset, part);
        done += part;
    }
    memcpy(value, bytes, sizeof *value);
    return true;
}
