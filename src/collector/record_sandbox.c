#include "collector/record_sandbox.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "collector/measure.h"
#include "collector/outside/outside.h"
#include "collector/process_runs.h"
#include "collector/record_files.h"
#include "collector/record_sandbox_thread.h"

#define LOOK_NS UINT64_C(1000000)     /* where somebody may want a trigger, and not be able to wake us */
#define CHANGES_NS UINT64_C(1000000000) /* ... so long after somebody did; then at each look at accounts */
#define IDLE_NS UINT64_C(100000000)
#define ACCOUNT_NS UINT64_C(10000000) /* from one look at accounts to the next, at least; they take SHARE of the time at most */

enum { LIST_MOST = 1 << 20, SHARE = 50, SEARCHES_MOST = 5, EXECUTES_MOST = 100 };

struct sandbox_process {
    struct sandbox_process *next;
    struct spool_process *record;
    pid_t pid;          /* its number here; 0: it is in no sandbox yet */
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
    return &spool_header(r->spool)->config;
}

static uint32_t *bell_of(const struct sandbox_rounds *r)
{
    return &spool_header(r->spool)->sandbox_bell;
}

/* ---- threads ---- */

/* CPU time that the records of a thread, one for each phase, know of. */
static uint64_t known_of(const struct sandbox_rounds *r, const struct spool_process *p, int32_t tid)
{
    uint64_t sum = 0;
    spool_ref ref = __atomic_load_n(&p->threads, __ATOMIC_ACQUIRE);
    for (unsigned n = 0; n < LIST_MOST; n++) {
        const struct spool_thread *t = spool_at(r->spool, ref, sizeof *t);
        if (!t)
            break;
        if (t->tid == tid && !t->end_ns)
            sum += __atomic_load_n(&t->cpu_ns, __ATOMIC_RELAXED);
        ref = t->next;
    }
    return sum;
}

static bool is_known(const struct sandbox_process *p, int32_t tid)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (p->threads[i].record->tid == tid)
            return true;
    return false;
}

static void thread_add(const struct sandbox_rounds *r, struct sandbox_process *p, struct spool_thread *record)
{
    struct sandbox_thread t;
    if (p->count == p->capacity) {
        uint32_t capacity = p->capacity ? p->capacity * 2 : 8;
        struct sandbox_thread *more = reallocarray(p->threads, capacity, sizeof *more);
        if (!more)
            return;
        p->threads = more;
        p->capacity = capacity;
    }
    if (sandbox_thread_open(&t, record, known_of(r, p->record, record->tid), p->pid))
        p->threads[p->count++] = t;
    else
        sandbox_thread_close(&t, p->record, OUTSIDE_ENDED);
}

static bool has_asked(const struct spool_thread *t)
{
    return __atomic_load_n(&t->outside, __ATOMIC_ACQUIRE) != OUTSIDE_NONE;
}

/* A thread's second record, of another phase, is not one that it asks by. Numbers may be used again: whoever asks is new. */
static void threads_find(struct sandbox_rounds *r, struct sandbox_process *p)
{
    spool_ref newest = __atomic_load_n(&p->record->threads, __ATOMIC_ACQUIRE), ref = newest;
    for (unsigned n = 0; ref != p->newest && n < LIST_MOST; n++) {
        struct spool_thread *t = spool_at(r->spool, ref, sizeof *t);
        if (!t)
            break;
        ref = t->next;
        if (!t->end_ns && (has_asked(t) || !is_known(p, t->tid)))
            thread_add(r, p, t);
    }
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

static void process_free(struct sandbox_process *p, enum spool_outside state)
{
    for (uint32_t i = 0; i < p->count; i++)
        sandbox_thread_close(&p->threads[i], p->record, state);
    if (p->pid && state == OUTSIDE_ENDED && !p->record->end_ns)
        p->record->end_ns = monotonic_ns();
    free(p->threads);
    free(p);
}

static void processes_find(struct sandbox_rounds *r)
{
    spool_ref newest = __atomic_load_n(&spool_header(r->spool)->processes, __ATOMIC_ACQUIRE), ref = newest;
    for (unsigned n = 0; ref != r->newest && n < LIST_MOST; n++) {
        struct spool_process *record = spool_at(r->spool, ref, sizeof *record);
        if (!record)
            break;
        ref = record->next;
        struct sandbox_process *p = calloc(1, sizeof *p);
        if (!p)
            break;
        p->record = record;
        p->next = r->outside;
        r->outside = p;
    }
    r->newest = newest;
}

/* Processes of several PID namespaces may have one number (all of Chromium's renderers have 1). Who may not be read, and has the number
 * here too, is taken for it. */
static bool has_cookie(const void *context, int32_t outside)
{
    const struct spool_process *p = context;
    uint32_t cookie = 0;
    struct iovec to = {&cookie, sizeof cookie}, from = {(void *)p->cookie_at, sizeof cookie};
    if (process_vm_readv(outside, &to, 1, &from, 1, 0) == (ssize_t)sizeof cookie)
        return cookie == p->cookie;
    return errno == EPERM && outside == p->pid;
}

/* True: it has entered one, and can be found. */
static bool enters(struct sandbox_process *p)
{
    if (!__atomic_load_n(&p->record->sandboxed, __ATOMIC_ACQUIRE) || p->searches == SEARCHES_MOST)
        return false;
    p->pid = record_files_outside(p->record->pid, has_cookie, p->record);
    p->searches += !p->pid;
    if (!p->pid)
        return false;
    if (!p->record->start_ns)
        p->record->start_ns = monotonic_ns();
    __atomic_store_n(&p->record->timed, 1, __ATOMIC_RELAXED);
    return true;
}

static void outside_look(struct sandbox_rounds *r)
{
    for (struct sandbox_process **at = &r->outside; *at;) {
        struct sandbox_process *p = *at;
        bool over = __atomic_load_n(&p->record->state, __ATOMIC_ACQUIRE) == PROCESS_EXITED;
        if (!over && !enters(p)) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        if (over) {
            process_free(p, OUTSIDE_ENDED);
            continue;
        }
        p->next = r->inside;
        r->inside = p;
        r->changed_ns = monotonic_ns();
    }
}

/* False: it is over. What comes after it has executed another program is not its own. */
static bool process_serve(struct sandbox_rounds *r, struct sandbox_process *p, bool accounts)
{
    uint32_t state = __atomic_load_n(&p->record->state, __ATOMIC_ACQUIRE);
    threads_find(r, p);
    for (uint32_t i = 0; i < p->count; i++)
        sandbox_thread_serve(&p->threads[i], config_of(r), p->record, p->pid);
    p->executes = state == PROCESS_EXECING ? p->executes + accounts : 0;
    if (state == PROCESS_EXECING)
        return p->executes < EXECUTES_MOST;
    if (accounts || state == PROCESS_EXITED)
        threads_look(r, p);
    return state != PROCESS_EXITED && (!accounts || p->count || process_runs(p->pid));
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
        process_free(p, OUTSIDE_ENDED);
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
    const struct timespec timeout = {.tv_nsec = (long)(!r->inside ? IDLE_NS : changes ? LOOK_NS : ACCOUNT_NS)};
    syscall(SYS_futex, bell_of(r), FUTEX_WAIT, seen, &timeout, NULL, 0);
}

static void *rounds_run(void *context)
{
    struct sandbox_rounds *r = context;
    uint64_t look_ns = 0;
    uint32_t heard = 0;
    for (;;) {
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

static void list_free(struct sandbox_process *p)
{
    while (p) {
        struct sandbox_process *next = p->next;
        process_free(p, OUTSIDE_GONE);
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
    list_free(rounds->inside);
    list_free(rounds->outside);
    free(rounds);
    r->rounds = NULL;
}
