/* What is sent to a fleet's store and what is read from it: text, batches, the queue on disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "../database/interval.h"
#include "../folder.h"
#include "fleet/batch.h"
#include "fleet/fleet.h"
#include "fleet/naming.h"
#include "fleet/queue.h"
#include "fleet/send.h"
#include "fleet/tsv.h"
#include "fleet/words.h"

#define S INT64_C(1000000000)
#define BEGIN (INT64_C(1795737600) * S) /* 2026-11-27 00:00 UTC */

/* ---- text ---- */

static struct tsv table(char *text, struct err *e)
{
    *e = (struct err){0};
    return (struct tsv){.data = text, .size = strlen(text), .e = e};
}

static void text_comes_back(void **state)
{
    (void)state;
    struct err e;
    char *fields[2];
    static const char hostile[] = "a\tb\nc\\d\re'\"\x1b\xff";
    struct buf b = {0};
    tsv_put_text(&b, hostile);
    buf_puts(&b, "\t\n");
    buf_put_u8(&b, '\0');
    struct tsv t = table((char *)b.data, &e);
    assert_true(tsv_row(&t, fields, 2));
    assert_string_equal(fields[0], hostile);
    assert_string_equal(fields[1], "");
    assert_false(tsv_row(&t, fields, 2));
    assert_false(t.failed);
    b.size = 0;
    tsv_put_literal(&b, "x'; DROP TABLE samples; --\\");
    buf_put_u8(&b, '\0');
    assert_string_equal((char *)b.data, "'x\\'; DROP TABLE samples; --\\\\'");
    buf_free(&b);
}

/* Other tables fail, and say which row. */
static void other_tables_fail(void **state)
{
    (void)state;
    static const char *const wrong[] = {"1\n", "1\t2\t3\n", "1\t2\n3\n", "1\t2\n\n", "1\\0\t2\n",
                                        "1\t2\n3\t4\t", "1"};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct err e;
        char text[32], *fields[2];
        snprintf(text, sizeof text, "%s", wrong[i]);
        struct tsv t = table(text, &e);
        while (tsv_row(&t, fields, 2)) {
        }
        assert_true(t.failed);
        assert_int_equal(e.code, ERR_FORMAT);
        assert_non_null(strstr(e.message, "row"));
    }
}

static void numbers_are_numbers(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "-1", "+1", " 1", "1 ", "0x1", "1.5", "nan",
                                        "18446744073709551616"};
    char nothing[] = "";
    struct err e;
    struct tsv t = table(nothing, &e);
    assert_int_equal(tsv_u64(&t, "18446744073709551615"), UINT64_MAX);
    assert_int_equal(tsv_i64(&t, "-9223372036854775807"), -INT64_MAX);
    assert_false(t.failed);
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        t = table(nothing, &e);
        assert_int_equal(tsv_u64(&t, wrong[i]), 0);
        assert_true(t.failed);
    }
    t = table(nothing, &e);
    tsv_i64(&t, "9223372036854775808");
    assert_true(t.failed);
}

static void lists_are_lists(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "[", "[1", "[1,", "[1,]", "1,2", "[1;2]", "[[1]]"};
    char nothing[] = "";
    struct err e;
    uint64_t value, sum = 0;
    struct tsv t = table(nothing, &e);
    const char *at = "[1,20,300]";
    while (tsv_list(&t, &at, &value))
        sum += value;
    assert_int_equal(sum, 321);
    at = "[]";
    assert_false(tsv_list(&t, &at, &value));
    assert_false(t.failed);
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        t = table(nothing, &e);
        at = wrong[i];
        while (tsv_list(&t, &at, &value)) {
        }
        assert_true(t.failed);
    }
}

/* ---- frames ---- */

/* A build-id, an address or a kind that cannot be are no frames. */
static void frames_are_checked(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "0\t0\t\t/a\t1\t0\tf\t0\n",  "1\t0\txy\t/a\t1\t0\tf\t0\n",
        "1\t0\tabc\t/a\t1\t0\tf\t0\n", "1\t0\t\t/a\t281474976710656\t0\tf\t0\n",
        "1\t0\t\t/a\t1\t281474976710656\tf\t0\n",
        "1\t1\t\t\t99\t0\t\t0\n",    "1\t2\t\t\t0\t0\t\t0\n",
        "1\t300\t\t\t0\t0\t\t0\n",   "1\t0\t\t/a\t1\t0\tf\n",
    };
    char *fields[WORDS_FRAME_FIELDS];
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct err e;
        struct answer a;
        struct words w = {.frames = NULL};
        char text[128];
        snprintf(text, sizeof text, "%s", wrong[i]);
        struct tsv t = table(text, &e);
        assert_true(answer_init(&a));
        assert_false(tsv_row(&t, fields, WORDS_FRAME_FIELDS) && words_frame(&w, &a, &t, fields));
        assert_int_equal(e.code, ERR_FORMAT);
        words_fini(&w);
        answer_fini(&a);
    }
}

/* ---- names that were uploaded ---- */

static void words_of(struct words *w, struct answer *a, const char *rows)
{
    struct err e;
    char text[512], *fields[WORDS_FRAME_FIELDS];
    *w = (struct words){.frames = NULL};
    snprintf(text, sizeof text, "%s", rows);
    struct tsv t = table(text, &e);
    assert_true(answer_init(a));
    while (tsv_row(&t, fields, WORDS_FRAME_FIELDS))
        assert_true(words_frame(w, a, &t, fields));
    assert_false(t.failed);
}

/* In any order; frames that have a name, or are of no build, keep what they have. */
static void innermost_functions_name(void **state)
{
    (void)state;
    static const char *const wanted[] = {"outer", "inner", NULL, "of_host", NULL, "outer"};
    struct err e;
    struct answer a;
    struct words w;
    struct naming n;
    char *fields[NAMING_FIELDS];
    char rows[] = "32\t16\tinner\n16\t64\touter\n16\t64\touter\n80\t0\tnothing\n"
                  "0\t4096\t\n281474976710655\t281474976710655\tfar\n";
    words_of(&w, &a, "1\t0\tabcd\t/a\t79\t0\t\t0\n2\t0\tabcd\t/a\t47\t0\t\t0\n"
                     "3\t0\tabcd\t/a\t80\t0\t\t0\n4\t0\tabcd\t/a\t33\t33\tof_host\t0\n"
                     "5\t0\t\t/b\t20\t0\t\t0\n6\t0\tabcd\t/a\t16\t0\t\t0\n");
    assert_true(naming_begin(&n, &w, &a));
    assert_int_equal(n.count, 4);
    n.run = n.list;
    n.run_count = n.count;
    struct tsv t = table(rows, &e);
    while (tsv_row(&t, fields, NAMING_FIELDS))
        assert_true(naming_row(&n, &t, fields));
    assert_false(t.failed);
    naming_settle(&n);
    for (size_t i = 0; i < w.frame_count; i++) {
        const struct word_frame *f = &w.frames[i];
        const struct profile_names *names = a.p->names;
        if (!wanted[i]) {
            assert_int_equal(f->name, UINT32_MAX);
            continue;
        }
        assert_string_equal(names->strings[names->names[f->name].function], wanted[i]);
        assert_int_equal(f->start, !strcmp(wanted[i], "outer") ? 16 : i == 1 ? 32 : 33);
    }
    naming_fini(&n);
    words_fini(&w);
    answer_fini(&a);
}

static void functions_are_checked(void **state)
{
    (void)state;
    static const char *const wrong[] = {"1\t1\n", "x\t1\tf\n", "1\t-1\tf\n",
                                        "281474976710656\t1\tf\n", "1\t281474976710656\tf\n"};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct err e;
        struct answer a;
        struct words w;
        struct naming n;
        char text[64], *fields[NAMING_FIELDS];
        words_of(&w, &a, "1\t0\tabcd\t/a\t79\t0\t\t0\n");
        assert_true(naming_begin(&n, &w, &a));
        snprintf(text, sizeof text, "%s", wrong[i]);
        struct tsv t = table(text, &e);
        assert_false(tsv_row(&t, fields, NAMING_FIELDS) && naming_row(&n, &t, fields));
        assert_int_equal(e.code, ERR_FORMAT);
        naming_fini(&n);
        words_fini(&w);
        answer_fini(&a);
    }
}

/* A function of each page that it is in; one that no program has is none. */
static void functions_by_page(void **state)
{
    (void)state;
    const struct profile_image image = {.build_id = {0xab, 0xcd}, .build_id_size = 2};
    struct fleet_function f = {.image = &image, .name = "a\tb", .start = 0xfff0, .end = 0x20001};
    struct buf rows = {0};
    assert_true(fleet_function_put(&rows, &f));
    buf_put_u8(&rows, '\0');
    assert_string_equal((char *)rows.data, "abcd\t0\t65520\t65553\ta\\tb\n"
                                           "abcd\t1\t65520\t65553\ta\\tb\n"
                                           "abcd\t2\t65520\t65553\ta\\tb\n");
    rows.size = 0;
    static const uint64_t wrong[][2] = {{5, 5}, {6, 5}, {0, UINT64_C(1) << 48},
                                        {0, UINT64_C(1) << 40}, {UINT64_MAX - 1, UINT64_MAX}};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        f.start = wrong[i][0];
        f.end = wrong[i][1];
        assert_false(fleet_function_put(&rows, &f));
    }
    f = (struct fleet_function){.image = &image, .name = "", .end = 1};
    assert_false(fleet_function_put(&rows, &f));
    assert_int_equal(rows.size, 0);
    buf_free(&rows);
}

/* ---- batches ---- */

static const struct interval_program web = {"web.service", "httpd", "/usr/bin/httpd", 0x2030, 7};

static void batch_bytes(struct buf *bytes, int64_t begin, const struct interval_program *of)
{
    struct err e = {0};
    struct profile *p = interval_make(of, 1);
    const struct store_slot slot = {.begin_ns = begin, .end_ns = begin + 60 * S,
                                    .period_ns = 50000000, .cpus = 2, .lost = 3,
                                    .missed_ns = 2000000};
    bytes->size = 0;
    if (!batch_make(p, p->names, &slot, "host", 99, bytes, &e))
        fail_msg("%s", e.message);
    profile_free(p);
}

static unsigned lines(const struct buf *b)
{
    unsigned count = 0;
    for (size_t i = 0; i < b->size; i++)
        count += b->data[i] == '\n';
    return count;
}

static void batch_comes_back(void **state)
{
    (void)state;
    struct err e = {0};
    struct batch b;
    struct buf bytes = {0};
    batch_bytes(&bytes, BEGIN + 3700 * S, &web);
    assert_true(batch_read(&b, bytes.data, bytes.size, &e));
    assert_int_equal(b.day, BEGIN / S / 86400);
    assert_int_equal(b.hour, BEGIN / S + 3600);
    assert_int_equal(b.number, 99);
    assert_int_equal(b.taken, 7 + 3);
    assert_int_equal(b.covered_us, 60000000 + 2000);
    assert_string_equal(b.host, "host");
    assert_int_equal(lines(&b.frames), 3);
    assert_int_equal(lines(&b.stacks), 1);
    /* A slot, a total and a stack, of the interval and of the hour. */
    assert_int_equal(lines(&b.samples), 6);
    buf_put_u8(&b.samples, '\0');
    assert_non_null(strstr((char *)b.samples.data,
                           "2026-11-27\t0\t1795741200\thost\t\t\t50000\t99\t1795741300000000000\t"
                           "1795741360000000000\t2\t1\t0\t0\t0\t0\t60000000\t3\t2000\t0\n"));
    assert_non_null(strstr((char *)b.samples.data,
                           "2026-11-27\t5\t1795741200\t\tweb.service\thttpd\t0\t0\t0\t0\t2\t0\t7\t"
                           "350000\t17500000000\t0\t0\t0\t0\t0\n"));
    batch_fini(&b);
    buf_free(&bytes);
}

/* Every host gives a stack the same number. */
static void numbers_are_contents(void **state)
{
    (void)state;
    struct err e = {0};
    struct batch a, b, other;
    struct buf bytes = {0};
    struct interval_program elsewhere = web;
    elsewhere.service = "other.service";
    batch_bytes(&bytes, BEGIN, &web);
    assert_true(batch_read(&a, bytes.data, bytes.size, &e));
    batch_bytes(&bytes, BEGIN + 60 * S, &elsewhere);
    assert_true(batch_read(&b, bytes.data, bytes.size, &e));
    elsewhere.leaf = 0x2040;
    batch_bytes(&bytes, BEGIN, &elsewhere);
    assert_true(batch_read(&other, bytes.data, bytes.size, &e));
    assert_int_equal(a.stacks.size, b.stacks.size);
    assert_memory_equal(a.stacks.data, b.stacks.data, a.stacks.size);
    assert_memory_equal(a.frames.data, b.frames.data, a.frames.size);
    assert_true(other.stacks.size != a.stacks.size ||
                memcmp(other.stacks.data, a.stacks.data, a.stacks.size) != 0);
    batch_fini(&a);
    batch_fini(&b);
    batch_fini(&other);
    buf_free(&bytes);
}

/* Cut anywhere, or with a bit that has turned, it is no batch. */
static void damaged_batches(void **state)
{
    (void)state;
    struct buf bytes = {0};
    batch_bytes(&bytes, BEGIN, &web);
    for (size_t i = 0; i < bytes.size; i++) {
        struct err e = {0};
        struct batch b;
        bytes.data[i] ^= 1;
        assert_false(batch_read(&b, bytes.data, bytes.size, &e));
        assert_true(e.code);
        batch_fini(&b);
        bytes.data[i] ^= 1;
        assert_false(batch_read(&b, bytes.data, i, &e));
        batch_fini(&b);
    }
    buf_free(&bytes);
}

static void clocks_that_are_wrong(void **state)
{
    (void)state;
    static const int64_t wrong[] = {-1, -S, INT64_C(4102444800) * S, INT64_MAX - 60 * S};
    struct profile *p = interval_make(&web, 1);
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct err e = {0};
        struct buf bytes = {0};
        const struct store_slot slot = {.begin_ns = wrong[i], .end_ns = wrong[i] + 60 * S,
                                        .period_ns = 50000000};
        assert_false(batch_make(p, p->names, &slot, "host", 1, &bytes, &e));
        assert_int_equal(e.code, ERR_FORMAT);
        buf_free(&bytes);
    }
    profile_free(p);
}

/* ---- the queue ---- */

static struct queue *queue_of(uint64_t most)
{
    struct err e = {0};
    struct queue *q;
    if (!queue_open(&q, folder, most, &e))
        fail_msg("%s", e.message);
    return q;
}

/* Puts the batch of minute i. */
static struct queue_lost put(struct queue *q, int64_t i)
{
    struct err e = {0};
    struct queue_lost lost;
    struct buf bytes = {0};
    batch_bytes(&bytes, BEGIN + i * 60 * S, &web);
    if (!queue_put(q, &bytes, &lost, &e))
        fail_msg("%s", e.message);
    buf_free(&bytes);
    return lost;
}

/* The minute of the oldest one, which is let go. */
static int64_t take(struct queue *q, bool done)
{
    struct err e = {0};
    struct queue_batch file;
    struct batch b;
    if (!queue_take(q, 0, &file, &e))
        return -1;
    assert_true(batch_read(&b, file.data, file.size, &e));
    buf_put_u8(&b.samples, '\0');
    const char *at = strstr((char *)b.samples.data, "\t99\t");
    int64_t minute = (strtoll(at + 4, NULL, 10) - BEGIN) / (60 * S);
    batch_fini(&b);
    queue_let(q, &file, done);
    return minute;
}

static void in_order(void **state)
{
    (void)state;
    folder_clear();
    struct queue *q = queue_of(1 << 30);
    for (int64_t i = 0; i < 12; i++)
        put(q, i);
    assert_int_equal(take(q, false), 0);
    assert_int_equal(take(q, true), 0);
    assert_int_equal(take(q, true), 1);
    queue_close(q);
    /* Another process goes on. */
    q = queue_of(1 << 30);
    put(q, 12);
    for (int64_t i = 2; i <= 12; i++)
        assert_int_equal(take(q, true), i);
    assert_int_equal(take(q, true), -1);
    queue_close(q);
}

/* The oldest go, and are counted; one that is being sent stays. */
static void bounded(void **state)
{
    (void)state;
    struct err e = {0};
    struct buf one = {0};
    struct queue_batch held;
    folder_clear();
    batch_bytes(&one, BEGIN, &web);
    struct queue *q = queue_of(one.size * 3 + one.size / 2);
    uint64_t lost = 0, count, bytes;
    for (int64_t i = 0; i < 3; i++)
        put(q, i);
    assert_true(queue_take(q, 0, &held, &e));
    struct queue *taker = queue_of(1 << 30);
    for (int64_t i = 3; i < 8; i++) {
        struct queue_lost now = put(q, i);
        assert_int_equal(now.taken, now.batches * 10);
        assert_int_equal(now.covered_us, now.batches * 60002000);
        lost += now.batches;
    }
    queue_size(q, &count, &bytes);
    assert_int_equal(count, 3);
    assert_int_equal(lost, 5);
    assert_int_equal(take(taker, true), -1);
    queue_let(q, &held, false);
    assert_int_equal(take(taker, true), 0);
    assert_int_equal(take(taker, true), 6);
    assert_int_equal(take(taker, true), 7);
    /* One that is larger than all of it. */
    struct queue_lost none;
    queue_bound(q, one.size / 2);
    assert_false(queue_put(q, &one, &none, &e));
    assert_int_equal(e.code, ERR_OUTPUT);
    queue_close(q);
    queue_close(taker);
    buf_free(&one);
}

/* No room on the disk: nothing is left of it, and it goes on later. */
static void disk_full(void **state)
{
    (void)state;
    struct err e = {0};
    struct buf one = {0};
    struct queue_lost lost;
    uint64_t count, bytes;
    folder_clear();
    batch_bytes(&one, BEGIN, &web);
    struct queue *q = queue_of(1 << 30);
    struct rlimit before, small;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = one.size / 2;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    bool ok = queue_put(q, &one, &lost, &e);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_false(ok);
    assert_int_equal(e.code, ERR_OUTPUT);
    queue_size(q, &count, &bytes);
    assert_int_equal(count, 0);
    put(q, 5);
    assert_int_equal(take(q, true), 5);
    queue_close(q);
    buf_free(&one);
}

static bool reads_fail;

ssize_t read(int fd, void *to, size_t size)
{
    if (!reads_fail)
        return syscall(SYS_read, fd, to, size);
    errno = EIO;
    return -1;
}

/* A disk that cannot be read now is no damaged batch: those are removed. */
static void unreadable(void **state)
{
    (void)state;
    struct err e = {0};
    struct queue_batch b;
    folder_clear();
    struct queue *q = queue_of(1 << 30);
    put(q, 5);
    put(q, 6);
    reads_fail = true;
    bool ok = queue_take(q, 0, &b, &e);
    reads_fail = false;
    /* The next one can be taken meanwhile. */
    uint64_t broken = b.number;
    queue_let(q, &b, false);
    assert_true(queue_take(q, broken, &b, &(struct err){0}));
    assert_int_equal(b.number, broken + 1);
    queue_let(q, &b, false);
    assert_false(ok);
    assert_true(e.code && e.code != ERR_FORMAT);
    assert_non_null(strstr(e.message, strerror(EIO)));
    assert_int_equal(take(q, true), 5);
    assert_int_equal(take(q, true), 6);
    queue_close(q);
}

/* Other files, links and half-written ones are none of its batches. */
static void strangers(void **state)
{
    (void)state;
    static const char *const names[] = {"new", "1.batch", "000000000000000000001.batch", "x.batch",
                                        "99999999999999999999999.batch"};
    uint64_t count, bytes;
    folder_clear();
    int d = open(folder, O_RDONLY | O_DIRECTORY);
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        close(openat(d, names[i], O_WRONLY | O_CREAT, 0600));
    assert_int_equal(symlinkat("/etc/passwd", d, "00000000000000000001.batch"), 0);
    close(d);
    struct queue *q = queue_of(1 << 30);
    queue_size(q, &count, &bytes);
    assert_int_equal(count, 0);
    assert_int_equal(take(q, true), -1);
    queue_close(q);
}

/* ---- the sender ---- */

static bool forks_fail;
static pid_t forked;

pid_t fork(void)
{
    pid_t (*next)(void);
    *(void **)&next = dlsym(RTLD_NEXT, "fork");
    if (!forks_fail)
        return forked = next();
    errno = EAGAIN;
    return -1;
}

static void say_nothing(const char *message)
{
    (void)message;
}

/* A machine without room for one more process has some later. */
static void sender_comes_back(void **state)
{
    (void)state;
    struct err e = {0};
    siginfo_t ended;
    const struct sender_options options = {.fleet = {.url = "ftp://nowhere"}, .spool = folder,
                                           .say = say_nothing};
    struct sender *s = sender_begin(&options, &e);
    assert_non_null(s);
    pid_t first = forked;
    assert_int_equal(waitid(P_PID, (id_t)first, &ended, WEXITED | WNOWAIT), 0);
    forks_fail = true;
    sender_cost_ns(s);
    sender_cost_ns(s);
    assert_int_equal(forked, first);
    forks_fail = false;
    sender_cost_ns(s);
    assert_int_not_equal(forked, first);
    sender_end(s, 0);
}

/* Shared with the sender. */
static struct {
    volatile unsigned tries, said;
} *seen;

/* Of libcurl: each try takes longer than the one before, which its message says. */
int connect(int fd, const struct sockaddr *to, socklen_t size)
{
    const struct timespec longer = {0, 7000000 * ++seen->tries};
    nanosleep(&longer, NULL);
    return (int)syscall(SYS_connect, fd, to, size);
}

static void say_count(const char *message)
{
    (void)message;
    seen->said++;
}

/* A store that is away is said once, however often it is tried. */
static void away_is_said_once(void **state)
{
    (void)state;
    struct err e = {0};
    const struct timespec moment = {0, 10000000};
    const struct sender_options options = {.fleet = {.url = "http://127.0.0.1:1",
                                                     .timeout_ms = 10000},
                                           .spool = folder, .say = say_count};
    if (!dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL))
        skip();
    folder_clear();
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(seen, MAP_FAILED);
    struct queue *q = queue_of(1 << 30);
    put(q, 1);
    struct sender *s = sender_begin(&options, &e);
    assert_non_null(s);
    while (seen->tries < 3 && !waitpid(forked, NULL, WNOHANG))
        nanosleep(&moment, NULL);
    sender_end(s, 0);
    assert_true(seen->tries >= 3);
    assert_int_equal(seen->said, 1);
    munmap((void *)seen, sizeof *seen);
    queue_close(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_comes_back),  cmocka_unit_test(other_tables_fail),
        cmocka_unit_test(numbers_are_numbers), cmocka_unit_test(lists_are_lists),
        cmocka_unit_test(frames_are_checked), cmocka_unit_test(batch_comes_back),
        cmocka_unit_test(innermost_functions_name),
        cmocka_unit_test(functions_are_checked),
        cmocka_unit_test(functions_by_page),
        cmocka_unit_test(numbers_are_contents), cmocka_unit_test(damaged_batches),
        cmocka_unit_test(clocks_that_are_wrong), cmocka_unit_test(in_order),
        cmocka_unit_test(bounded),          cmocka_unit_test(disk_full),
        cmocka_unit_test(strangers),        cmocka_unit_test(unreadable),
        cmocka_unit_test(sender_comes_back),
        cmocka_unit_test(away_is_said_once),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
