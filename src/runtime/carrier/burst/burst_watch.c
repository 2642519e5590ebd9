#include "runtime/carrier/burst/burst_watch.h"

#include <linux/perf_event.h>
#include <sys/mman.h>

#include "runtime/carrier/shadow/shadow.h"
#include "runtime/thread.h"
#include "sigsafe/own_memory.h"
#include "sigsafe/sys.h"

enum {
    PAGE = 4096,
    DATA = 2 * PAGE,
    SPINS = 400, /* a look takes less, but where its thread is not running */
    RECORD_MOST = 48 + 4096, /* with the longest path; without room for it, records are lost */
};

struct mmap_record {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t address, length, offset;
};

static struct watch {
    uint32_t lock;
    bool blind; /* there was a thread without a ring, and all has been forgotten */
} watch;

/* Nobody waits for a thread that does not run. */
static bool lock_as(void)
{
    for (int i = 0; i < SPINS; i++) {
        if (!__atomic_exchange_n(&watch.lock, 1, __ATOMIC_ACQUIRE))
            return true;
        __builtin_ia32_pause();
    }
    return false;
}

static void unlock_as(void)
{
    __atomic_store_n(&watch.lock, 0, __ATOMIC_RELEASE);
}

static struct perf_event_mmap_page *ring_of(const struct rt_thread *t)
{
    return __atomic_load_n(&t->carrier.watch.pid,
                           __ATOMIC_ACQUIRE) == guest.pid ? t->carrier.watch.ring : NULL;
}

static long event_open_as(void)
{
    struct perf_event_attr a;
    uint64_t *words = (uint64_t *)(void *)&a;
    for (unsigned i = 0; i < sizeof a / sizeof *words; i++)
        words[i] = 0;
    a.size = sizeof a;
    a.type = PERF_TYPE_SOFTWARE;
    a.config = PERF_COUNT_SW_DUMMY;
    a.exclude_kernel = a.exclude_hv = 1;
    a.mmap = 1;
    return sys_call6_as(SYS_perf_event_open, (long)&a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC, 0);
}

void burst_watch_thread_as(struct rt_thread *t)
{
    if (ring_of(t) && t->carrier.watch.tid == t->tid)
        return;
    bool again = __atomic_exchange_n(&t->carrier.watch.pid, 0, __ATOMIC_ACQ_REL) == guest.pid;
    long fd = event_open_as();
    if (fd < 0)
        return;
    /* In place of the ring that the state had before: somebody may be looking at it. */
    long at = again ? sys_call6_as(SYS_mmap, (long)t->carrier.watch.ring, PAGE + DATA,
                                   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0)
                    : own_map_as(0, PAGE + DATA, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd);
    sys_call3_as(SYS_close, fd, 0, 0); /* the mapping keeps the event */
    if (at < 0 && at > -PAGE)
        return;
    t->carrier.watch.ring = (struct perf_event_mmap_page *)at;
    t->carrier.watch.tid = t->tid;
    __atomic_store_n(&t->carrier.watch.pid, guest.pid, __ATOMIC_RELEASE);
}

bool burst_watch_whole_as(void)
{
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < used; i++) {
        const struct rt_thread *t = __atomic_load_n(&rt.slots[i], __ATOMIC_ACQUIRE);
        if (t && !ring_of(t))
            return false;
    }
    return true;
}

static void changed(uint64_t lo, uint64_t hi, burst_code_forgotten *gone)
{
    burst_code_written(lo, hi, gone);
    shadow_code_changed_as(lo, hi);
}

static void forget_all(burst_code_forgotten *gone)
{
    changed(0, UINT64_MAX, gone);
}

/* Records are multiples of 8 bytes, and so is where each word of one lies. */
static uint64_t word_at(const struct perf_event_mmap_page *ring, uint64_t at)
{
    return *(const volatile uint64_t *)(const void *)((const uint8_t *)ring + PAGE +
                                                      (at & (DATA - 8)));
}

/* Whoever asks for mappings is told of forks, new threads and their ends as well
 * (perf_event_open(2)), which change no code. Any other record says that some are missing. */
static bool is_known(uint32_t type, uint32_t size)
{
    return type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT ||
           (type == PERF_RECORD_MMAP && size >= sizeof(struct mmap_record));
}

/* What is between the ring's tail and head, which is not empty. */
static void records_read(struct perf_event_mmap_page *ring, uint64_t head,
                         burst_code_forgotten *gone)
{
    uint64_t at = ring->data_tail;
    bool lost = head - at > DATA - RECORD_MOST;
    while (!lost && at < head) {
        uint64_t header = word_at(ring, at);
        uint32_t type = (uint32_t)header, size = (uint32_t)(header >> 48);
        lost = !size || size % 8 || !is_known(type, size);
        if (type == PERF_RECORD_MMAP && !lost) {
            uint64_t lo = word_at(ring, at + offsetof(struct mmap_record, address));
            changed(lo, lo + word_at(ring, at + offsetof(struct mmap_record, length)), gone);
        }
        at += size;
    }
    if (lost)
        forget_all(gone);
    __atomic_store_n(&ring->data_tail, head, __ATOMIC_RELEASE);
}

bool burst_watch_look_as(burst_code_forgotten *gone)
{
    if (!lock_as())
        return false;
    bool blind = !burst_watch_whole_as();
    if (blind && !watch.blind)
        forget_all(gone);
    watch.blind = blind;
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < used && !blind; i++) {
        const struct rt_thread *t = __atomic_load_n(&rt.slots[i], __ATOMIC_ACQUIRE);
        struct perf_event_mmap_page *ring = t ? ring_of(t) : NULL;
        uint64_t head = ring ? __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE) : 0;
        if (ring && head != ring->data_tail)
            records_read(ring, head, gone);
    }
    unlock_as();
    return true;
}

void burst_watch_fork_child(void)
{
    watch = (struct watch){0};
}
