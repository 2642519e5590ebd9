/* An instrumented program whose profile is known: N rounds of one loop.
 *
 *      each round        reads node.key and writes node.count, calls visit at line 20, and first or
 *                        second through a pointer at line 22: second at each fourth
 *                        its argument "n" is 3 or, at each fourth, -8; it allocates 24 bytes for a node
 *                        goes from line 25 to line 31, or at each fourth to line 29
 *      each fourth       reads node.key again, and node.flag, and calls helper, inlined, at line 30
 *
 *      work N            the rounds
 *      threads N         in four threads; one of them writes node.count, the others read node.key
 *      fork N            in a child, and in the parent
 *      exec N            executes itself, to work
 *      killed N          dies by SIGKILL after them
 *      signals N         while a timer's handler does rounds, too
 *      library FILE N    rounds in a library that is loaded and unloaded, and the program's own
 *
 * It prints how often the loop was entered. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tables.h"

STRING("s_file", "program.c");
STRING("s_work", "work");
STRING("s_visit", "visit");
STRING("s_helper", "helper");
STRING("s_node", "node");
STRING("s_key", "key");
STRING("s_flag", "flag");
STRING("s_count", "count");
STRING("s_cold", "cold");
STRING("s_long", "long");
STRING("s_char", "char");
STRING("s_bytes", "char[64]");
FUNCTION("f_work", "s_work", "s_file", 10);
EVENT("e_round", "d_key", 19, 2, 0);
EVENT("e_round2", "d_count", 19, 3, 0);
EVENT("e_round3", "s_visit", 20, 1, 0);
EVENT("e_fourth", "d_key", 29, 2, 0);
EVENT("e_fourth2", "d_flag", 29, 2, 0);
EVENT("e_fourth3", "s_helper", 30, 5, 0);
EVENT("e_write", "d_count", 40, 3, 0);
EVENT("e_read", "d_key", 41, 2, 0);
BLOCK("b_round", "f_work", "e_round", 3, 19);
BLOCK("b_fourth", "f_work", "e_fourth", 3, 29);
BLOCK("b_write", "f_work", "e_write", 1, 40);
BLOCK("b_read", "f_work", "e_read", 1, 41);
WAY("e_yes", 29, 0, 15);
WAY("e_no", 31, 1, 15);
BLOCK("b_yes", "f_work", "e_yes", 1, 25);
BLOCK("b_no", "f_work", "e_no", 1, 25);
TARGET("v_target", "f_work", 22);
STRING("s_n", "n");
STRING("s_malloc", "malloc");
VALUE("v_argument", "f_work", "s_n - .", "0", 10, 1, 2, 4, 1);
VALUE("v_allocated", "f_work", "s_malloc - .", "t_node - .", 24, 0, 6, 8, 0);
TYPE("t_node", "s_node", "s_file", "d_key", 4, 88, 3, 8);
FIELD("d_key", "t_node", "s_key", "s_long", 0, 0, 64, 8);
FIELD("d_flag", "t_node", "s_flag", "s_char", 0, 64, 8, 1);
FIELD("d_count", "t_node", "s_count", "s_long", 0, 128, 64, 8);
FIELD("d_cold", "t_node", "s_cold", "s_bytes", 8, 192, 512, 1);

enum { ROUND, FOURTH, WRITE, READ, YES, NO };
#define block_of(n) (&__start_penumbra1_blocks[n])
enum { TARGET_OF_CALL, ARGUMENT, ALLOCATED };
#define value_of(n) (&__start_penumbra1_values[n])

__attribute__((noinline)) void first(void);
__attribute__((noinline)) void second(void);

__attribute__((noinline)) void first(void)
{
    __asm__ volatile("");
}

__attribute__((noinline)) void second(void)
{
    __asm__ volatile(" ");
}

static void values(long which, void (*next)(void))
{
    value(value_of(TARGET_OF_CALL), (uint64_t)(uintptr_t)next);
    /* above its four bytes is anything */
    value(value_of(ARGUMENT), which ? 0xabcd00000003 : 0x1234fffffff8);
    value(value_of(ALLOCATED), 24);
}

static void work(long rounds)
{
    for (long i = 0; i < rounds; i++) {
        void (*next)(void) = i % 4 ? first : second;
        int in = check();
        if (in)
            event(block_of(ROUND));
        if (in)
            values(i % 4, next);
        next();
        if (in)
            event(block_of(i % 4 ? NO : YES));
        if (in && i % 4 == 0)
            event(block_of(FOURTH));
    }
}

static void only(long rounds, int which)
{
    for (long i = 0; i < rounds; i++)
        if (check())
            event(block_of(which));
}

static long all_rounds;

static void *writer(void *unused)
{
    only(all_rounds, WRITE);
    return unused;
}

static void *reader(void *unused)
{
    only(all_rounds, READ);
    return unused;
}

static void threads(void)
{
    pthread_t ids[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&ids[i], NULL, i ? reader : writer, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(ids[i], NULL);
}

static volatile sig_atomic_t handled;

static void handler(int number)
{
    (void)number;
    only(10, WRITE);
    handled++;
}

static void signals(long rounds)
{
    struct itimerval every = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    only(1, READ); /* the thread has begun */
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &every, NULL);
    only(rounds - 1, READ);
    setitimer(ITIMER_REAL, &never, NULL);
}

static void library(const char *file, long rounds)
{
    for (int i = 0; i < 3; i++) {
        void *loaded = dlopen(file, RTLD_NOW);
        void (*run)(long) = NULL;
        if (loaded)
            *(void **)(void *)&run = dlsym(loaded, "library_work");
        if (!run)
            exit(2);
        run(rounds);
        dlclose(loaded);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "work";
    long rounds = all_rounds = argc > 2 ? atol(argv[argc - 1]) : 1000;
    if (!strcmp(what, "exec")) {
        execl(argv[0], argv[0], "work", argv[2], (char *)NULL);
        return 2;
    }
    pid_t child = strcmp(what, "fork") ? 1 : fork();
    if (!strcmp(what, "threads"))
        threads();
    else if (!strcmp(what, "signals"))
        signals(rounds);
    else if (!strcmp(what, "library"))
        library(argv[2], rounds);
    else
        work(rounds);
    if (!strcmp(what, "killed"))
        kill(getpid(), SIGKILL);
    if (!strcmp(what, "fork") && child)
        waitpid(child, NULL, 0);
    printf("%ld %d\n", rounds, (int)handled);
    return 0;
}
