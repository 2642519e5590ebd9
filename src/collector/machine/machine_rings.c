#include "collector/machine/machine_rings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/machine/machine_record.h"
#include "collector/measure.h"

enum { RING_LEAST = 128 << 10, CPUS_MOST = 4096 };

/* How long a record may take from its time to being in the ring: a virtual CPU may not run then. */
#define WRITING_NS UINT64_C(10000000)

static int event_open(const struct perf_event_attr *a, int pid, int cpu, unsigned long flags)
{
    return (int)syscall(SYS_perf_event_open, a, pid, cpu, -1, flags | PERF_FLAG_FD_CLOEXEC);
}

/* Times are CLOCK_MONOTONIC's, as those of the recording. */
static struct perf_event_attr attributes(void)
{
    return (struct perf_event_attr){.size = sizeof(struct perf_event_attr),
                                    .type = PERF_TYPE_SOFTWARE,
                                    .disabled = 1,
                                    .sample_id_all = 1,
                                    .use_clockid = 1,
                                    .clockid = CLOCK_MONOTONIC};
}

/* The process that has a map is told of whatever is sampled: a control group's events would not
 * tell what a process had mapped before it came there. */
static int side_open(int cpu, size_t ring_size)
{
    struct perf_event_attr a = attributes();
    a.config = PERF_COUNT_SW_DUMMY;
    a.sample_type = MACHINE_SIDE_TYPE;
    a.mmap = a.mmap2 = a.comm = a.comm_exec = a.task = 1;
    a.watermark = 1;
    a.wakeup_watermark = (uint32_t)(ring_size / 4);
    return event_open(&a, -1, cpu, 0);
}

static int sample_open(int cpu, uint64_t period_ns, int cgroup)
{
    struct perf_event_attr a = attributes();
    a.config = PERF_COUNT_SW_CPU_CLOCK;
    a.sample_period = period_ns;
    a.sample_type = MACHINE_SAMPLE_TYPE;
    a.exclude_idle = 1;
    a.exclude_hv = 1;
    a.exclude_callchain_user = 1;
    a.sample_regs_user = MACHINE_REGISTERS;
    a.sample_stack_user = MACHINE_STACK;
    a.read_format = PERF_FORMAT_LOST; /* since Linux 6.0 */
    unsigned long flags = cgroup >= 0 ? PERF_FLAG_PID_CGROUP : 0;
    int fd = event_open(&a, cgroup, cpu, flags);
    if (fd >= 0 || errno != EINVAL)
        return fd;
    a.read_format = 0;
    return event_open(&a, cgroup, cpu, flags);
}

/* "0-3,8": the list of CPUs that are online. */
static unsigned cpus_read(int *cpus, unsigned most)
{
    unsigned count = 0;
    int first, last;
    FILE *f = fopen("/sys/devices/system/cpu/online", "re");
    while (f && count < most && fscanf(f, "%d", &first) == 1) {
        if (fscanf(f, "-%d", &last) != 1)
            last = first;
        for (int cpu = first; cpu <= last && count < most; cpu++)
            cpus[count++] = cpu;
        if (fgetc(f) != ',')
            break;
    }
    if (f)
        fclose(f);
    return count;
}

static bool refused(int error, int cpu, int cgroup, struct err *e)
{
    int level = -1;
    FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    bool known = f && fscanf(f, "%d", &level) == 1;
    if (f)
        fclose(f);
    if (cgroup >= 0 && (error == EBADF || error == EINVAL || error == ENOENT))
        return err_set_errno(e, ERR_USAGE, error,
                             "the folder given by --cgroup is no control group that perf events "
                             "know: of version 2, or of version 1's perf_event hierarchy");
    if (error == ENOENT || error == ENOSYS || error == EOPNOTSUPP)
        return err_set_errno(e, ERR_NO_TRIGGER, error,
                             "the kernel has no perf events to sample the whole machine with; "
                             "penumbra record PROGRAM needs none");
    if ((error == EACCES || error == EPERM) && known && level > 0)
        return err_set_errno(
            e, ERR_NO_TRIGGER, error,
            "the whole machine may not be sampled: that takes the capability CAP_PERFMON, or "
            "kernel.perf_event_paranoid of 0 or less (it is %d). Run it as root, or try sysctl "
            "kernel.perf_event_paranoid=0; penumbra record PROGRAM and record -p need neither",
            level);
    return err_set_errno(
        e, ERR_NO_TRIGGER, error,
        "the kernel refuses perf events of all processes on CPU %d (a container's seccomp filter "
        "does so, too: run it outside, as root); penumbra record PROGRAM needs none",
        cpu);
}

/* Without CAP_IPC_LOCK, perf_event_mlock_kb bounds what may be mapped. */
static bool ring_map(struct machine_rings *r, struct machine_ring *ring, int cpu, int cgroup,
                     struct err *e)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (;; r->data_size /= 2) {
        ring->side = side_open(cpu, r->data_size);
        if (ring->side < 0)
            return refused(errno, cpu, cgroup, e);
        void *at =
            mmap(NULL, page + r->data_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->side, 0);
        ring->pages = at == MAP_FAILED ? NULL : at;
        if (ring->pages)
            return true;
        if (r->data_size <= RING_LEAST)
            return err_set_errno(e, ERR_NO_TRIGGER, errno,
                                 "cannot map a ring of %zu kB for each CPU; try a larger sysctl "
                                 "kernel.perf_event_mlock_kb, or run as root",
                                 r->data_size / 1024);
        close(ring->side);
        ring->side = -1;
    }
}

static bool ring_open(struct machine_rings *r, struct machine_ring *ring, int cpu,
                      uint64_t period_ns, int cgroup, struct err *e)
{
    if (!ring_map(r, ring, cpu, cgroup, e))
        return false;
    ring->sample = sample_open(cpu, period_ns, cgroup);
    if (ring->sample < 0)
        return refused(errno, cpu, cgroup, e);
    if (ioctl(ring->sample, PERF_EVENT_IOC_SET_OUTPUT, ring->side))
        return err_set_errno(e, ERR_NO_TRIGGER, errno, "cannot make two events write to one ring");
    return true;
}

bool machine_rings_open(struct machine_rings *r, uint64_t period_ns, size_t ring_size, int cgroup,
                        struct err *e)
{
    int cpus[CPUS_MOST];
    unsigned count = cpus_read(cpus, CPUS_MOST);
    *r = (struct machine_rings){.data_size = ring_size, .lock = PTHREAD_MUTEX_INITIALIZER};
    r->list = calloc(count + 1, sizeof *r->list);
    r->wait = calloc(count + 1, sizeof *r->wait);
    if (!r->list || !r->wait)
        return err_set(e, ERR_INTERNAL, "out of memory");
    if (!count)
        return err_set(e, ERR_NO_TRIGGER,
                       "/sys/devices/system/cpu/online does not say which CPUs there are");
    for (unsigned i = 0; i < count; i++) {
        r->list[i] = (struct machine_ring){.cpu = cpus[i], .side = -1, .sample = -1, .output = -1};
        r->count = i + 1;
        if (!ring_open(r, &r->list[i], cpus[i], period_ns, cgroup, e))
            return false;
        r->wait[i] = (struct pollfd){.fd = r->list[i].side, .events = POLLIN};
    }
    return true;
}

int machine_rings_clock(const struct machine_rings *r, unsigned i, uint64_t period_ns, int cgroup)
{
    struct perf_event_attr a = attributes();
    a.config = PERF_COUNT_SW_CPU_CLOCK;
    a.sample_period = period_ns;
    a.exclude_idle = 1;
    a.exclude_hv = 1;
    return event_open(&a, cgroup, r->list[i].cpu, cgroup >= 0 ? PERF_FLAG_PID_CGROUP : 0);
}

int machine_rings_output(struct machine_rings *r, unsigned i)
{
    struct machine_ring *ring = &r->list[i];
    if (ring->output >= 0)
        return ring->output;
    struct perf_event_attr a = attributes();
    a.config = PERF_COUNT_SW_BPF_OUTPUT;
    a.sample_type = MACHINE_WALK_TYPE;
    a.disabled = 0;
    a.read_format = PERF_FORMAT_LOST;
    ring->output = event_open(&a, -1, ring->cpu, 0);
    if (ring->output < 0 && errno == EINVAL) {
        a.read_format = 0;
        ring->output = event_open(&a, -1, ring->cpu, 0);
    }
    if (ring->output >= 0 && !ioctl(ring->output, PERF_EVENT_IOC_SET_OUTPUT, ring->side))
        return ring->output;
    return -1;
}

static void rings_control(const struct machine_rings *r, unsigned long what)
{
    for (unsigned i = 0; i < r->count; i++) {
        ioctl(r->list[i].side, what, 0);
        ioctl(r->list[i].sample, what, 0);
    }
}

void machine_rings_start(const struct machine_rings *r)
{
    rings_control(r, PERF_EVENT_IOC_ENABLE);
}

void machine_rings_pace(const struct machine_rings *r, uint64_t period_ns)
{
    for (unsigned i = 0; i < r->count; i++)
        ioctl(r->list[i].sample, PERF_EVENT_IOC_PERIOD, &period_ns);
}

void machine_rings_stop(const struct machine_rings *r)
{
    rings_control(r, PERF_EVENT_IOC_DISABLE);
}

static uint64_t lost_of(int event)
{
    struct {
        uint64_t value, lost;
    } now = {0};
    return event >= 0 && read(event, &now, sizeof now) == sizeof now ? now.lost : 0;
}

uint64_t machine_rings_lost(const struct machine_rings *r)
{
    uint64_t lost = 0;
    for (unsigned i = 0; i < r->count; i++)
        lost += lost_of(r->list[i].sample) + lost_of(r->list[i].output);
    return lost;
}

static size_t data_size_of(const struct machine_ring *ring)
{
    return (size_t)((const struct perf_event_mmap_page *)ring->pages)->data_size;
}

void machine_rings_close(struct machine_rings *r)
{
    for (unsigned i = 0; i < r->count; i++) {
        struct machine_ring *ring = &r->list[i];
        if (ring->pages)
            munmap(ring->pages, (size_t)sysconf(_SC_PAGESIZE) + data_size_of(ring));
        if (ring->sample >= 0)
            close(ring->sample);
        if (ring->output >= 0)
            close(ring->output);
        if (ring->side >= 0)
            close(ring->side);
    }
    for (size_t i = r->next; i < r->queued; i++)
        free(r->queue[i].bytes);
    free(r->queue);
    free(r->list);
    free(r->wait);
    *r = (struct machine_rings){0};
}

bool machine_rings_wait(const struct machine_rings *r, int most_ms)
{
    return poll(r->wait, r->count, most_ms) > 0;
}

/* ---- from rings to the queue ---- */

static void copy_wrapped(void *to, const uint8_t *data, size_t data_size, uint64_t from,
                         size_t size)
{
    size_t at = (size_t)(from & (data_size - 1)), first = data_size - at;
    if (first > size)
        first = size;
    memcpy(to, data + at, first);
    memcpy((uint8_t *)to + first, data, size - first);
}

static bool queue_grow(struct machine_rings *r)
{
    if (r->queued < r->capacity)
        return true;
    size_t capacity = r->capacity ? r->capacity * 2 : 1024;
    struct machine_queued *more = reallocarray(r->queue, capacity, sizeof *more);
    if (!more)
        return false;
    r->queue = more;
    r->capacity = capacity;
    return true;
}

/* What is in r->whole. */
static void queue_put(struct machine_rings *r, size_t size)
{
    struct machine_record record;
    bool ok = machine_record_read(r->whole, size, &record);
    if (ok && record.kind == MACHINE_OTHER)
        return;
    uint64_t time = record.time;
    r->losses += ok && record.kind == MACHINE_LOST;
    size = ok ? machine_record_pack(r->whole, size, &record) : 0;
    void *bytes = ok && queue_grow(r) ? malloc(size) : NULL;
    if (!bytes) {
        r->broken++;
        return;
    }
    memcpy(bytes, r->whole, size);
    r->queue[r->queued++] = (struct machine_queued){time, r->number++, bytes, size};
    r->queued_bytes += size;
}

bool machine_rings_are_full(struct machine_rings *r)
{
    pthread_mutex_lock(&r->lock);
    bool full = r->queued_bytes >= MACHINE_QUEUE_MOST;
    pthread_mutex_unlock(&r->lock);
    return full;
}

void machine_rings_add(struct machine_rings *r, const void *bytes, size_t size)
{
    pthread_mutex_lock(&r->lock);
    if (size <= sizeof r->whole) {
        memcpy(r->whole, bytes, size);
        queue_put(r, size);
    }
    pthread_mutex_unlock(&r->lock);
}

static void ring_read(struct machine_rings *r, const struct machine_ring *ring)
{
    struct perf_event_mmap_page *page = ring->pages;
    const uint8_t *data = (const uint8_t *)ring->pages + page->data_offset;
    size_t data_size = data_size_of(ring);
    uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail;
    while (head - tail >= sizeof(struct perf_event_header) && head - tail <= data_size) {
        struct perf_event_header h;
        copy_wrapped(&h, data, data_size, tail, sizeof h);
        if (h.size < sizeof h || h.size > head - tail) {
            r->broken++;
            break;
        }
        copy_wrapped(r->whole, data, data_size, tail, h.size);
        queue_put(r, h.size);
        tail += h.size;
    }
    /* Pairs with the kernel's load before it writes over what was read here. */
    __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
}

static int compare(const void *a, const void *b)
{
    const struct machine_queued *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* What was handed out makes room. */
static void queue_shift(struct machine_rings *r)
{
    memmove(r->queue, r->queue + r->next, (r->queued - r->next) * sizeof *r->queue);
    r->queued -= r->next;
    r->next = 0;
}

bool machine_rings_read(struct machine_rings *r, bool last)
{
    uint64_t begun = monotonic_ns();
    pthread_mutex_lock(&r->lock);
    if (r->next)
        queue_shift(r);
    bool room = r->queued_bytes < MACHINE_QUEUE_MOST || last;
    if (room)
        for (unsigned i = 0; i < r->count; i++)
            ring_read(r, &r->list[i]);
    if (r->queued)
        qsort(r->queue, r->queued, sizeof *r->queue, compare);
    if (room)
        r->complete_ns = last ? UINT64_MAX : begun - WRITING_NS;
    bool some = r->queued && r->queue[0].time < r->complete_ns;
    pthread_mutex_unlock(&r->lock);
    return some;
}

bool machine_rings_take(struct machine_rings *r, struct machine_queued *out)
{
    pthread_mutex_lock(&r->lock);
    bool found = r->next < r->queued && r->queue[r->next].time < r->complete_ns;
    out->time = r->complete_ns;
    if (found) {
        *out = r->queue[r->next++];
        r->queued_bytes -= out->size;
    }
    pthread_mutex_unlock(&r->lock);
    return found;
}
