/* dlopen, call, dlclose in a loop, while another thread works. argv[1]: the plugin. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "spin.h"

static volatile int stop;

static void *background(void *argument)
{
    unsigned long r = 0;
    while (!stop)
        r += spin(100000);
    return r ? argument : NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    unsigned long sum = 0;
    if (argc < 2 || pthread_create(&thread, NULL, background, NULL) != 0)
        return 1;
    for (int i = 0; i < 1500; i++) {
        void *handle = dlopen(argv[1], RTLD_NOW);
        if (!handle) {
            fprintf(stderr, "%s\n", dlerror());
            return 2;
        }
        unsigned long (*work)(unsigned long) =
            (unsigned long (*)(unsigned long))dlsym(handle, "plugin_work");
        sum += work(200000);
        dlclose(handle);
    }
    stop = 1;
    pthread_join(thread, NULL);
    printf("%lu\n", sum);
    return 0;
}
