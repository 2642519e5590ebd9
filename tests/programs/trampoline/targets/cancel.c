/* Threads that are cancelled at a cancellation point, inside a system call, at any instruction, and
 * that end themselves, thirty frames deep, each with a cleanup handler. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 200, KINDS = 4, DEPTH = 30, PIECE = 2000 };
enum kind { AT_TEST, IN_CALL, BY_ITSELF, ANYWHERE };

static long cleaned;

static void clean(void *unused)
{
    (void)unused;
    __atomic_fetch_add(&cleaned, 1, __ATOMIC_RELAXED);
}

static void work(void)
{
    for (volatile int i = 0; i < PIECE; i++)
        ;
}

__attribute__((noinline)) static void end(enum kind kind)
{
    int old;
    for (int i = 0; kind == BY_ITSELF && i < 100; i++)
        work();
    if (kind == BY_ITSELF)
        pthread_exit(NULL);
    if (kind == ANYWHERE)
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
    for (;;) {
        work();
        if (kind == AT_TEST)
            pthread_testcancel();
        if (kind == IN_CALL)
            poll(NULL, 0, 1);
    }
}

__attribute__((noinline)) static int deep(int depth, enum kind kind)
{
    int result = 0;
    pthread_cleanup_push(clean, NULL);
    if (depth == 0)
        end(kind);
    result = deep(depth - 1, kind) + 1;
    pthread_cleanup_pop(1);
    return result;
}

static void *run(void *kind)
{
    deep(DEPTH - 1, *(const enum kind *)kind);
    return NULL;
}

/* Whether the profiler's handler, if there is one, lets the signal wait by which glibc cancels a
 * thread at any instruction: it would take the handler's frames away too, and what they hold. */
static int cancel_waits(void)
{
    enum { SIGCANCEL = 32 };
    struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        unsigned long mask;
    } action = {0};
    syscall(SYS_rt_sigaction, SIGTRAP, NULL, &action, sizeof action.mask);
    return !action.handler || action.mask >> (SIGCANCEL - 1) & 1;
}

int main(void)
{
    if (!cancel_waits())
        puts("a handler can be cancelled");
    static const enum kind kinds[KINDS] = {AT_TEST, IN_CALL, BY_ITSELF, ANYWHERE};
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[KINDS];
        for (int i = 0; i < KINDS; i++)
            if (pthread_create(&threads[i], NULL, run, (void *)&kinds[i]))
                return 1;
        usleep(5000);
        for (int i = 0; i < KINDS; i++)
            if (kinds[i] != BY_ITSELF)
                pthread_cancel(threads[i]);
        for (int i = 0; i < KINDS; i++)
            pthread_join(threads[i], NULL);
    }
    printf("%ld\n", cleaned);
    return 0;
}
