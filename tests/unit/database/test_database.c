/* The profile database: what goes in comes out, whatever the clock, the disk and names do. */
#include "database/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "database/counts.h"
#include "database/dictionary.h"
#include "interval.h"
#include "../folder.h"

#define S INT64_C(1000000000)
#define HOUR (3600 * S)
#define DAY (24 * HOUR)
/* 2026-11-27 00:00 UTC */
#define MIDNIGHT (INT64_C(1795737600) * S)
#define PERIOD UINT64_C(50000000)

static char path[128];

static struct store *open_it(enum store_mode mode)
{
    struct store *s;
    struct err e = {0};
    bool unclean;
    if (!store_open(&s, path, mode, &e))
        fail_msg("%s", e.message);
    if (mode == STORE_MAKE)
        assert_true(store_run_begin(s, "host", MIDNIGHT, &unclean, &e));
    return s;
}

static struct store *make_it(void)
{
    folder_clear();
    return open_it(STORE_MAKE);
}

static const struct interval_program web = {"web.service", "httpd", "/usr/bin/httpd", 0x2030, 7};
static const struct interval_program base = {"db.service", "sqld", "/usr/bin/sqld", 0x2040, 5};

static bool put_at(struct store *s, const struct interval_program *list, uint32_t count,
                   int64_t begin, uint64_t period, struct err *e)
{
    struct profile *p = interval_make(list, count);
    const struct store_slot slot = {.begin_ns = begin, .end_ns = begin + 60 * S,
                                    .period_ns = period, .cpus = 2, .lost = 1, .cost_ns = 1000};
    bool ok = store_put(s, p, &slot, e);
    profile_free(p);
    return ok;
}

static void put(struct store *s, const struct interval_program *list, uint32_t count,
                int64_t begin)
{
    struct err e = {0};
    if (!put_at(s, list, count, begin, PERIOD, &e))
        fail_msg("%s", e.message);
}

static struct profile *get(struct store *s, const struct store_query *q,
                           struct store_range *range)
{
    struct err e = {0};
    struct profile *p = store_get(s, q, range, &e);
    if (!p)
        assert_int_equal(e.code, ERR_NOT_FOUND);
    return p;
}

static uint64_t weight(struct store *s, const struct store_query *q)
{
    struct store_range range;
    struct profile_totals t = {0};
    struct profile *p = get(s, q, &range);
    if (p)
        profile_totals(p, &t);
    profile_free(p);
    return t.weight;
}

static const struct store_query all = {.from_ns = INT64_MIN, .to_ns = INT64_MAX};

static void problem_told(void *context, const char *problem)
{
    (void)problem;
    ++*(unsigned *)context;
}

static unsigned problems(struct store *s)
{
    unsigned count = 0;
    struct err e = {0};
    assert_true(store_check(s, problem_told, &count, &e));
    return count;
}

/* ---- what goes in comes out ---- */

static void comes_out(void **state)
{
    (void)state;
    const struct interval_program both[] = {web, base};
    struct store *s = make_it();
    struct store_range range;
    struct stat st;
    put(s, both, 2, MIDNIGHT);
    put(s, &web, 1, MIDNIGHT + 60 * S);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    struct profile *p = get(s, &all, &range);
    assert_int_equal(range.slots, 2);
    assert_int_equal(range.covered_ns, 120 * S);
    assert_int_equal(p->process_count, 2);
    assert_string_equal(p->processes[0].name, "httpd");
    assert_string_equal(p->processes[0].command, "web.service");
    assert_int_equal(p->threads[0].weight, 14);
    assert_int_equal(p->threads[0].node_count, INTERVAL_NODES);
    assert_int_equal(p->threads[0].nodes[3].self, 14);
    assert_int_equal(p->threads[0].nodes[3].offset, web.leaf);
    assert_int_equal(p->threads[1].weight, 5);
    assert_int_equal(p->drops[DROP_LOST], 2);
    assert_int_equal(p->metrics[0].period, PERIOD);
    assert_true(profile_names_good(p->names, p->image_count));
    /* 0x2030 was not named, but lies between two places of one function. */
    const struct profile_named_place *named = profile_names_find(p->names, 0, web.leaf);
    assert_non_null(named);
    assert_string_equal(p->names->strings[p->names->names[named->name].function], "work");
    size_t size;
    struct err e = {0};
    uint8_t *bytes = profile_encode(p, &size, &e);
    assert_non_null(bytes);
    struct profile *again = profile_read_memory(bytes, size, "query", &e);
    assert_non_null(again);
    profile_free(again);
    free(bytes);
    profile_free(p);
    assert_int_equal(problems(s), 0);
    store_close(s);
}

/* Its dictionary goes on where it was. */
static void goes_on(void **state)
{
    (void)state;
    struct store *s = make_it();
    put(s, &web, 1, MIDNIGHT);
    store_close(s);
    s = open_it(STORE_MAKE);
    const struct interval_program both[] = {web, base};
    put(s, both, 2, MIDNIGHT + 60 * S);
    store_close(s);
    s = open_it(STORE_READ);
    assert_int_equal(weight(s, &all), 19);
    assert_int_equal(problems(s), 0);
    store_close(s);
}

static void filters(void **state)
{
    (void)state;
    const struct interval_program both[] = {web, base};
    struct store *s = make_it();
    put(s, both, 2, MIDNIGHT);
    put(s, both, 2, MIDNIGHT + HOUR);
    struct store_query q = all;
    q.service = "web.service";
    assert_int_equal(weight(s, &q), 14);
    q.program = "sqld";
    assert_int_equal(weight(s, &q), 0);
    q = all;
    q.binary = "sqld";
    assert_int_equal(weight(s, &q), 10);
    q = all;
    q.function = "wor";
    assert_int_equal(weight(s, &q), 24);
    q.function = "nothing";
    assert_int_equal(weight(s, &q), 0);
    q = all;
    q.from_ns = MIDNIGHT + HOUR;
    assert_int_equal(weight(s, &q), 12);
    q.to_ns = MIDNIGHT + HOUR;
    assert_int_equal(weight(s, &q), 0);
    /* A slot is where its middle is: ranges side by side have it once. */
    q.to_ns = MIDNIGHT + HOUR + 30 * S;
    assert_int_equal(weight(s, &q), 0);
    q.from_ns = q.to_ns;
    q.to_ns++;
    assert_int_equal(weight(s, &q), 12);
    q = all;
    q.host = "another";
    assert_int_equal(weight(s, &q), 0);
    store_close(s);
}

/* Two addresses of one function are one node. */
static void folds(void **state)
{
    (void)state;
    struct interval_program other = web;
    struct store *s = make_it();
    struct store_range range;
    struct store_query q = all;
    other.leaf = 0x2050;
    put(s, &web, 1, MIDNIGHT);
    put(s, &other, 1, MIDNIGHT + 60 * S);
    struct profile *p = get(s, &q, &range);
    assert_int_equal(p->threads[0].node_count, 5);
    profile_free(p);
    q.fold = true;
    p = get(s, &q, &range);
    assert_int_equal(p->threads[0].node_count, 4);
    assert_int_equal(p->threads[0].nodes[3].self, 14);
    assert_int_equal(p->threads[0].nodes[3].offset, INTERVAL_WORK);
    profile_free(p);
    /* Between the last address of main and the first one of work it may be in either. */
    other.leaf = 0x1900;
    put(s, &other, 1, MIDNIGHT + 120 * S);
    p = get(s, &q, &range);
    assert_int_equal(p->threads[0].node_count, 5);
    assert_int_equal(p->threads[0].nodes[3].offset, 0x1900);
    assert_null(profile_names_find(p->names, p->threads[0].nodes[3].image, 0x1900));
    profile_free(p);
    store_close(s);
}

/* Many images with a function at one address, which each calls by another name. */
static void many_names(void **state)
{
    (void)state;
    enum { IMAGES = 100, LEAF = 0x3010, START = 0x3000, TEXT = 32 };
    static char paths[IMAGES][TEXT];
    static struct interval_program programs[IMAGES];
    struct err e = {0};
    struct store *s = make_it();
    struct store_range range;
    for (uint32_t i = 0; i < IMAGES; i++) {
        snprintf(paths[i], TEXT, "/bin/%u", i);
        programs[i] = (struct interval_program){"many", paths[i] + 5, paths[i], LEAF, 1};
    }
    struct profile *p = interval_make(programs, IMAGES);
    for (uint32_t i = 0; i < IMAGES; i++) {
        const struct profile_name name = {
            .function = profile_names_string(p->names, paths[i] + 5), .start = START};
        profile_names_place(p->names, i, LEAF, profile_names_add(p->names, &name));
    }
    const struct store_slot slot = {.begin_ns = MIDNIGHT, .end_ns = MIDNIGHT + 60 * S,
                                    .period_ns = PERIOD, .cpus = 2};
    assert_true(store_put(s, p, &slot, &e));
    profile_free(p);
    struct store_query q = all;
    q.fold = true;
    p = get(s, &q, &range);
    assert_int_equal(p->thread_count, IMAGES);
    for (uint32_t i = 0; i < IMAGES; i++) {
        const struct profile_node *n = &p->threads[i].nodes[3];
        const struct profile_named_place *place = profile_names_find(p->names, n->image, START);
        assert_int_equal(n->offset, START);
        assert_non_null(place);
        assert_string_equal(p->names->strings[p->names->names[place->name].function],
                            p->images[n->image].path + 5);
    }
    profile_free(p);
    store_close(s);
}

/* Generated code without a name is one node, wherever it was. */
static void generated(void **state)
{
    (void)state;
    struct err e = {0};
    struct store *s = make_it();
    struct store_range range;
    for (int64_t i = 0; i < 2; i++) {
        struct profile *p = interval_make(&web, 1);
        struct profile_node *leaf = &p->threads[0].nodes[3];
        leaf->image = PROFILE_IMAGE_NONE;
        leaf->offset = 0x7f0000001000 + (uint64_t)i * 0x1000;
        const struct store_slot slot = {.begin_ns = MIDNIGHT + i * 60 * S,
                                        .end_ns = MIDNIGHT + (i + 1) * 60 * S,
                                        .period_ns = PERIOD, .cpus = 2};
        assert_true(store_put(s, p, &slot, &e));
        profile_free(p);
    }
    struct profile *p = get(s, &all, &range);
    assert_int_equal(p->threads[0].node_count, 4);
    const struct profile_entity *entity = profile_entity_find(p, p->threads[0].nodes[3].offset);
    assert_non_null(entity);
    assert_string_equal(entity->name, "(generated code)");
    profile_free(p);
    store_close(s);
}

/* A sample of twice the period weighs twice as much. */
static void periods(void **state)
{
    (void)state;
    struct err e = {0};
    struct store *s = make_it();
    struct store_range range;
    assert_true(put_at(s, &web, 1, MIDNIGHT, PERIOD, &e));
    assert_true(put_at(s, &web, 1, MIDNIGHT + 60 * S, 2 * PERIOD, &e));
    struct profile *p = get(s, &all, &range);
    assert_int_equal(p->metrics[0].period, PERIOD);
    assert_int_equal(p->threads[0].taken, 14);
    assert_int_equal(p->threads[0].weight, 21);
    assert_int_equal(p->threads[0].weight_squares, 7 + 4 * 7);
    assert_int_equal(p->threads[0].nodes[3].self, 21);
    profile_free(p);
    /* Those of an hour become one slot of each period, and a total of each. */
    assert_true(put_at(s, &web, 1, MIDNIGHT + 120 * S, PERIOD, &e));
    assert_true(put_at(s, &web, 1, MIDNIGHT + 180 * S, 2 * PERIOD, &e));
    for (int64_t later = 5 * HOUR; later < 3 * DAY; later += 2 * DAY) {
        const struct store_bounds none = {0};
        struct store_kept done;
        assert_true(store_keep(s, &none, MIDNIGHT + later, &done, &e));
        p = get(s, &all, &range);
        assert_int_equal(range.slots, 2);
        assert_int_equal(p->threads[0].taken, 28);
        assert_int_equal(p->threads[0].weight, 42);
        assert_int_equal(p->threads[0].nodes[3].self, 42);
        profile_free(p);
    }
    store_close(s);
}

/* ---- clocks ---- */

static void clock_goes_back(void **state)
{
    (void)state;
    const struct interval_program both[] = {web, base};
    struct store *s = make_it();
    put(s, &web, 1, MIDNIGHT);
    put(s, both, 2, MIDNIGHT - 3 * DAY);
    put(s, &web, 1, MIDNIGHT + 300 * DAY);
    put(s, &base, 1, MIDNIGHT);
    put(s, &web, 1, -5 * DAY);
    assert_int_equal(weight(s, &all), 7 + 12 + 7 + 5 + 7);
    const struct store_query today = {.from_ns = MIDNIGHT, .to_ns = MIDNIGHT + DAY};
    assert_int_equal(weight(s, &today), 12);
    assert_int_equal(problems(s), 0);
    store_close(s);
}

/* ---- keeping ---- */

static void count_one(void *count)
{
    ++*(unsigned *)count;
}

static void hours(void **state)
{
    (void)state;
    unsigned between = 0;
    const struct interval_program both[] = {web, base};
    const struct store_bounds none = {0};
    struct store_kept done;
    struct err e = {0};
    struct store *s = make_it();
    for (int64_t i = 0; i < 120; i++)
        put(s, both, i % 2 ? 2 : 1, MIDNIGHT + i * 60 * S);
    store_between(s, count_one, &between);
    assert_true(store_keep(s, &none, MIDNIGHT + 5 * HOUR, &done, &e));
    assert_int_equal(done.merged, 120);
    /* Whoever has more to do gets a turn after each of the two hours. */
    assert_true(between >= 2);
    store_between(s, NULL, NULL);
    struct store_range range;
    struct profile *p = get(s, &all, &range);
    assert_int_equal(range.slots, 2);
    assert_int_equal(range.covered_ns, 120 * 60 * S);
    assert_int_equal(range.lost, 120);
    profile_free(p);
    assert_int_equal(weight(s, &all), 120 * 7 + 60 * 5);
    /* The day is over: one segment, to which nothing is lost, and which is gone on with. */
    assert_true(store_keep(s, &none, MIDNIGHT + 2 * DAY, &done, &e));
    assert_int_equal(weight(s, &all), 120 * 7 + 60 * 5);
    const struct store_query second = {.from_ns = MIDNIGHT + HOUR, .to_ns = MIDNIGHT + DAY};
    assert_int_equal(weight(s, &second), 60 * 7 + 30 * 5);
    put(s, both, 2, MIDNIGHT + 5 * HOUR);
    assert_int_equal(weight(s, &all), 120 * 7 + 60 * 5 + 12);
    assert_int_equal(problems(s), 0);
    store_close(s);
}

static void old_days_go(void **state)
{
    (void)state;
    const struct store_bounds week = {.keep_ns = (uint64_t)(7 * DAY)};
    struct store_kept done;
    struct err e = {0};
    struct store *s = make_it();
    for (int64_t i = 0; i < 10; i++)
        put(s, &web, 1, MIDNIGHT + i * DAY);
    assert_true(store_keep(s, &week, MIDNIGHT + 10 * DAY, &done, &e));
    assert_int_equal(done.parts, 3);
    assert_int_equal(weight(s, &all), 7 * 7);
    assert_int_equal(problems(s), 0);
    store_close(s);
}

static void size_is_bounded(void **state)
{
    (void)state;
    const struct store_bounds least = {.most_bytes = 100 * 1024};
    struct store_kept done;
    struct err e = {0};
    struct store *s = make_it();
    for (int64_t i = 0; i < 200; i++) {
        struct interval_program program = web;
        program.leaf = 0x2000 + (uint64_t)i;
        put(s, &program, 1, MIDNIGHT + i * 60 * S);
    }
    put(s, &web, 1, MIDNIGHT + DAY);
    assert_true(store_keep(s, &least, MIDNIGHT + DAY, &done, &e));
    assert_true(done.bytes <= 100 * 1024);
    /* The writer's dictionary may be gone. */
    put(s, &web, 1, MIDNIGHT + DAY + 60 * S);
    assert_int_equal(problems(s), 0);
    store_close(s);
}

/* ---- what goes wrong ---- */

static void one_writes(void **state)
{
    (void)state;
    struct err e = {0};
    struct store *first = make_it(), *second = open_it(STORE_CHANGE);
    assert_true(store_claim(first, &e));
    assert_false(store_claim(second, &e));
    assert_non_null(strstr(e.message, "another penumbra daemon"));
    store_close(first);
    store_close(second);
    e = (struct err){0};
    first = open_it(STORE_CHANGE);
    assert_true(store_claim(first, &e));
    store_close(first);
}

/* Processes that collect garbage at the same time, with bounds of their own: each finds what it
 * does as it found it. */
static void several_collect(void **state)
{
    (void)state;
    enum { PROCESSES = 3, DAYS = 40, LEFT = 7 };
    struct store *s = make_it();
    for (int64_t i = 0; i < DAYS; i++)
        for (int64_t k = 0; k < 3; k++)
            put(s, &web, 1, MIDNIGHT + i * DAY + k * 60 * S);
    pid_t children[PROCESSES];
    for (unsigned i = 0; i < PROCESSES; i++) {
        const struct store_bounds bounds = {.keep_ns = i ? (uint64_t)(LEFT * DAY) : 0};
        children[i] = fork();
        if (!children[i]) {
            struct store_kept done;
            struct err e = {0};
            struct store *own = open_it(STORE_CHANGE);
            bool ok = store_keep(own, &bounds, MIDNIGHT + DAYS * DAY, &done, &e);
            store_close(own);
            _exit(!ok);
        }
    }
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status;
        waitpid(children[i], &status, 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(problems(s), 0);
    assert_int_equal(weight(s, &all), LEFT * 3 * 7);
    store_close(s);
}

/* Killed in the middle of anything, what was acknowledged is there. */
static void killed(void **state)
{
    (void)state;
    enum { ROUNDS = 12 };
    folder_clear();
    uint64_t said = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (!child) {
            struct store *s = open_it(STORE_MAKE);
            for (int64_t i = 0;; i++) {
                struct interval_program program = web;
                program.leaf = 0x2000 + (uint64_t)(i * 7 + round);
                put(s, &program, 1, MIDNIGHT + i * 60 * S);
                if (write(ends[1], "x", 1) != 1)
                    _exit(0);
            }
        }
        char bytes[4096];
        close(ends[1]);
        said += read(ends[0], bytes, 1) == 1;
        usleep(round * 7919 % 9000);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        for (ssize_t n; (n = read(ends[0], bytes, sizeof bytes)) > 0;)
            said += (uint64_t)n;
        close(ends[0]);
    }
    struct store *s = open_it(STORE_MAKE);
    uint64_t there = weight(s, &all) / 7;
    assert_true(said > 0);
    /* What was written, and what was about to be acknowledged. */
    assert_in_range(there, said, said + ROUNDS);
    assert_int_equal(problems(s), 0);
    store_close(s);
}

/* A file that may not grow: nothing is half written, and it goes on when there is room. */
/* A folder may be a symbolic link, as systemd makes one; the file may not. */
static void links(void **state)
{
    (void)state;
    char link[96], through[160];
    struct err e = {0};
    struct store *s = make_it();
    put(s, &web, 1, MIDNIGHT);
    store_close(s);
    snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(symlink(folder, link), 0);
    snprintf(through, sizeof through, "%s%s", link, strrchr(path, '/'));
    assert_true(store_open(&s, through, STORE_MAKE, &e));
    assert_true(store_claim(s, &e));
    assert_int_equal(weight(s, &all), 7);
    store_close(s);
    unlink(link);
    assert_int_equal(symlink(path, link), 0);
    for (unsigned mode = STORE_READ; mode <= STORE_MAKE; mode++) {
        assert_false(store_open(&s, link, mode, &e));
        store_close(s);
    }
    unlink(link);
}

static void disk_full(void **state)
{
    (void)state;
    struct err e = {0};
    struct store *s = make_it();
    put(s, &web, 1, MIDNIGHT);
    uint64_t before = weight(s, &all);
    sqlite3 *db;
    bool failed = false;
    for (int64_t i = 0; i < 400 && !failed; i++) {
        char service[80];
        struct interval_program program = web;
        snprintf(service, sizeof service, "%064d", (int)i);
        program.service = service;
        program.leaf = 0x2000 + (uint64_t)i * 16;
        if (!i) {
            db = *(sqlite3 **)(void *)s;
            sqlite3_exec(db, "PRAGMA max_page_count = 26", NULL, NULL, NULL);
        }
        failed = !put_at(s, &program, 1, MIDNIGHT + i * 60 * S, PERIOD, &e);
        before += failed ? 0 : 7;
    }
    assert_true(failed);
    assert_int_equal(e.code, ERR_OUTPUT);
    assert_int_equal(weight(s, &all), before);
    sqlite3_exec(db, "PRAGMA max_page_count = 100000", NULL, NULL, NULL);
    put(s, &base, 1, MIDNIGHT);
    assert_int_equal(weight(s, &all), before + 5);
    assert_int_equal(problems(s), 0);
    store_close(s);
}

static void hostile_names(void **state)
{
    (void)state;
    static char huge[5000];
    memset(huge, 'x', sizeof huge - 1);
    static const char *const names[] = {"'; DROP TABLE slot; --", "\x1b[2J\r\n\t", "\xff\xfe\x80",
                                        "", "%s%n", "\"a\"", huge, "a\\' OR 1=1"};
    enum { COUNT = sizeof names / sizeof names[0] };
    struct interval_program list[COUNT];
    for (unsigned i = 0; i < COUNT; i++)
        list[i] = (struct interval_program){names[i], names[COUNT - 1 - i], names[i], 0x2030, 1};
    struct store *s = make_it();
    put(s, list, COUNT, MIDNIGHT);
    put(s, list, COUNT, MIDNIGHT + 60 * S);
    assert_int_equal(weight(s, &all), 2 * COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        struct store_query q = all;
        q.service = names[i];
        if (*names[i] && names[i] != huge)
            assert_int_equal(weight(s, &q), 2);
    }
    assert_int_equal(problems(s), 0);
    store_close(s);
}

static void damaged_file(void **state)
{
    (void)state;
    struct err e = {0};
    struct store *s = make_it();
    for (int64_t i = 0; i < 50; i++)
        put(s, &web, 1, MIDNIGHT + i * 60 * S);
    store_close(s);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    static const char junk[3000] = "junk";
    assert_int_equal(pwrite(fd, junk, sizeof junk, 8192), sizeof junk);
    close(fd);
    bool opened = store_open(&s, path, STORE_CHANGE, &e);
    if (opened)
        assert_int_not_equal(problems(s), 0);
    else
        assert_int_equal(e.code, ERR_FORMAT);
    store_close(s);
    fd = open(path, O_RDWR | O_TRUNC);
    assert_int_equal(write(fd, junk, sizeof junk), sizeof junk);
    close(fd);
    e = (struct err){0};
    assert_false(store_open(&s, path, STORE_MAKE, &e));
    assert_int_equal(e.code, ERR_FORMAT);
    store_close(s);
}

/* No bit of a blob can be another one unnoticed, and none can crash who reads it. */
static void damaged_blobs(void **state)
{
    (void)state;
    struct err e = {0};
    struct counts counts = {.taken = 5};
    for (uint32_t i = 0; i < 90; i++)
        assert_true(counts_add(&counts, i * 3, i));
    size_t size;
    uint8_t *bytes = counts_encode(&counts, &size, &e);
    assert_non_null(bytes);
    counts_fini(&counts);
    assert_true(counts_decode(&counts, bytes, size, 300, &e));
    assert_int_equal(counts.count, 90);
    counts_fini(&counts);
    assert_false(counts_decode(&counts, bytes, size, 200, &e));
    counts_fini(&counts);
    for (size_t i = 0; i < size * 8; i++) {
        e = (struct err){0};
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        assert_false(counts_decode(&counts, bytes, size, 300, &e));
        assert_int_equal(e.code, ERR_FORMAT);
        counts_fini(&counts);
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    free(bytes);
}

/* ---- runs ---- */

static void runs(void **state)
{
    (void)state;
    struct err e = {0};
    bool unclean;
    folder_clear();
    struct store *s;
    assert_true(store_open(&s, path, STORE_MAKE, &e));
    assert_true(store_run_begin(s, "host", MIDNIGHT, &unclean, &e));
    assert_false(unclean);
    put(s, &web, 1, MIDNIGHT);
    store_close(s);
    assert_true(store_open(&s, path, STORE_MAKE, &e));
    assert_true(store_run_begin(s, "host", MIDNIGHT + HOUR, &unclean, &e));
    assert_true(unclean);
    put(s, &web, 1, MIDNIGHT + HOUR);
    struct store_range range;
    profile_free(get(s, &all, &range));
    assert_int_equal(range.unclean, 1);
    assert_true(store_run_end(s, MIDNIGHT + 2 * HOUR, &e));
    assert_true(store_run_begin(s, "host", MIDNIGHT + HOUR, &unclean, &e));
    assert_false(unclean);
    store_close(s);
}

static int set_up(void **state)
{
    int status = folder_make(state);
    snprintf(path, sizeof path, "%s/machine.db", folder);
    return status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_out),     cmocka_unit_test(goes_on),
        cmocka_unit_test(filters),       cmocka_unit_test(folds),
        cmocka_unit_test(many_names),    cmocka_unit_test(generated),
        cmocka_unit_test(periods),       cmocka_unit_test(clock_goes_back),
        cmocka_unit_test(hours),         cmocka_unit_test(old_days_go),
        cmocka_unit_test(size_is_bounded), cmocka_unit_test(one_writes),
        cmocka_unit_test(several_collect), cmocka_unit_test(killed),
        cmocka_unit_test(links),
        cmocka_unit_test(disk_full),
        cmocka_unit_test(hostile_names), cmocka_unit_test(damaged_file),
        cmocka_unit_test(damaged_blobs), cmocka_unit_test(runs),
    };
    return cmocka_run_group_tests(tests, set_up, folder_remove);
}
