#include "collector/record_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/measure.h"
#include "collector/outside/outside.h"
#include "collector/record_files.h"
#include "collector/record_sandbox_thread.h"
#include "sigsafe/settings.h"

/* Where somebody may want a trigger, and not be able to wake us. */
#define LOOK_NS UINT64_C(1000000)
/* ... so long after somebody did; then at each look at accounts. */
#define CHANGES_NS UINT64_C(1000000000)
#define IDLE_NS UINT64_C(100000000)
/* From one look at accounts to the next, at least; they take SHARE of the time at most. */
#define ACCOUNT_NS UINT64_C(10000000)

enum { LIST_MOST = 1 << 20, SHARE = 50, SEARCHES_MOST = 5, EXECUTES_MOST = 100 };

struct sandbox_process {
    struct sandbox_process *next;
    struct spool_process *record;
    struct sandbox_place at; /* .folder -1: it is in no sandbox yet */
    spool_ref newest;   /* of its threads that are known */
    struct sandbox_thread *threads;
    uint32_t count, capacity;
    uint32_t searches;  /* for that number, that were made in vain */
    uint32_t executes;  /* looks in a row that found it executing another program */
};

struct sandbox_rounds {
    pthread_t thread;
    const struct spool *spool;
    bool stop;                        /* atomic */
    spool_ref newest;                 /* of the spool's processes that are known */
    struct sandbox_process *outside;  /* in no sandbox, so far */
    struct sandbox_process *inside;
    uint64_t account_ns;              /* when accounts are looked at next */
    uint64_t changed_ns;              /* when a thread or a process was found last */
};

static const struct spool_config *config_of(const struct sandbox_rounds *r)
{
    return settings_sampling(r->spool);
}

static uint32_t *bell_of(const struct sandbox_rounds *r)
{
    return &spool_header(r->spool)->sandbox_bell;
}

/* ---- threads ---- */

static bool has_asked(const struct spool_thread *t)
{
    return __atomic_load_n(&t->outside, __ATOMIC_ACQUIRE) != OUTSIDE_NONE;
}

static void thread_add(struct sandbox_process *p, struct spool_thread *record, uint64_t known_ns)
{
    struct sandbox_thread t;
    if (p->count == p->capacity) {
        uint32_t capacity = p->capacity ? p->capacity * 2 : 8;
        struct sandbox_thread *more = reallocarray(p->threads, capacity, sizeof *more);
        if (!more) {
            sandbox_thread_refuse(record, p->record, ENOMEM);
            return;
        }
        p->threads = more;
        p->capacity = capacity;
    }
    int error = sandbox_thread_open(&t, record, known_ns, &p->at);
    if (!error)
        p->threads[p->count++] = t;
    else if (error == ESRCH)
        sandbox_thread_close(&t, p->record, OUTSIDE_ENDED);
    else
        sandbox_thread_refuse(record, p->record, error == EAGAIN ? 0 : error);
}

/* A thread that was there before: what its records, one for each phase, know of its CPU time. */
struct known {
    int32_t tid;
    uint64_t cpu_ns;
    struct spool_thread *newest; /* NULL: it has been found before */
};

static int known_order(const void *a, const void *b)
{
    int32_t x = ((const struct known *)a)->tid, y = ((const struct known *)b)->tid;
    return (x > y) - (x < y);
}

/* Those that have been found, by number. The room is for as many more. */
static struct known *known_make(const struct sandbox_process *p, size_t more, size_t *count)
{
    struct known *known = calloc(p->count + more, sizeof *known);
    *count = 0;
    for (uint32_t i = 0; known && i < p->count; i++)
        known[(*count)++].tid = p->threads[i].record->tid;
    if (known)
        qsort(known, *count, sizeof *known, known_order);
    return known;
}

/* All records of those that end at `stop` and have not asked. A thread's second one, of another
 * phase, is not one that it asks by. Numbers may be used again: whoever asks is new. */
static void silent_find(struct sandbox_rounds *r, struct sandbox_process *p, spool_ref first,
                        spool_ref stop, size_t most)
{
    size_t found, count;
    struct known *known = known_make(p, most, &found);
    if (!known)
        return;
    count = found;
    spool_ref ref = first;
    for (size_t n = 0; ref != stop && n < LIST_MOST; n++) {
        struct spool_thread *t = spool_at(r->spool, ref, sizeof *t);
        if (!t)
            break;
        ref = t->next;
        if (!t->end_ns && !has_asked(t) && count < found + most &&
            !bsearch(&(struct known){.tid = t->tid}, known, found, sizeof *known, known_order))
            known[count++] = (struct known){.tid = t->tid, .newest = t};
    }
    struct known *fresh = known + found;
    size_t kept = 0;
    qsort(fresh, count - found, sizeof *fresh, known_order);
    for (size_t i = 0; i < count - found; i++)
        if (!kept || fresh[kept - 1].tid != fresh[i].tid)
            fresh[kept++] = fresh[i];
    ref = first;
    for (size_t n = 0; kept && n < LIST_MOST; n++) {
        const struct spool_thread *t = spool_at(r->spool, ref, sizeof *t);
        if (!t)
            break;
        ref = t->next;
        struct known *k = t->end_ns ? NULL : bsearch(&(struct known){.tid = t->tid}, fresh, kept,
                                                     sizeof *fresh, known_order);
        if (k)
            k->cpu_ns += __atomic_load_n(&t->cpu_ns, __ATOMIC_RELAXED);
    }
    for (size_t i = 0; i < kept; i++)
        thread_add(p, fresh[i].newest, fresh[i].cpu_ns);
    free(known);
}

static void threads_find(struct sandbox_rounds *r, struct sandbox_process *p)
{
    spool_ref newest = __atomic_load_n(&p->record->threads, __ATOMIC_ACQUIRE), ref = newest;
    size_t silent = 0;
    for (unsigned n = 0; ref != p->newest && n < LIST_MOST; n++) {
        struct spool_thread *t = spool_at(r->spool, ref, sizeof *t);
        if (!t)
            break;
        ref = t->next;
        if (t->end_ns)
            continue;
        if (has_asked(t))
            thread_add(p, t, __atomic_load_n(&t->cpu_ns, __ATOMIC_RELAXED));
        else
            silent++;
    }
    if (silent)
        silent_find(r, p, newest, p->newest, silent);
    if (newest != p->newest)
        r->changed_ns = monotonic_ns();
    p->newest = newest;
}

static void threads_look(const struct sandbox_rounds *r, struct sandbox_process *p)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (sandbox_thread_look(&p->threads[i], config_of(r)))
            p->threads[kept++] = p->threads[i];
        else
            sandbox_thread_close(&p->threads[i], p->record, OUTSIDE_ENDED);
    p->count = kept;
}

/* ---- processes ---- */

/* Those whose threads nobody came to, or that is over; who writes ENDED would say that of threads
 * which may run on. */
static void process_free(const struct sandbox_rounds *r, struct sandbox_process *p, bool is_over)
{
    for (uint32_t i = 0; i < p->count; i++)
        sandbox_thread_close(&p->threads[i], p->record, OUTSIDE_GONE);
    spool_ref ref = __atomic_load_n(&p->record->threads, __ATOMIC_ACQUIRE);
    for (unsigned n = 0; n < LIST_MOST; n++) {
        struct spool_thread *t = spool_at(r->spool, ref, sizeof *t);
        if (!t)
            break;
        ref = t->next;
        sandbox_thread_refuse(t, p->record, 0);
        if (is_over && p->at.folder >= 0 && !t->end_ns)
            t->end_ns = monotonic_ns();
    }
    if (is_over && p->at.folder >= 0 && !p->record->end_ns)
        p->record->end_ns = monotonic_ns();
    if (p->at.folder >= 0)
        close(p->at.folder);
    free(p->threads);
    free(p);
}

static void processes_find(struct sandbox_rounds *r)
{
    spool_ref newest = __atomic_load_n(&spool_header(r->spool)->processes, __ATOMIC_ACQUIRE),
              ref = newest;
    for (unsigned n = 0; ref != r->newest && n < LIST_MOST; n++) {
        struct spool_process *record = spool_at(r->spool, ref, sizeof *record);
        if (!record)
            break;
        ref = record->next;
        struct sandbox_process *p = calloc(1, sizeof *p);
        if (!p)
            break;
        p->record = record;
        p->at.folder = -1;
        p->next = r->outside;
        r->outside = p;
    }
    r->newest = newest;
}

/* Processes of several PID namespaces may have one number (all of Chromium's renderers have 1). Who
 * may not be read, and has the number here too, is taken for it: its CPU time can be seen, but no
 * trigger of its be set. */
static bool has_cookie(const void *context, int32_t outside)
{
    const struct spool_process *p = context;
    const struct sandbox_place at = {-1, outside};
    int error = sandbox_place_check(&at, p);
    return !error || (error == EPERM && outside == p->pid);
}

/* Its folder is opened before it is known to be the one. An errno. */
static int place_open(struct sandbox_place *at, const struct spool_process *p, pid_t pid)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d", pid);
    *at = (struct sandbox_place){open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), pid};
    if (at->folder < 0)
        return errno;
    if (has_cookie(p, pid))
        return 0;
    close(at->folder);
    at->folder = -1;
    return ESRCH;
}

/* True: it has entered one, and can be found. */
static bool enters(struct sandbox_process *p)
{
    if (!__atomic_load_n(&p->record->sandboxed, __ATOMIC_ACQUIRE) || p->searches == SEARCHES_MOST)
        return false;
    pid_t pid = record_files_outside(p->record->pid, has_cookie, p->record);
    if (!pid || place_open(&p->at, p->record, pid)) {
        p->searches++;
        return false;
    }
    if (!p->record->start_ns)
        p->record->start_ns = monotonic_ns();
    __atomic_store_n(&p->record->timed, 1, __ATOMIC_RELAXED);
    return true;
}

/* A child that shares its memory may have said that it has exited, which is known when it has been
 * found. */
static void outside_look(struct sandbox_rounds *r)
{
    for (struct sandbox_process **at = &r->outside; *at;) {
        struct sandbox_process *p = *at;
        bool exited = __atomic_load_n(&p->record->state, __ATOMIC_ACQUIRE) == PROCESS_EXITED,
             found = enters(p);
        if (!exited && !found) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        if (!found) {
            process_free(r, p, true);
            continue;
        }
        p->next = r->inside;
        r->inside = p;
        r->changed_ns = monotonic_ns();
    }
}

/* Nobody of it runs: it is not there, or waits for its parent, and alone. What cannot be read is
 * not known. */
static bool is_over(const struct sandbox_place *at)
{
    enum { STATE = 3, THREADS = 20 };
    char text[512];
    int fd = openat(at->folder, "stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ESRCH;
    ssize_t n = read(fd, text, sizeof text - 1);
    bool gone = n < 0 && errno == ESRCH;
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *field = strrchr(text, ')');
    if (!field || field[1] != ' ' || (field[2] != 'Z' && field[2] != 'X'))
        return gone;
    for (int i = STATE - 1; field && i < THREADS; i++)
        field = strchr(field + 1, ' ');
    return field && strtol(field, NULL, 10) <= 1;
}

/* False: it is over. What comes after it has executed another program is not its own; to find that
 * out may take it long. */
static bool process_serve(struct sandbox_rounds *r, struct sandbox_process *p, bool accounts)
{
    uint32_t state = __atomic_load_n(&p->record->state, __ATOMIC_ACQUIRE);
    threads_find(r, p);
    for (uint32_t i = 0; i < p->count; i++)
        sandbox_thread_serve(&p->threads[i], config_of(r), p->record, &p->at);
    p->executes = state == PROCESS_EXECING ? p->executes + accounts : 0;
    if (state == PROCESS_EXECING)
        return p->executes < EXECUTES_MOST || !sandbox_place_check(&p->at, p->record);
    if (accounts || state == PROCESS_EXITED)
        threads_look(r, p);
    return !accounts || !is_over(&p->at);
}

static void inside_serve(struct sandbox_rounds *r)
{
    uint64_t now = monotonic_ns();
    bool accounts = now >= r->account_ns;
    for (struct sandbox_process **at = &r->inside; *at;) {
        struct sandbox_process *p = *at;
        if (process_serve(r, p, accounts)) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        process_free(r, p, true);
    }
    if (!accounts)
        return;
    uint64_t took = monotonic_ns() - now;
    r->account_ns = now + (took * SHARE > ACCOUNT_NS ? took * SHARE : ACCOUNT_NS);
}

/* ---- rounds ---- */

static void wait_for_bell(const struct sandbox_rounds *r, uint32_t seen)
{
    bool changes = monotonic_ns() - r->changed_ns < CHANGES_NS;
    const struct timespec timeout =
        {.tv_nsec = (long)(!r->inside ? IDLE_NS : changes ? LOOK_NS : ACCOUNT_NS)};
    syscall(SYS_futex, bell_of(r), FUTEX_WAIT, seen, &timeout, NULL, 0);
}

static void *rounds_run(void *context)
{
    struct sandbox_rounds *r = context;
    uint64_t look_ns = 0;
    uint32_t heard = 0;
    for (;;) {
        uint32_t *deaf = &spool_header(r->spool)->sandbox_deaf;
        if (__atomic_load_n(deaf, __ATOMIC_RELAXED))
            __atomic_store_n(deaf, 0, __ATOMIC_RELAXED);
        bool last = __atomic_load_n(&r->stop, __ATOMIC_ACQUIRE);
        uint32_t seen = __atomic_load_n(bell_of(r), __ATOMIC_ACQUIRE);
        uint64_t now = monotonic_ns();
        if (seen != heard || now >= look_ns || last) {
            processes_find(r);
            outside_look(r);
            look_ns = now + IDLE_NS;
            heard = seen;
        }
        r->account_ns = last ? 0 : r->account_ns;
        inside_serve(r);
        if (last)
            return NULL;
        wait_for_bell(r, seen);
    }
}

bool record_sandbox_start(struct record_sandbox *r, const struct spool *s, struct err *e)
{
    sigset_t all, before;
    struct sandbox_rounds *rounds = calloc(1, sizeof *rounds);
    if (!rounds)
        return err_set(e, ERR_INTERNAL, "out of memory");
    outside_descriptors_allow();
    rounds->spool = s;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&rounds->thread, NULL, rounds_run, rounds);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0) {
        r->rounds = rounds;
        return true;
    }
    free(rounds);
    return err_set_errno(e, ERR_INTERNAL, error, "cannot make a thread that looks after sandboxes");
}

static void list_free(const struct sandbox_rounds *r, struct sandbox_process *p)
{
    while (p) {
        struct sandbox_process *next = p->next;
        process_free(r, p, false);
        p = next;
    }
}

void record_sandbox_stop(struct record_sandbox *r)
{
    struct sandbox_rounds *rounds = r->rounds;
    if (!rounds)
        return;
    __atomic_store_n(&rounds->stop, true, __ATOMIC_RELEASE);
    __atomic_fetch_add(bell_of(rounds), 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, bell_of(rounds), FUTEX_WAKE, 1, NULL, NULL, 0);
    pthread_join(rounds->thread, NULL);
    list_free(rounds, rounds->inside);
    list_free(rounds, rounds->outside);
    free(rounds);
    r->rounds = NULL;
}
