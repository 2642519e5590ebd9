#include "collector/record_windows.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "collector/measure.h"
#include "sigsafe/random.h"

enum {
    WINDOW_LEAST_NS = 1000000,
    WINDOW_MOST_NS = 3000000,
    OFF_NS = 10000000, /* how often an interval of 0 is looked at */
};

/* False: it is to stop. */
static bool pause_ns(struct record_windows *w, uint64_t ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t end = (uint64_t)until.tv_nsec + ns;
    until.tv_sec += (time_t)(end / 1000000000);
    until.tv_nsec = (long)(end % 1000000000);
    int result;
    while ((result = sem_clockwait(&w->stopped, CLOCK_MONOTONIC, &until)) && errno == EINTR)
        continue;
    return result != 0;
}

/* From least to most. */
static uint64_t draw(struct record_windows *w, uint64_t least, uint64_t most)
{
    return least + random_next(&w->random) % (most - least + 1);
}

static void switch_set(struct record_windows *w, uint32_t on)
{
    __atomic_store_n(w->page, on, __ATOMIC_RELAXED);
}

static void *run(void *windows)
{
    struct record_windows *w = windows;
    struct inst_settings *s = w->settings;
    uint64_t begin = monotonic_ns(), open = 0, period = (uint64_t)s->timer_us * 1000;
    uint64_t wait = draw(w, 0, WINDOW_LEAST_NS * (uint64_t)s->windows);
    while (pause_ns(w, period ? period : wait)) {
        if (!__atomic_load_n(&s->interval, __ATOMIC_RELAXED)) {
            switch_set(w, 0);
            begin = monotonic_ns();
            open = 0;
            wait = OFF_NS;
            continue;
        }
        __atomic_fetch_add(&s->window, 1, __ATOMIC_RELAXED);
        switch_set(w, 1);
        if (period)
            continue; /* the thread that takes the sample closes it */
        uint64_t opened = monotonic_ns();
        bool goes_on = pause_ns(w, draw(w, WINDOW_LEAST_NS, WINDOW_MOST_NS));
        switch_set(w, 0);
        if (!goes_on)
            break;
        uint64_t now = monotonic_ns();
        open += now - opened;
        uint64_t due = begin + open * s->windows, gap = due > now ? due - now : 0;
        wait = draw(w, gap / 2, gap + gap / 2);
    }
    return NULL;
}

bool record_windows_start(struct record_windows *w, struct inst_settings *settings, uint32_t *page,
                          struct err *e)
{
    sigset_t all, before;
    *w = (struct record_windows){.page = page};
    w->random = settings->seed ? settings->seed : monotonic_ns();
    if (sem_init(&w->stopped, 0, 0))
        return err_set_errno(e, ERR_INTERNAL, errno, "cannot make a semaphore");
    w->settings = settings;
    sigfillset(&all); /* signals are the main thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&w->thread, NULL, run, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error)
        return true;
    w->settings = NULL;
    sem_destroy(&w->stopped);
    return err_set_errno(e, ERR_INTERNAL, error, "cannot make a thread that opens windows");
}

void record_windows_stop(struct record_windows *w)
{
    if (!w->settings)
        return;
    sem_post(&w->stopped);
    pthread_join(w->thread, NULL);
    sem_destroy(&w->stopped);
    w->settings = NULL;
}
