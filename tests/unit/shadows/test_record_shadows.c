/* The collector's half of shadows, with seats as a program leaves them that is killed at any moment
 * of a fork. */
#include "collector/record_shadows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../profile/sample.h"
#include "sigsafe/settings.h"
#include "sigsafe/spool_shadow.h"

static struct spool_shadows *killed_program(struct spool *s)
{
    *s = sample_spool_new(1 << 20);
    settings_sampling_as(s)->carrier = CARRIER_SHADOW;
    spool_header(s)->load_milli = 2000;
    struct spool_process *p = sample_process(s, 0); /* no process has this number */
    struct spool_shadows *of = spool_alloc_as(s, sizeof *of);
    p->shadows = spool_ref_of(s, of);
    return of;
}

static void taken(const struct spool *s, struct spool_shadows *of, unsigned seat, uint64_t number)
{
    of->seats[seat].number = number;
    of->seats[seat].state = SEAT_TAKEN;
    spool_header(s)->shadows_active++;
}

static void of_every_moment(bool counted)
{
    struct spool s;
    struct spool_shadows *of = killed_program(&s);
    of->started = 4;
    of->ended[END_COMPLETE] = 3;
    taken(&s, of, 0, 4);
    taken(&s, of, 1, 5);
    of->started += counted;
    record_shadows_end(&s);
    assert_int_equal(of->started, 5);
    assert_int_equal(of->ended[END_PROGRAM], 2);
    assert_int_equal(spool_header(&s)->shadows_active, 0);
    record_shadows_end(&s);
    assert_int_equal(of->ended[END_PROGRAM], 2);
    sample_spool_free(&s);
}

static void killed_before_it_was_counted(void **state)
{
    (void)state;
    of_every_moment(false);
}

static void killed_after_it_was_counted(void **state)
{
    (void)state;
    of_every_moment(true);
}

/* A child that waits to be killed, of the priority that shadows have. */
static int32_t idle_child(void)
{
    const struct sched_param none = {0};
    pid_t pid = fork();
    if (!pid)
        for (;;)
            pause();
    assert_true(pid > 0);
    assert_int_equal(sched_setscheduler(pid, SCHED_IDLE, &none), 0);
    return pid;
}

static void end_child(int32_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* RLIMIT_NICE may forbid it to who has no privileges. */
static bool may_hurry(void)
{
    const struct sched_param none = {0};
    int32_t pid = idle_child();
    bool may = !sched_setscheduler(pid, SCHED_OTHER, &none);
    end_child(pid);
    return may;
}

enum { OF_TAKEN, OF_GUARD, OF_FREE, OF_PROGRAM, HURRIED };

/* The scheduler's policy of each child after record_shadows_hurry. */
static void hurried(uint32_t carrier, int32_t policy[HURRIED])
{
    struct spool s;
    struct spool_shadows *of = killed_program(&s);
    int32_t child[HURRIED];
    settings_sampling_as(&s)->carrier = carrier;
    for (unsigned i = 0; i < HURRIED; i++) {
        child[i] = idle_child();
        taken(&s, of, i, i + 1);
        of->seats[i].pid = child[i];
    }
    of->seats[OF_GUARD].guard = 1;
    of->seats[OF_FREE].state = SEAT_FREE;
    struct spool_process *p =
        (struct spool_process *)spool_at(&s, spool_header(&s)->processes, sizeof *p);
    p->pid = child[OF_PROGRAM];
    /* What the program may have written: processes that are no children, and none at all. */
    taken(&s, of, HURRIED, HURRIED + 1);
    of->seats[HURRIED].pid = getpid();
    taken(&s, of, HURRIED + 1, HURRIED + 2);
    record_shadows_hurry(&s);
    for (unsigned i = 0; i < HURRIED; i++) {
        policy[i] = sched_getscheduler(child[i]);
        end_child(child[i]);
    }
    sample_spool_free(&s);
}

static void hurries_shadows_only(void **state)
{
    (void)state;
    const struct sched_param none = {0};
    int32_t policy[HURRIED];
    int own = sched_getscheduler(0);
    if (!may_hurry() || sched_setscheduler(0, SCHED_BATCH, &none))
        skip();
    hurried(CARRIER_SHADOW, policy);
    assert_int_equal(sched_getscheduler(0), SCHED_BATCH);
    assert_int_equal(policy[OF_TAKEN], SCHED_OTHER);
    assert_int_equal(policy[OF_GUARD], SCHED_IDLE);
    assert_int_equal(policy[OF_FREE], SCHED_IDLE);
    assert_int_equal(policy[OF_PROGRAM], SCHED_IDLE);
    hurried(CARRIER_AUTO, policy);
    assert_int_equal(policy[OF_TAKEN], SCHED_OTHER);
    hurried(CARRIER_BURST, policy);
    assert_int_equal(policy[OF_TAKEN], SCHED_IDLE);
    sched_setscheduler(0, own, &none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_before_it_was_counted),
        cmocka_unit_test(killed_after_it_was_counted),
        cmocka_unit_test(hurries_shadows_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
