/* Threads that work while checks come and go, until standard input ends; others end, a library
 * (argv[1]) is loaded and unloaded, and children are forked. Then the program executes itself, and
 * works for some rounds more (argv[2]). Each round must have the result that the first one has. */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 16, WORDS = 64, AGAIN = 20 };

static volatile int ended, failed;

__attribute__((noinline)) static uint64_t mix(uint64_t x, int depth)
{
    if (x & 1)
        x = x * 3 + 1;
    else
        x ^= x >> 7;
    return depth ? mix(x + 0x9e3779b97f4a7c15u, depth - 1) : x;
}

__attribute__((noinline)) static uint64_t round_of(uint64_t seed)
{
    uint64_t words[WORDS], sum = 0;
    for (int i = 0; i < WORDS; i++)
        words[i] = seed = mix(seed, i % 5);
    for (int i = 0; i < WORDS; i++)
        for (int k = i; k > 0 && words[k] < words[k - 1]; k--) {
            uint64_t other = words[k];
            words[k] = words[k - 1];
            words[k - 1] = other;
        }
    for (int i = 0; i < WORDS; i++)
        sum = sum * 31 + words[i];
    return sum;
}

static void *worker(void *seed)
{
    uint64_t first = round_of((uintptr_t)seed);
    while (!ended)
        if (round_of((uintptr_t)seed) != first)
            failed = 1;
    return NULL;
}

static void load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    long (*sum)(int) = library ? (long (*)(int))dlsym(library, "library_sum") : NULL;
    if (!sum || sum(0) != 0)
        failed = 2;
    if (library)
        dlclose(library);
}

static void fork_one(void)
{
    pid_t child = fork();
    int status;
    if (child == 0)
        _exit(round_of(5) == round_of(5) ? 7 : 8);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 7)
        failed = 3;
}

static void *brief(void *seed)
{
    return (void *)round_of((uintptr_t)seed);
}

static void end_one(void)
{
    pthread_t thread;
    void *result = NULL;
    if (pthread_create(&thread, NULL, brief, (void *)5) || pthread_join(thread, &result) ||
        (uint64_t)result != round_of(5))
        failed = 4;
}

static bool input_ends(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) != 0;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    bool again = argc > 2;
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, worker, (void *)(i + 1));
    for (int i = 0; again ? i < AGAIN : !input_ends(); i++) {
        load(argv[1]);
        fork_one();
        end_one();
    }
    ended = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (!again && !failed) {
        execl("/proc/self/exe", argv[0], argv[1], "again", NULL);
        failed = 5;
    }
    printf("%d\n", failed);
    return failed;
}
