#include "cli/outside_memory.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

void outside_memory_begin(struct outside_memory *m, pid_t pid)
{
    m->pid = pid;
    m->moment++;
    m->error = 0;
}

static const uint8_t *page_at(struct outside_memory *m, uint64_t address)
{
    unsigned slot = (unsigned)(address / OUTSIDE_PAGE % OUTSIDE_PAGES);
    if (m->page[slot].address == address && m->page[slot].moment == m->moment)
        return m->page[slot].bytes;
    m->page[slot].moment = 0;
    struct iovec local = {m->page[slot].bytes, OUTSIDE_PAGE};
    struct iovec remote = {(void *)(uintptr_t)address, OUTSIDE_PAGE};
    ssize_t n = process_vm_readv(m->pid, &local, 1, &remote, 1, 0);
    if (n != OUTSIDE_PAGE) {
        m->error = n < 0 ? errno : EFAULT;
        return NULL;
    }
    m->page[slot].address = address;
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
