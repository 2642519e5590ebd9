/* One look at one thread. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/measure.h"
#include "collector/outside/outside_process.h"

/* What the scheduler says of a thread (/proc/TID/schedstat). */
struct account {
    uint64_t ran_ns, ready_ns, turns;
};

static int file_open(const struct outside_process *p, pid_t tid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", p->pid, tid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static bool file_read(int fd, char *text, size_t size)
{
    ssize_t n = fd >= 0 ? pread(fd, text, size - 1, 0) : -1;
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* errno tells why not. */
static bool file_read_once(const struct outside_process *p, pid_t tid, const char *name, char *text,
                           size_t size)
{
    int fd = file_open(p, tid, name);
    bool ok = file_read(fd, text, size);
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return ok;
}

/* A program may have more threads than we may have descriptors. */
static bool account_read(const struct outside_process *p, const struct outside_thread *t,
                         struct account *a)
{
    char text[128];
    bool ok = t->schedstat >= 0 ? file_read(t->schedstat, text, sizeof text)
                                : file_read_once(p, t->tid, "schedstat", text, sizeof text);
    return ok && sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &a->ran_ns, &a->ready_ns,
                        &a->turns) == 3;
}

/* The last two fields are the stack pointer and the instruction pointer; a thread that runs has
 * only one, "running". */
static bool registers_parse(const char *text, struct unwind_regs *regs)
{
    const char *pc = strrchr(text, ' '), *sp = pc;
    while (sp && sp > text && *--sp != ' ')
        ;
    if (!pc || sp <= text)
        return false;
    memset(regs, 0, sizeof *regs);
    regs->r[UNWIND_RSP] = strtoull(sp, NULL, 16);
    regs->r[UNWIND_RIP] = strtoull(pc, NULL, 16);
    return regs->r[UNWIND_RIP] != 0;
}

static void refused(struct outside_tools *tools, int error)
{
    tools->unseen.refused++;
    tools->unseen.error = error;
}

enum look { LOOK_DONE, LOOK_MOVED, LOOK_RUNS, LOOK_NOT };

/* Its registers, and the innermost pages of its stack. What is read before the account tells that
 * it has not moved is as it was in the wait. */
static enum look wait_read(struct outside_tools *tools, const struct outside_process *p,
                           struct outside_thread *t, struct unwind_regs *regs)
{
    char text[256];
    struct account before, after;
    int fd = file_open(p, t->tid, "syscall"), error = errno;
    bool told = account_read(p, t, &before), read = told && file_read(fd, text, sizeof text);
    if (fd >= 0 && told && !read)
        error = errno;
    if (fd >= 0)
        close(fd);
    if (told && !read && error != ESRCH && error != ENOENT)
        refused(tools, error);
    if (!read)
        return LOOK_NOT;
    if (!registers_parse(text, regs))
        return LOOK_RUNS;
    outside_memory_begin(&tools->memory, p->pid);
    outside_memory_ahead(&tools->memory, regs->r[UNWIND_RSP]);
    t->turns = before.turns;
    return account_read(p, t, &after) && after.turns == before.turns ? LOOK_DONE : LOOK_MOVED;
}

static bool has_moved(const struct outside_process *p, const struct outside_thread *t)
{
    struct account now;
    return !account_read(p, t, &now) || now.turns != t->turns;
}

/* Walks its stack and adds the path. */
static enum look wait_look(struct outside_tools *tools, const struct outside_process *p,
                           struct outside_thread *t, uint32_t phase)
{
    struct unwind_regs regs;
    enum look look = wait_read(tools, p, t, &regs);
    if (look != LOOK_DONE)
        return look;
    struct unwind_result walk =
        unwind_walk_as(&tools->unwind, p->index, &regs, tools->frames, tools->frames_max);
    if (tools->memory.later && has_moved(p, t))
        return LOOK_MOVED;
    int error = tools->memory.error;
    if (error == EPERM || error == EACCES) {
        refused(tools, error);
        return LOOK_NOT;
    }
    struct spool_thread *record = outside_record(tools, p, t, phase);
    t->node = record ? outside_path_add(tools, t, record, &walk) : 0;
    t->node_phase = phase;
    t->truncation = walk.truncation;
    t->guessed = walk.guessed;
    return t->node ? LOOK_DONE : LOOK_NOT;
}

/* A wait may be shorter than a look, or be over just now. Then the next one is looked at, which is
 * likely to be of the same kind: if what short waits last were left for a later look to charge, it
 * would find a long one. False: it cannot be seen. */
static bool stack_look(struct outside_tools *tools, const struct outside_process *p,
                       struct outside_thread *t, uint32_t phase)
{
    enum { TRIES = 16 };
    bool owes = t->waited >= (int64_t)tools->period;
    enum look look = p->index ? LOOK_MOVED : LOOK_NOT;
    for (int i = 0; i < TRIES && (look == LOOK_MOVED || (look == LOOK_RUNS && owes)); i++)
        look = wait_look(tools, p, t, phase);
    tools->unseen.moved += look == LOOK_MOVED;
    return look == LOOK_DONE;
}

static uint64_t whole_periods(const struct outside_tools *tools, uint64_t *ns)
{
    uint64_t periods = *ns / tools->period;
    *ns %= tools->period;
    return periods;
}

static uint64_t periods_waited(const struct outside_tools *tools, struct outside_thread *t)
{
    uint64_t periods = t->waited > 0 ? (uint64_t)t->waited / tools->period : 0;
    t->waited -= (int64_t)(periods * tools->period);
    return periods;
}

static void charge_ready(struct outside_tools *tools, const struct outside_process *p,
                         struct outside_thread *t, uint32_t phase)
{
    struct spool_thread *record =
        t->stood >= tools->period ? outside_record(tools, p, t, phase) : NULL;
    if (!record)
        return;
    uint64_t periods = whole_periods(tools, &t->stood);
    outside_charge_unattributed(tools, t, record, periods);
    tools->unseen.ready += periods;
}

static void time_pass(struct outside_thread *t, const struct account *a, uint64_t now)
{
    uint64_t passed = now > t->seen_ns ? now - t->seen_ns : 0;
    uint64_t ran = a->ran_ns - t->ran_ns, ready = a->ready_ns - t->ready_ns;
    t->stood += ready;
    t->waited += (int64_t)(passed - ran - ready);
    t->seen_ns = now;
    t->ran_ns = a->ran_ns;
    t->ready_ns = a->ready_ns;
}

bool outside_thread_look(struct outside_tools *tools, const struct outside_process *p,
                         struct outside_thread *t, uint64_t now)
{
    struct account a;
    if (!account_read(p, t, &a))
        return errno != ESRCH && errno != ENOENT;
    time_pass(t, &a, now);
    uint32_t phase = outside_phase_now(tools->spool, p->record);
    bool still = t->node && t->turns == a.turns && t->node_phase == phase;
    t->turns = a.turns;
    charge_ready(tools, p, t, phase);
    if (!still) {
        t->node = 0;
        if (!stack_look(tools, p, t, phase))
            return true;
    }
    struct spool_thread *record = outside_record(tools, p, t, phase);
    if (record)
        outside_charge(tools, t, record, periods_waited(tools, t));
    return true;
}

struct outside_thread *outside_thread_open(const struct outside_process *p, pid_t tid,
                                           uint64_t began, uint64_t ran_ns)
{
    struct outside_thread *t = calloc(1, sizeof *t);
    struct account a = {0, 0, 0};
    if (!t)
        return NULL;
    t->tid = tid;
    t->schedstat = file_open(p, tid, "schedstat");
    t->seen_ns = began;
    account_read(p, t, &a);
    t->ran_ns = ran_ns == OUTSIDE_RAN_AS_NOW ? a.ran_ns : ran_ns;
    /* More than there has been since then it was before. */
    if (ran_ns == OUTSIDE_RAN_AS_NOW || a.ready_ns > monotonic_ns() - began)
        t->ready_ns = a.ready_ns;
    return t;
}

static bool is_ours(const struct outside_thread *t, const struct spool_thread *record)
{
    for (unsigned i = 0; i < t->phase_count; i++)
        if (t->phases[i].record == record)
            return true;
    return false;
}

/* When the thread has ended, and how much it had run, as the runtime has noted it; 0: it has
 * not. */
static uint64_t ending_find(const struct spool *s, const struct outside_process *p,
                            const struct outside_thread *t, uint64_t *ran_ns)
{
    enum { LATEST = 4096 };
    uint64_t end = 0;
    spool_ref ref = __atomic_load_n(&p->record->threads, __ATOMIC_ACQUIRE);
    *ran_ns = 0;
    for (unsigned n = 0; n < LATEST; n++) {
        const struct spool_thread *record = spool_at(s, ref, sizeof *record);
        if (!record)
            break;
        ref = record->next;
        if (record->tid != t->tid || is_ours(t, record))
            continue;
        *ran_ns += record->cpu_ns;
        if (record->end_ns > end)
            end = record->end_ns;
    }
    return end;
}

/* What has passed since the last look. Returns when it ended. */
static uint64_t time_end(const struct outside_tools *tools, const struct outside_process *p,
                         struct outside_thread *t)
{
    uint64_t ran, end = ending_find(tools->spool, p, t, &ran);
    uint64_t paused = __atomic_load_n(&p->record->paused_ns, __ATOMIC_RELAXED);
    if (!end || end < t->seen_ns + paused)
        return t->seen_ns + paused;
    uint64_t passed = end - paused - t->seen_ns;
    ran = ran > t->ran_ns ? ran - t->ran_ns : 0;
    t->waited += passed > ran ? (int64_t)(passed - ran) : 0;
    return end;
}

void outside_thread_close(struct outside_tools *tools, const struct outside_process *p,
                          struct outside_thread *t)
{
    uint64_t end = time_end(tools, p, t);
    uint32_t phase = outside_phase_now(tools->spool, p->record);
    uint64_t periods = periods_waited(tools, t);
    struct spool_thread *record = periods ? outside_record(tools, p, t, phase) : NULL;
    if (record && t->node && t->node_phase == phase) {
        outside_charge(tools, t, record, periods);
    } else if (record) {
        outside_charge_unattributed(tools, t, record, periods);
        tools->unseen.elsewhere += periods;
    }
    for (unsigned i = 0; i < t->phase_count; i++)
        t->phases[i].record->end_ns = end;
    if (t->schedstat >= 0)
        close(t->schedstat);
    free(t->phases);
    free(t);
}
