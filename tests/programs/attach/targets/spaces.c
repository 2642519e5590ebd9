/* spaces stay: a library, and with it a second libc, is loaded into a namespace of its own. spaces
 * again: a second thread loads and unloads one over and over. Until SIGTERM. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t stop;
static volatile unsigned sink;

static void on_term(int number)
{
    (void)number;
    stop = 1;
}

static void *load(void)
{
    return dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);
}

static void *again(void *unused)
{
    while (!stop) {
        void *library = load();
        usleep(1000);
        if (!library || dlclose(library) != 0)
            puts("cannot load or unload");
        usleep(1000);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int repeats = argc > 1 && !strcmp(argv[1], "again");
    signal(SIGTERM, on_term);
    if (repeats ? pthread_create(&thread, NULL, again, NULL) != 0 : !load())
        return 1;
    puts("ready");
    fflush(stdout);
    while (!stop)
        sink++;
    if (repeats)
        pthread_join(thread, NULL);
    return 5;
}
