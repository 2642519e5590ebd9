/* usage: target env|spin|brief|report|leak|search|load
 *        target exec|vfork|spawn|raw|system|fork PROGRAM [ARGUMENTS]
 * Compiled with a sanitizer by the test, which compares what the world sees. */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static char *volatile kept;
static int shared, freed;

static void *work(void *argument)
{
    kept = malloc(10);
    free(kept);
    shared++;
    /* tells no sanitizer that it comes before what main does */
    __atomic_store_n(&freed, 1, __ATOMIC_RELAXED);
    return argument;
}

/* A race, and then a use of memory that another thread has freed. */
static int report(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    while (!__atomic_load_n(&freed, __ATOMIC_RELAXED))
        sched_yield();
    shared++;
    int found = kept[3];
    pthread_join(thread, NULL);
    return found ? 3 : 4;
}

static __attribute__((noinline)) void forget(void)
{
    char *volatile lost = malloc(33);
    lost[0] = 1;
    lost = NULL;
}

static __attribute__((noinline)) int spin(int tenths)
{
    volatile unsigned long n = 0;
    /* from here on: what was before may have taken longer */
    clock_t end = clock() + CLOCKS_PER_SEC * tenths / 10;
    while (clock() < end)
        for (int i = 0; i < 1000; i++)
            n += (unsigned long)i;
    puts("spun");
    return 9;
}

static void *spin_too(void *argument)
{
    spin(3);
    return argument;
}

/* Searches by itself, while another thread works, and goes on working. */
static int search(void)
{
    int (*look)(void);
    pthread_t thread;
    *(void **)&look = dlsym(RTLD_DEFAULT, "__lsan_do_recoverable_leak_check");
    forget();
    pthread_create(&thread, NULL, spin_too, NULL);
    for (int i = 0; i < 20; i++)
        printf("%d\n", look ? look() : -1);
    pthread_join(thread, NULL);
    return spin(3);
}

static int load(void)
{
    void *library = dlopen("libm.so.6", RTLD_NOW);
    double (*root)(double);
    *(void **)&root = library ? dlsym(library, "sqrt") : NULL;
    printf("%f\n", root ? root(2) : -1.0);
    if (library)
        dlclose(library);
    return 6;
}

static int finish(pid_t pid)
{
    int status = 0;
    waitpid(pid, &status, 0);
    printf("status %d\n", status);
    return 5;
}

static int start(const char *way, char **argv)
{
    pid_t pid = -1;
    if (strcmp(way, "raw") == 0)
        return execv(argv[0], argv);
    if (strcmp(way, "spawn") == 0)
        posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
    else if ((pid = strcmp(way, "vfork") == 0 ? vfork() : fork()) == 0) {
        execvp(argv[0], argv);
        _exit(127);
    }
    return finish(pid);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "env";
    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc > 2)
        return strcmp(way, "system") == 0 ? system(argv[2]) >> 8 : start(way, argv + 2);
    if (strcmp(way, "spin") == 0)
        return spin(3);
    if (strcmp(way, "brief") == 0)
        return spin(1);
    if (strcmp(way, "report") == 0)
        return report();
    if (strcmp(way, "search") == 0)
        return search();
    if (strcmp(way, "load") == 0)
        return load();
    if (strcmp(way, "leak") == 0)
        forget();
    else
        for (char **e = environ; *e; e++)
            puts(*e);
    return 7;
}
