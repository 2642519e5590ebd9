/* Which processes are looked at again and again. */
#include "collector/record_living.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define SIZE ((size_t)1 << 20)

struct fixture {
    struct spool spool;
    struct record_living living;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->spool = (struct spool){.base = aligned_alloc(4096, SIZE), .mapped = SIZE};
    memset(f->spool.base, 0, SIZE);
    struct spool_header *h = spool_header(&f->spool);
    h->limit = h->size = SIZE;
    h->next = SPOOL_HEADER_SIZE;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    record_living_free(&f->living);
    free(f->spool.base);
    free(f);
    return 0;
}

static struct spool_process *begin(struct fixture *f, int32_t pid)
{
    struct spool_process *p = spool_alloc_as(&f->spool, sizeof *p);
    p->pid = pid;
    p->state = PROCESS_RUNNING;
    spool_push_as(&f->spool, &spool_header(&f->spool)->processes, p);
    return p;
}

static void expect(const struct fixture *f, uint32_t count, const int32_t *pids)
{
    assert_int_equal(f->living.count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(f->living.list[i].record->pid, pids[i]);
}

static void test_order(void **state)
{
    struct fixture *f = *state;
    begin(f, 10);
    begin(f, 11);
    assert_int_equal(record_living_poll(&f->living, &f->spool), 0);
    begin(f, 12);
    struct spool_process *ended = begin(f, 13);
    begin(f, 14);
    ended->state = PROCESS_EXITED;
    assert_int_equal(record_living_poll(&f->living, &f->spool), 2);
    expect(f, 4, (const int32_t[]){10, 11, 12, 14});
    assert_int_equal(record_living_poll(&f->living, &f->spool), 4);
    expect(f, 4, (const int32_t[]){10, 11, 12, 14});
}

static void test_ends(void **state)
{
    struct fixture *f = *state;
    struct spool_process *first = begin(f, 10);
    begin(f, 11);
    record_living_poll(&f->living, &f->spool);
    f->living.list[1].noted = true;
    first->state = PROCESS_EXITED;
    begin(f, 12);
    assert_int_equal(record_living_poll(&f->living, &f->spool), 1);
    expect(f, 2, (const int32_t[]){11, 12});
    assert_true(f->living.list[0].noted);
    assert_false(f->living.list[1].noted);
}

/* One that executes has another record once it has. Until then, and where that fails, it runs. */
static void test_executes(void **state)
{
    struct fixture *f = *state;
    struct spool_process *shell = begin(f, 10);
    begin(f, 11);
    shell->state = PROCESS_EXECING;
    record_living_poll(&f->living, &f->spool);
    expect(f, 2, (const int32_t[]){10, 11});
    begin(f, 10);
    assert_int_equal(record_living_poll(&f->living, &f->spool), 1);
    expect(f, 2, (const int32_t[]){11, 10});
    assert_ptr_not_equal(f->living.list[1].record, shell);
}

/* A number that is used again belongs to a process that was killed. Both are kept. */
static void test_killed(void **state)
{
    struct fixture *f = *state;
    begin(f, 10);
    begin(f, 10);
    record_living_poll(&f->living, &f->spool);
    expect(f, 2, (const int32_t[]){10, 10});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(test_executes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
    };
    return cmocka_run_group_tests_name("record_living", tests, NULL, NULL);
}
