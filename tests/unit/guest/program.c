/* A program with a guest in it: it records itself, and links nothing else of the profiler. What it
 * does is its first argument; PENUMBRA_SPOOL names the spool. Its counts are of its own: samples in
 * the trees of its threads, and a counter of a place in its code.
 *
 *      work    three threads in two phases, a library loaded and unloaded, a pause
 *      fork    the same in a child, from inside a phase
 *      exec    tries a file that is not there, then executes itself, to work
 *      killed  dies by SIGKILL in the middle: the second thread is at work, a phase is open
 *      quiet   enters a sandbox in which next to no system call is left */
#include <dlfcn.h>
#include <link.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/guest.h"
#include "guest/images.h"
#include "guest/phases.h"
#include "sigsafe/cct_grow.h"
#include "sigsafe/key.h"
#include "sigsafe/tools.h"

enum { THREADS = 3, COUNTED = 1000, WINDOW = COUNTS_PIECE };

static struct spool_counts *counts;
static struct counts_window window;
static uint32_t counter;

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "guest: %s\n", what);
    exit(2);
}

/* The key of a place in the program. */
static uint64_t key_of(const void *place)
{
    const struct unwind_image *image =
        unwind_index_find_as(images_current_as(), (uint64_t)(uintptr_t)place);
    must(image != NULL, "the program is in no image");
    return key_make(image->number, (uint64_t)(uintptr_t)place - image->bias);
}

/* One sample of a place that the root calls. The tree is the thread's own. */
static void sample(struct spool_thread *t, const void *place)
{
    struct cct_store store = {.spool = &guest.spool, .nodes = &(uint64_t){0}};
    spool_ref leaf = cct_child_as(&store, t->tree, key_of(place));
    must(leaf != 0, "the spool is full");
    cct_node_at(&guest.spool, leaf)->samples++;
    t->taken++;
    t->weight++;
    t->weight_squares++;
}

/* Counters of a process: a fork child has its own. */
static void counts_begin(void)
{
    if (!guest.layout_known)
        return;
    struct spool_thing thing = {.key = key_of((const void *)counts_begin), .kind = THING_BLOCK,
                                .block = {.bytes = 1, .instructions = 1}, .tool = TOOL_BLOCKS};
    uint64_t *base = mmap(NULL, WINDOW * sizeof *base, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    must(base != MAP_FAILED, "no memory");
    counts = counts_begin_as(&guest.spool, guest.process);
    must(counts && counts_window_begin_as(&guest.spool, counts, &window, base, WINDOW, guest.pid),
         "no counters");
    counter = counts_thing_as(&guest.spool, counts, &thing);
    must(counts_window_grow_as(&guest.spool, &window, counter + 1), "no window");
}

static void count(void)
{
    for (int i = 0; counts && i < COUNTED; i++)
        window.base[counter]++;
}

static void *thread(void *rounds)
{
    struct spool_thread *t = guest_thread_begin_as();
    must(t != NULL, "no record of a thread");
    for (long i = 0; i < (long)rounds; i++)
        sample(t, (const void *)thread);
    guest_thread_end_as(t, 0);
    return NULL;
}

static void threads_run(long rounds)
{
    pthread_t ids[THREADS];
    for (int i = 0; i < THREADS; i++)
        must(pthread_create(&ids[i], NULL, thread, (void *)rounds) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
}

/* A program without a loader can load nothing. */
static void library_come_and_go(void)
{
#ifndef GUEST_STATIC
    void *library = dlopen(getenv("GUEST_LIBRARY"), RTLD_NOW);
    must(library && images_add_as((uint64_t)(uintptr_t)dlsym(library, "guest_library")),
         "cannot load the library");
    dlclose(library);
    images_refresh();
#endif
}

static void work(void)
{
    phases_begin("first");
    threads_run(10);
    phases_begin("inner");
    phases_pause();
    phases_resume();
    phases_end();
    phases_end();
    phases_begin("second");
    threads_run(20);
    phases_end();
    library_come_and_go();
    count();
}

static void forked(void)
{
    phases_begin("outer");
    pid_t child = fork();
    must(child >= 0, "no child");
    if (child == 0) {
        must(guest_fork_child_as(), "no record of the child");
        counts_begin();
        struct spool_thread *t = guest_thread_begin_as();
        sample(t, (const void *)forked);
        count();
        guest_thread_end_as(t, 0);
        guest_end_as();
        _exit(0);
    }
    waitpid(child, NULL, 0);
    phases_end();
}

static void executed(char **argv)
{
    char *next[] = {argv[0], (char *)(uintptr_t)"work", NULL};
    guest_exec_as();
    execv("/does/not/exist", next);
    guest_exec_failed_as();
    guest_exec_as();
    execv(argv[0], next);
    must(false, "cannot execute itself");
}

static void *killer(void *unused)
{
    struct spool_thread *t = guest_thread_begin_as();
    for (int i = 0; i < 5; i++)
        sample(t, (const void *)killer);
    kill(getpid(), SIGKILL);
    return unused;
}

static void killed(void)
{
    pthread_t id;
    phases_begin("open");
    count();
    pthread_create(&id, NULL, killer, NULL);
    pthread_join(id, NULL);
}

/* Under the strictest filter: any system call but read, write and exit would end the process. */
static void quiet(struct spool_thread *t)
{
    __atomic_store_n(&guest.spool.quiet, 1, __ATOMIC_SEQ_CST);
    must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0, "no sandbox");
    phases_begin("quiet");
    phases_pause();
    phases_resume();
    phases_end();
    bool silent = !guest_thread_begin_as() && !guest_fork_child_as() && !guest_is_foreign_as() &&
                  !images_add_as((uint64_t)(uintptr_t)quiet);
    images_refresh();
    guest_thread_end_as(t, 0);
    guest_exec_as();
    guest_exec_failed_as();
    guest_end_as();
    syscall(SYS_exit, silent ? 0 : 2);
}

int main(int argc, char **argv)
{
    const char *path = getenv(SPOOL_ENV), *what = argc > 1 ? argv[1] : "";
    if (!path || !guest_open(path, UINT64_MAX)) {
        puts("no recording");
        return 3;
    }
    must(guest_process_begin(argc, argv), "no record of the process");
    must(images_begin((struct images_ways){_dl_find_object, NULL}), "no images");
    struct spool_thread *t = guest_thread_begin_as();
    must(t != NULL, "no record of the first thread");
    counts_begin();
    if (!strcmp(what, "work"))
        work();
    else if (!strcmp(what, "fork"))
        forked();
    else if (!strcmp(what, "exec"))
        executed(argv);
    else if (!strcmp(what, "killed"))
        killed();
    else if (!strcmp(what, "quiet"))
        quiet(t);
    guest_thread_end_as(t, 0);
    guest_end_as();
    return 0;
}
