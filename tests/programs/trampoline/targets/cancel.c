/* Threads that are cancelled at a cancellation point, inside a system call, at any instruction, and
 * that end themselves, thirty frames deep, each with a cleanup handler. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
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

int main(void)
{
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
