#include "runtime/trigger/kernel.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "runtime/thread.h"
#include "sigsafe/sample_path.h"
#include "sigsafe/settings.h"
#include "sigsafe/sys.h"

enum { PAGE = 4096, WORDS = PAGE / 8 };

/* Addresses from here on are marks: what follows is of the kernel, or of the user. */
#define MARKS ((uint64_t)PERF_CONTEXT_MAX)

void kernel_ask_as(struct perf_event_attr *a)
{
    if (!rt.config->kernel_stacks || a->exclude_kernel)
        return;
    a->sample_type = PERF_SAMPLE_CALLCHAIN;
    a->exclude_callchain_user = 1;
    a->sample_max_stack = KERNEL_FRAMES;
}

void kernel_open_as(struct rt_thread *t)
{
    t->kernel.ring = NULL;
    t->kernel.count = 0;
    t->kernel.seen = 0;
    if (!rt.config->kernel_stacks || guest.process->exclude_kernel || t->fd < 0)
        return;
    long made = sys_call6_as(SYS_mmap, 0, 2 * PAGE, PROT_READ, MAP_SHARED, t->fd, 0);
    if (made > 0 || made < -PAGE)
        t->kernel.ring = (const struct perf_event_mmap_page *)made;
    else
        __atomic_fetch_add(&guest.process->kernel_refused, 1, __ATOMIC_RELAXED);
}

/* The mapping keeps the event alive: it is stopped. Another thread's may be in its hands, and goes
 * with the process. */
void kernel_close_as(struct rt_thread *t)
{
    const struct perf_event_mmap_page *ring = t->kernel.ring;
    if (!ring)
        return;
    t->kernel.ring = NULL;
    t->kernel.count = 0;
    sys_call3_as(SYS_ioctl, t->fd, PERF_EVENT_IOC_DISABLE, 0);
    if (sys_call3_as(SYS_gettid, 0, 0, 0) == t->tid)
        sys_call3_as(SYS_munmap, (long)ring, 2 * PAGE, 0);
}

void kernel_abandon_as(struct rt_thread *t)
{
    if (t->kernel.ring)
        sys_call3_as(SYS_munmap, (long)t->kernel.ring, 2 * PAGE, 0);
    kernel_forget_as(t);
}

void kernel_forget_as(struct rt_thread *t)
{
    t->kernel.ring = NULL;
    t->kernel.count = 0;
}

static uint64_t word_at(const struct perf_event_mmap_page *ring, uint64_t at)
{
    const uint64_t *words = (const uint64_t *)((const uint8_t *)ring + PAGE);
    return __atomic_load_n(&words[at / 8 % WORDS], __ATOMIC_RELAXED);
}

/* Of the last sample from `at` on, where its addresses are counted; UINT64_MAX: there is none. A
 * record begins with 32 bits of type, 16 of flags and 16 of size. */
static uint64_t last_sample(const struct perf_event_mmap_page *ring, uint64_t at, uint64_t head)
{
    uint64_t found = UINT64_MAX;
    while (at < head) {
        uint64_t first = word_at(ring, at), size = first >> 48;
        if (size < 8 || size % 8 || size > head - at)
            return UINT64_MAX;
        if ((uint32_t)first == PERF_RECORD_SAMPLE && size >= 16)
            found = at + 8;
        at += size;
    }
    return found;
}

SAMPLE_PATH
void kernel_read_as(struct rt_thread *t)
{
    const struct perf_event_mmap_page *ring = t->kernel.ring;
    t->kernel.count = 0;
    if (!ring || t->which)
        return;
    uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE), seen = t->kernel.seen;
    t->kernel.seen = head;
    uint64_t at = head - seen <= PAGE ? last_sample(ring, seen, head) : UINT64_MAX;
    uint64_t count = at == UINT64_MAX ? 0 : word_at(ring, at);
    for (uint64_t i = 1; i <= count && i <= KERNEL_FRAMES + 8 && t->kernel.count < KERNEL_FRAMES;
         i++) {
        uint64_t address = word_at(ring, at + 8 * i);
        if (address == (uint64_t)PERF_CONTEXT_USER)
            break;
        if (address < MARKS && address >> 63)
            t->kernel.frames[t->kernel.count++] = address;
    }
}
