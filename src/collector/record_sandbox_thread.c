#include "collector/record_sandbox_thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collector/measure.h"
#include "collector/perf_event.h"

/* ---- its number here ---- */

static int file_open(const struct sandbox_place *at, pid_t tid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "task/%d/%s", tid, name);
    return openat(at->folder, path, O_RDONLY | O_CLOEXEC);
}

static bool has_ended(int error)
{
    return error == ENOENT || error == ESRCH;
}

/* What the thread calls itself: the last number of its line "NSpid:". An errno; ESRCH: it has
 * ended. */
static int number_inside(const struct sandbox_place *at, pid_t tid, int32_t *number)
{
    char line[256];
    int fd = file_open(at, tid, "status");
    FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
    int error = f ? ESRCH : errno;
    *number = 0;
    while (f && !*number && fgets(line, sizeof line, f))
        if (!strncmp(line, "NSpid:", 6)) {
            const char *last = strrchr(line, '\t');
            *number = last ? atoi(last + 1) : 0;
        }
    if (f)
        fclose(f);
    else if (fd >= 0)
        close(fd);
    return *number ? 0 : has_ended(error) ? ESRCH : error;
}

/* A list of the process's threads, in the kernel's order. */
struct thread_list {
    uint64_t hash;
    uint32_t count;
    pid_t found; /* the one that calls itself `inside`; 0: none does */
    int error;   /* why it is not known what one calls itself, 0 */
};

/* The first ones, `most`. An errno. `inside`: 0: nobody is looked for. */
static int threads_list(const struct sandbox_place *at, int32_t inside, uint32_t most,
                        struct thread_list *list)
{
    int fd = openat(at->folder, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    *list = (struct thread_list){0};
    if (!folder) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return error;
    }
    while (!list->found && list->count < most && (entry = readdir(folder)) != NULL) {
        pid_t next = (pid_t)strtol(entry->d_name, NULL, 10);
        int32_t number = 0;
        int failed = inside && next > 0 ? number_inside(at, next, &number) : 0;
        list->hash = (list->hash ^ (uint64_t)next) * UINT64_C(0x100000001b3);
        list->count++;
        if (inside && number == inside)
            list->found = next;
        if (failed && failed != ESRCH)
            list->error = failed;
    }
    closedir(folder);
    return 0;
}

/* The kernel leaves out threads of a list when others before them end meanwhile. The next list
 * lacks those; threads that begin are at its end. So who is not in one that the next one begins
 * with has ended. An errno; EAGAIN: none did. */
static int number_search(const struct sandbox_place *at, int32_t inside, pid_t *tid)
{
    enum { TRIES = 4 };
    struct thread_list list, after;
    for (int i = 0; i < TRIES; i++) {
        int error = threads_list(at, inside, UINT32_MAX, &list);
        *tid = list.found;
        if (!error && !list.found)
            error = list.error ? list.error : threads_list(at, 0, list.count, &after);
        if (error || list.found)
            return has_ended(error) ? ESRCH : error;
        if (list.count == after.count && list.hash == after.hash)
            return ESRCH;
    }
    return EAGAIN;
}

/* An errno; ESRCH: it has ended; EAGAIN: it may have, or not. */
static int number_outside(const struct sandbox_place *at, int32_t inside, pid_t *tid)
{
    int32_t number;
    *tid = 0;
    int error = number_inside(at, inside, &number);
    if (error && error != ESRCH)
        return error;
    if (!error && number == inside) {
        *tid = inside;
        return 0;
    }
    return number_search(at, inside, tid);
}

int sandbox_thread_open(struct sandbox_thread *t, struct spool_thread *record, uint64_t known_ns,
                        const struct sandbox_place *at)
{
    pid_t tid;
    *t = (struct sandbox_thread){
        .record = record, .known_ns = known_ns, .fd = -1, .switches = -1, .account = -1};
    int error = number_outside(at, record->tid, &tid);
    if (error)
        return error;
    t->account = file_open(at, tid, "schedstat");
    return t->account >= 0 ? 0 : has_ended(errno) ? ESRCH : errno;
}

int sandbox_place_check(const struct sandbox_place *at, const struct spool_process *p)
{
    uint32_t cookie = 0;
    struct iovec to = {&cookie, sizeof cookie}, from = {(void *)p->cookie_at, sizeof cookie};
    if (process_vm_readv(at->pid, &to, 1, &from, 1, 0) == (ssize_t)sizeof cookie)
        return cookie == p->cookie ? 0 : ESRCH;
    return errno == EFAULT ? ESRCH : errno;
}

/* ---- its events ---- */

static bool state_change(struct sandbox_thread *t, enum spool_outside from, enum spool_outside to)
{
    uint32_t expected = from;
    return __atomic_compare_exchange_n(&t->record->outside, &expected, to, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

static int event_open(const struct sandbox_thread *t, const struct spool_process *p, pid_t tid,
                      uint32_t type, uint64_t config,
                      uint64_t period)
{
    const struct perf_event event = {
        .type = type,
        .config = config,
        .period = period,
        .value = (uint64_t)p->cookie << 32 | t->record->slot,
        .exclude_kernel = p->exclude_kernel != 0,
    };
    return perf_event_open(&event, tid);
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void events_close(struct sandbox_thread *t)
{
    close_one(&t->fd);
    close_one(&t->switches);
    t->counted_ns = 0;
}

static void name_read(const struct sandbox_thread *t, const struct sandbox_place *at, pid_t tid)
{
    char name[sizeof t->record->name] = "";
    int fd = file_open(at, tid, "comm");
    ssize_t n = fd >= 0 ? read(fd, name, sizeof name - 1) : 0;
    if (fd >= 0)
        close(fd);
    if (n > 0 && name[n - 1] == '\n')
        name[n - 1] = '\0';
    memcpy(t->record->name, name, sizeof name);
}

static bool events_open(struct sandbox_thread *t, const struct spool_config *c,
                        const struct spool_process *p, pid_t tid)
{
    uint64_t multiple = t->record->multiple ? t->record->multiple : 1;
    t->fd = event_open(t, p, tid, c->perf_type, c->perf_config, c->period * multiple);
    if (t->fd >= 0 && c->trigger == TRIGGER_WALL)
        t->switches = event_open(t, p, tid, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 1);
    if (t->fd >= 0 && (c->trigger != TRIGGER_WALL || t->switches >= 0))
        return true;
    int error = errno;
    events_close(t);
    errno = error;
    return false;
}

static void left_out(struct spool_process *p, enum left_reason why)
{
    __atomic_fetch_add(&p->sandbox_threads, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&p->left_out[why], 1, __ATOMIC_RELAXED);
}

void sandbox_thread_refuse(struct spool_thread *record, struct spool_process *p, int error)
{
    uint32_t wanted = OUTSIDE_WANTED;
    if (!__atomic_compare_exchange_n(&record->outside, &wanted, OUTSIDE_REFUSED, false,
                                     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return;
    left_out(p, LEFT_REFUSED);
    if (!p->arm_error)
        p->arm_error = (uint32_t)error;
}

/* The event that has been made, and does not run, is of this thread, in the program that it was to
 * be for: the kernel takes it away with the next one, and the number may have been another
 * process's by then. An errno. */
static int event_check(const struct sandbox_thread *t, const struct spool_process *p,
                       const struct sandbox_place *at, pid_t tid)
{
    int32_t number;
    int error = number_inside(at, tid, &number);
    if (!error && number != t->record->tid)
        error = ESRCH;
    return error ? error : sandbox_place_check(at, p);
}

/* One that has ended is found by its account; one that was not found is looked for again. */
static void arm(struct sandbox_thread *t, const struct spool_config *c, struct spool_process *p,
                const struct sandbox_place *at)
{
    pid_t tid;
    int error = number_outside(at, t->record->tid, &tid);
    if (error == ESRCH || error == EAGAIN)
        return;
    if (!error && !t->record->start_ns)
        t->record->start_ns = monotonic_ns();
    if (!error && !events_open(t, c, p, tid))
        error = errno;
    if (!error)
        error = event_check(t, p, at, tid);
    if (error || !state_change(t, OUTSIDE_WANTED, OUTSIDE_SET)) { /* or it wants it no more */
        events_close(t);
        if (error && error != ESRCH)
            sandbox_thread_refuse(t->record, p, error);
        return;
    }
    name_read(t, at, tid);
    ioctl(t->fd, PERF_EVENT_IOC_ENABLE, 0);
    if (t->switches >= 0)
        ioctl(t->switches, PERF_EVENT_IOC_ENABLE, 0);
}

void sandbox_thread_serve(struct sandbox_thread *t, const struct spool_config *c,
                          struct spool_process *p, const struct sandbox_place *at)
{
    uint32_t state = __atomic_load_n(&t->record->outside, __ATOMIC_SEQ_CST);
    if (state == OUTSIDE_WANTED && t->fd < 0)
        arm(t, c, p, at);
    state = __atomic_load_n(&t->record->outside, __ATOMIC_SEQ_CST);
    if (state != OUTSIDE_LEAVES)
        return;
    sandbox_thread_look(t, c);
    events_close(t);
    state_change(t, OUTSIDE_LEAVES, OUTSIDE_GONE);
}

/* ---- its account ---- */

static void known_add(struct sandbox_thread *t, uint64_t ns)
{
    __atomic_fetch_add(&t->record->cpu_ns, ns, __ATOMIC_RELAXED);
    t->known_ns += ns;
}

/* What the event has counted since the last look, which it still knows when the thread has
 * ended. */
static uint64_t event_count(struct sandbox_thread *t, const struct spool_config *c)
{
    uint64_t count = 0, before = t->counted_ns;
    if (t->fd < 0 || c->perf_type != PERF_TYPE_SOFTWARE ||
        c->perf_config != PERF_COUNT_SW_TASK_CLOCK ||
        read(t->fd, &count, sizeof count) != sizeof count || count < before)
        return 0;
    t->counted_ns = count;
    return count - before;
}

bool sandbox_thread_look(struct sandbox_thread *t, const struct spool_config *c)
{
    char text[128];
    ssize_t n = t->account >= 0 ? pread(t->account, text, sizeof text - 1, 0) : -1;
    int error = errno;
    uint64_t counted = event_count(t, c);
    if (n <= 0 && t->account >= 0 && error != ESRCH)
        return true;
    if (n <= 0) {
        known_add(t, counted);
        return false;
    }
    text[n] = '\0';
    uint64_t ran_ns = strtoull(text, NULL, 10);
    if (ran_ns > t->known_ns)
        known_add(t, ran_ns - t->known_ns);
    return true;
}

void sandbox_thread_close(struct sandbox_thread *t, struct spool_process *p,
                          enum spool_outside state)
{
    uint32_t before = __atomic_load_n(&t->record->outside, __ATOMIC_SEQ_CST);
    events_close(t);
    close_one(&t->account);
    if (state == OUTSIDE_ENDED && !t->record->end_ns)
        t->record->end_ns = monotonic_ns();
    if (before == OUTSIDE_NONE)
        return;
    before = __atomic_exchange_n(&t->record->outside, state, __ATOMIC_SEQ_CST);
    if (before == OUTSIDE_WANTED)
        left_out(p, LEFT_ENDED);
}
