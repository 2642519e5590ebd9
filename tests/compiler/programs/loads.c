/* Loads and unloads library.c (its path is the argument) many times, and uses it in threads. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static long (*sum)(int);

static void *thread(void *unused)
{
    (void)unused;
    static __thread long mine;
    for (int i = 0; i < 50; i++)
        mine += sum(0) + i;
    return (void *)mine;
}

int main(int argc, char **argv)
{
    long all = 0;
    for (int i = 0; i < 20; i++) {
        void *library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
        if (!library)
            return fprintf(stderr, "%s\n", dlerror()), 2;
        sum = (long (*)(int))dlsym(library, "library_sum");
        all = all * 3 + sum(100 + i);
        pthread_t threads[8];
        for (int t = 0; t < 8; t++)
            pthread_create(&threads[t], NULL, thread, NULL);
        for (int t = 0; t < 8; t++) {
            void *result;
            pthread_join(threads[t], &result);
            all += (long)result;
        }
        dlclose(library);
    }
    printf("%ld\n", all);
    return 0;
}
