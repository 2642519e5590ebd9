#include "unwind/memory.h"

#include <asm-generic/errno-base.h>

#include "sigsafe/sample_path.h"
#include "sigsafe/sys.h"

enum { PAGE_SHIFT = 12 };

SAMPLE_PATH
void unwind_memory_init_as(struct unwind_memory *m, struct unwind_thread *thread, uint64_t rsp)
{
    m->low = 0;
    m->span = 0;
    m->thread = thread;
    m->pages_fresh = false;
    if (!thread->fetch && rsp >= thread->stack_lo && rsp < thread->stack_hi &&
        thread->stack_hi - rsp >= 8) {
        m->low = rsp;
        m->span = thread->stack_hi - rsp - 7;
    }
}

static bool page_probe_as(struct unwind_memory *m, uint64_t page)
{
    /* Page 0 would be a null pointer to the kernel, which it ignores; slot value 0 is "empty". */
    if (page == 0 || m->thread->no_system_calls)
        return false;
    uint64_t *slot = &m->thread->page[page % UNWIND_PAGE_SLOTS];
    if (*slot == page)
        return true;
    long result = sys_call6_as(SYS_rt_sigprocmask, -1, (long)(page << PAGE_SHIFT), 0, 8, 0, 0);
    if (result != -EINVAL)
        return false;
    *slot = page;
    return true;
}

SAMPLE_PATH
bool unwind_memory_read_beyond_as(struct unwind_memory *m, uint64_t address, uint64_t *value)
{
    if (m->thread->fetch)
        return m->thread->fetch(m->thread->fetch_context, address, value);
    if (!unwind_memory_probe_as(m, address))
        return false;
    *value = unwind_memory_load_as(address);
    return true;
}

SAMPLE_PATH
bool unwind_memory_probe_as(struct unwind_memory *m, uint64_t address)
{
    uint64_t unused;
    if (m->thread->fetch)
        return m->thread->fetch(m->thread->fetch_context, address, &unused);
    if (!m->pages_fresh) {
        for (int i = 0; i < UNWIND_PAGE_SLOTS; i++)
            m->thread->page[i] = 0;
        m->pages_fresh = true;
    }
    if (address > UINT64_MAX - 7)
        return false;
    uint64_t first = address >> PAGE_SHIFT, last = (address + 7) >> PAGE_SHIFT;
    return page_probe_as(m, first) && (last == first || page_probe_as(m, last));
}
