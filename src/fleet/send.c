#include "fleet/send.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fleet/batch.h"
#include "fleet/connect.h"
#include "fleet/schema.h"
#include "fleet/queue.h"
#include "fleet/tsv.h"
#include "fleet/where.h"

enum { KNOWN_MOST = 1 << 20, ID_SIZE = 32, LOOK_MS = 250, WAIT_MOST_MS = 60000, WAIT_MIN_MS = 500 };

/* ---- what the server has ---- */

/* Numbers of frames and stacks of one day. */
struct sent_set {
    uint64_t day;       /* UINT64_MAX: none */
    uint64_t last;      /* the batch that was tried last; UINT64_MAX: none */
    bool made;          /* the tables are there */
    uint32_t count;
    uint64_t slots[2 * KNOWN_MOST]; /* 0: free */
};

struct sent_set *sent_set_new(void)
{
    struct sent_set *s = calloc(1, sizeof *s);
    if (s)
        s->last = s->day = UINT64_MAX;
    return s;
}

void sent_set_free(struct sent_set *s)
{
    free(s);
}

static uint64_t *slot_of(struct sent_set *s, uint64_t number)
{
    size_t at = number % (2 * KNOWN_MOST);
    while (s->slots[at] && s->slots[at] != number)
        at = (at + 1) % (2 * KNOWN_MOST);
    return &s->slots[at];
}

/* One that is too full is emptied: what is sent once more does no harm. */
static void day_begin(struct sent_set *s, uint64_t day)
{
    if (s->day == day && s->count < KNOWN_MOST / 2)
        return;
    memset(s->slots, 0, sizeof s->slots);
    s->count = 0;
    s->day = day;
}

/* The number in a row's second column; 0: there is none. */
static uint64_t row_number(const char *row, const char *end)
{
    const char *tab = memchr(row, '\t', (size_t)(end - row));
    return tab ? strtoull(tab + 1, NULL, 10) : 0;
}

static size_t row_size(const char *row, const char *end)
{
    const char *line = memchr(row, '\n', (size_t)(end - row));
    return (size_t)((line ? line + 1 : end) - row);
}

/* The rows that are not known. */
static void rows_choose(struct sent_set *known, const struct buf *rows, struct buf *out)
{
    const char *at = (const char *)rows->data, *end = at + rows->size;
    for (size_t size; at < end; at += size) {
        size = row_size(at, end);
        uint64_t number = row_number(at, at + size);
        if (!number || !*slot_of(known, number))
            buf_put(out, at, size);
    }
}

static void rows_learn(struct sent_set *known, const struct buf *rows)
{
    const char *at = (const char *)rows->data, *end = at + rows->size;
    for (size_t size; at < end; at += size) {
        size = row_size(at, end);
        uint64_t number = row_number(at, at + size);
        uint64_t *slot = number && known->count < KNOWN_MOST ? slot_of(known, number) : NULL;
        if (slot && !*slot) {
            *slot = number;
            known->count++;
        }
    }
}

/* ---- a batch ---- */

/* Rows that the server does not have yet. Sending one twice makes one of it. */
static bool words_send(struct fleet *f, const char *table, const char *columns,
                       const struct buf *rows, struct sent_set *known, const char *id,
                       struct err *e)
{
    struct buf fresh = {0};
    char query_id[2 * ID_SIZE];
    rows_choose(known, rows, &fresh);
    snprintf(query_id, sizeof query_id, "%s-%s", id, table);
    bool ok = buf_ok(&fresh) || err_set(e, ERR_INTERNAL, "out of memory");
    ok = ok && (!fresh.size || fleet_insert(f, table, columns, query_id, &fresh, e));
    if (ok)
        rows_learn(known, &fresh);
    buf_free(&fresh);
    return ok;
}

struct asked {
    uint64_t number;
    bool answered;
};

static bool number_take(void *context, struct tsv *t, char **fields)
{
    struct asked *to = context;
    *to = (struct asked){tsv_u64(t, fields[0]), true};
    return true;
}

/* One number that the server answers. */
static bool number_ask(struct fleet *f, const struct buf *statement, uint64_t *number,
                       struct err *e)
{
    struct asked asked = {.answered = false};
    bool ok = where_rows(f, statement, 1, number_take, &asked, e);
    *number = asked.number;
    return ok && (asked.answered || err_set(e, ERR_FORMAT, "the store answers no number"));
}

/* Whether the server has the batch. While a query of its name runs nobody knows. */
static bool is_there(struct fleet *f, const struct batch *b, const char *id, bool *there,
                     struct err *e)
{
    struct buf text = {0};
    char day[BATCH_DAY_SIZE];
    uint64_t running = 0, found = 0;
    buf_printf(&text, "SELECT count() FROM system.processes WHERE query_id = '%s'", id);
    bool ok = number_ask(f, &text, &running, e);
    if (ok && running)
        ok = err_set(e, ERR_OUTPUT, "the store still works on a batch that was sent before");
    batch_day(day, b->day);
    text.size = 0;
    buf_printf(&text, "SELECT count() FROM %s.samples WHERE day = '%s' AND kind = %d AND hour = %"
                      PRIu64 " AND host = ", fleet_database(f), day, FLEET_SLOT, b->hour);
    tsv_put_literal(&text, b->host);
    buf_printf(&text, " AND batch = %" PRIu64, b->number);
    ok = ok && number_ask(f, &text, &found, e);
    *there = ok && found;
    buf_free(&text);
    return ok;
}

/* first: nobody has tried to send it, as far as is known. */
static bool batch_send(struct fleet *f, const struct batch *b, bool first, struct sent_set *known,
                       struct err *e)
{
    char id[ID_SIZE];
    bool there = false;
    snprintf(id, sizeof id, "penumbra-%016" PRIx64, b->number);
    if (!first && !is_there(f, b, id, &there, e))
        return false;
    /* A server that went away may have lost what it had not written out. */
    if (!first)
        known->day = UINT64_MAX;
    day_begin(known, b->day);
    return there || (words_send(f, "frames", FLEET_FRAMES_COLUMNS, &b->frames, known, id, e) &&
                     words_send(f, "stacks", FLEET_STACKS_COLUMNS, &b->stacks, known, id, e) &&
                     fleet_insert(f, "samples", FLEET_SAMPLES_COLUMNS, id, &b->samples, e));
}

struct sending {
    struct queue *queue;
    uint64_t above;      /* what comes after this number is sent next */
    struct err passed;   /* why one was passed over */
    bool any;            /* there was one that could be taken */
};

static bool batch_take(struct sending *s, struct queue_batch *file, struct batch *b, struct err *e)
{
    s->any = queue_take(s->queue, s->above, file, e);
    return s->any && batch_read(b, file->data, file->size, e);
}

/* One that cannot be read now, as its disk fails, may be later: it stays, and those after it are
 * sent. A damaged one is removed. */
static bool one_pass(struct sending *s, struct queue_batch *file, struct err *e)
{
    const bool damaged = e->code == ERR_FORMAT;
    s->any = e->code;
    s->above = file->number;
    if (e->code && !damaged && !s->passed.code)
        s->passed = *e;
    if (!damaged)
        *e = (struct err){0};
    queue_let(s->queue, file, damaged);
    return !damaged;
}

static bool one_send(struct fleet *f, struct sending *spool, struct sent_set *known, struct err *e)
{
    struct queue_batch file;
    struct batch b = {.host = NULL};
    if (!batch_take(spool, &file, &b, e)) {
        batch_fini(&b);
        return one_pass(spool, &file, e);
    }
    /* One that was there before us may have been sent; so may one that was tried. */
    bool first = known->last != UINT64_MAX && file.number > known->last, ok = true;
    known->made = known->made || fleet_make(f, e);
    if (known->made) {
        known->last = file.number;
        ok = batch_send(f, &b, first, known, e);
    }
    ok = ok && known->made;
    queue_let(spool->queue, &file, ok);
    batch_fini(&b);
    return ok;
}

bool sender_run(struct fleet *f, const char *folder, struct sent_set *known, struct err *e)
{
    struct sending spool = {.any = true};
    bool ok = queue_open(&spool.queue, folder, UINT64_MAX, e);
    while (ok && spool.any)
        ok = one_send(f, &spool, known, e);
    queue_close(spool.queue);
    return ok && (!spool.passed.code || err_set(e, spool.passed.code, "%s", spool.passed.message));
}

/* ---- the process ---- */

struct sender {
    const struct sender_options *options;
    pid_t child, parent;
};

static void wait_ms(uint32_t ms)
{
    const struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* Nothing is left of what the parent may do, and of its files. */
static bool rights_drop(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_CAP_AMBIENT,
                                                              PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) &&
           !syscall(SYS_capset, &head, none) && !syscall(SYS_close_range, 3u, ~0u, 0u);
}

static void signals_default(void)
{
    sigset_t none;
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_IGN); /* of a terminal: the parent ends us once the spool is empty */
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Digits are times and sizes, which differ from try to try. */
static bool is_same(const char *a, const char *b)
{
    static const char digits[] = "0123456789";
    for (;; a++, b++) {
        a += strspn(a, digits);
        b += strspn(b, digits);
        if (*a != *b || !*a)
            return *a == *b;
    }
}

/* Says what changes: that it fails, once as long as it does so for one reason, and that it does
 * not. */
static void tell(const struct sender_options *o, struct err *said, const struct err *problem)
{
    if (is_same(said->message, problem->message))
        return;
    char text[sizeof problem->message + 64];
    snprintf(text, sizeof text, "%s; batches wait in the spool", problem->message);
    o->say(problem->code ? text : "the store has all again");
    *said = *problem;
}

static void work(const struct sender_options *o)
{
    struct sent_set *known = sent_set_new();
    struct fleet *f = NULL;
    struct err problem = {0}, said = {0};
    uint32_t wait = 0;
    if (known && !fleet_open(&f, &o->fleet, &problem))
        o->say(problem.message);
    while (known && !problem.code) {
        struct err e = {0};
        bool ok = sender_run(f, o->spool, known, &e);
        tell(o, &said, &e);
        wait = ok ? LOOK_MS : !wait || wait == LOOK_MS ? WAIT_MIN_MS : wait * 2;
        wait = wait < WAIT_MOST_MS ? wait : WAIT_MOST_MS;
        wait_ms(wait);
    }
}

static bool start(struct sender *s, struct err *e)
{
    s->parent = getpid();
    s->child = fork();
    if (s->child < 0)
        return err_set_errno(e, ERR_INTERNAL, errno, "cannot start the sender");
    if (s->child)
        return true;
    signals_default();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_NAME, "penumbra-send");
    if (getppid() == s->parent && rights_drop())
        work(s->options);
    _exit(1);
}

struct sender *sender_begin(const struct sender_options *options, struct err *e)
{
    struct sender *s = calloc(1, sizeof *s);
    if (!s) {
        err_set(e, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    s->options = options;
    if (start(s, e))
        return s;
    free(s);
    return NULL;
}

uint64_t sender_cost_ns(struct sender *s)
{
    struct err ignored = {0};
    struct rusage spent;
    struct timespec t = {0};
    clockid_t clock;
    int status;
    if (s->child > 0 && wait4(s->child, &status, WNOHANG, &spent) == s->child)
        s->child = -1;
    if (s->child < 0)
        start(s, &ignored);
    if (s->child > 0 && !clock_getcpuclockid(s->child, &clock))
        clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void sender_end(struct sender *s, uint32_t most_ms)
{
    struct err ignored = {0};
    struct queue *spool = NULL;
    if (!s)
        return;
    bool ok = queue_open(&spool, s->options->spool, UINT64_MAX, &ignored);
    for (uint32_t waited = 0; ok && waited < most_ms; waited += LOOK_MS / 5) {
        uint64_t count, bytes;
        queue_size(spool, &count, &bytes);
        if (!count)
            break;
        wait_ms(LOOK_MS / 5);
    }
    queue_close(spool);
    if (s->child > 0) {
        kill(s->child, SIGTERM);
        waitpid(s->child, NULL, 0);
    }
    free(s);
}
