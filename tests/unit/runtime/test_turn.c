/* While another trigger than the first counts, the thread is busy: at each single instruction of
 * the handler. Another thread that notes what this one has used, as the process ends, would find
 * the wrong clock and record otherwise.
 *
 *      parent                      child
 *      PTRACE_SINGLESTEP  ──────>  handler_as, of trigger 1
 *      `which`, `busy` of its memory after each instruction */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "alone.h"
#include "runtime/trigger/delivery.h"

enum { DEPTH = 100, STACK = 1 << 20, STEPS_MOST = 1000000 };

struct place {
    uint64_t busy, which;
};

static _Noreturn void child(int to_parent)
{
    struct rt_thread *t = alone_begin(DEPTH, 1, __builtin_frame_address(0), STACK);
    struct place at;
    ucontext_t here;
    if (!t || getcontext(&here) || ptrace(PTRACE_TRACEME, 0, NULL, NULL))
        _exit(1);
    union alone_info info = alone_signal(t, 1);
    at = (struct place){(uint64_t)(uintptr_t)&t->busy, (uint64_t)(uintptr_t)&t->which};
    if (write(to_parent, &at, sizeof at) != sizeof at)
        _exit(1);
    raise(SIGSTOP);
    handler_as(SIGTRAP, &info.info, &here);
    raise(SIGSTOP);
    _exit(0);
}

static uint32_t word_of(pid_t pid, uint64_t at)
{
    uint32_t word = 0;
    struct iovec to = {&word, sizeof word}, from = {(void *)(uintptr_t)at, sizeof word};
    assert_int_equal(process_vm_readv(pid, &to, 1, &from, 1, 0), sizeof word);
    return word;
}

static int stop_of(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSTOPPED(status));
    return WSTOPSIG(status);
}

static void busy_while_another_counts(void **state)
{
    (void)state;
    int ends[2];
    struct place at;
    unsigned turned = 0, steps = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0)
        child(ends[1]);
    assert_int_equal(read(ends[0], &at, sizeof at), sizeof at);
    assert_int_equal(stop_of(pid), SIGSTOP);
    do {
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
        if (stop_of(pid) == SIGSTOP)
            break;
        uint32_t which = word_of(pid, at.which), busy = word_of(pid, at.busy);
        turned += which == 1;
        if (which && !busy)
            fail_msg("trigger %u counts after %u instructions, and the thread is not busy", which,
                     steps);
    } while (++steps < STEPS_MOST);
    assert_true(turned > 100);
    assert_int_equal(word_of(pid, at.busy), 0);
    assert_int_equal(word_of(pid, at.which), 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(busy_while_another_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
