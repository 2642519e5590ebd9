/* What one sample costs inside the signal handler: walk, tree, accounting, from its entry to its
 * return, warm. Prints the median and other quantiles over many calls, on a stack 30 frames deep
 * that is walked whole, by whether its time is kept (docs/timeline.md), and then by depth, with the
 * trampoline and without.
 *
 *     bench-handler [CALLS walk|trampoline]
 *
 * CALLS: that many samples 30 frames deep, whose time is kept, and no more, for instructions to be
 * counted (valgrind --tool=callgrind; the difference of two runs has nothing else in it).
 *
 * The handler is called directly, with the registers of a real frame, so that the kernel's signal
 * delivery is left out: that is the floor, which bench/run.py measures. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alone.h"
#include "handler_stack.h"
#include "guest/images.h"
#include "runtime/thread.h"
#include "runtime/trigger/delivery.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/sys.h"
#include "unwind/compile.h"

enum { CALLS = 20000, ROUNDS = 3, FRAMES = 30 };
enum { DEPTH_MOST = 100000, STACK_SIZE = 64 << 20 };

static uint64_t spent[CALLS];

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* What the collector does: tables for all images. */
static void tables_compile(void)
{
    spool_ref ref = spool_header(&guest.spool)->images;
    struct spool_image *image;
    for (; (image = spool_at(&guest.spool, ref, sizeof *image)); ref = image->next) {
        const struct spool_string *path = spool_at(&guest.spool, image->path, sizeof *path);
        char name[SPOOL_PATH_MAX];
        void *table = NULL;
        size_t size = 0;
        snprintf(name, sizeof name, "%.*s", path ? (int)path->length : 0, path ? path->bytes : "");
        if (!unwind_compile_file(name, NULL, 0, &table, &size, NULL))
            continue;
        void *shared = spool_alloc_as(&guest.spool, size);
        if (shared) {
            memcpy(shared, table, size);
            image->table = spool_ref_of(&guest.spool, shared);
        }
        free(table);
    }
}

/* With the whole of the calling thread's stack known, as the runtime knows it. */
static struct rt_thread *runtime_begin(void)
{
    pthread_attr_t own;
    void *lowest;
    size_t size;
    pthread_getattr_np(pthread_self(), &own);
    pthread_attr_getstack(&own, &lowest, &size);
    pthread_attr_destroy(&own);
    struct rt_thread *t = alone_begin(DEPTH_MOST + 1000, 0, (const char *)lowest + size, size);
    if (!t)
        return NULL;
    tables_compile();
    /* The runtime is part of this program, whose frames are to be seen. */
    struct unwind_index *index = (struct unwind_index *)(uintptr_t)images_current_as();
    for (uint32_t i = 0; i < index->count; i++)
        index->image[i].hidden = false;
    return t;
}

/* The frames that a sample `further` down has. */
static uint32_t frames_of(struct rt_thread *t, struct stack_work *work, unsigned further)
{
    t->memo_depth = 1; /* the root, which is no frame */
    stack_descend(work, further);
    return t->memo_depth - 1;
}

/* Takes `calls` samples on a stack of `depth` frames, after one that tells how many frames are
 * there without going down. */
static void samples_take(struct rt_thread *t, unsigned depth, bool trampoline, unsigned calls)
{
    union alone_info info = alone_signal(t, 0);
    struct stack_work work = {handler_as, &info.info, spent, 1};
    guest.process->trampoline = TRAMPOLINE_NOT_ASKED;
    t->clock.group_left = CALLS * 2;
    uint32_t outside = frames_of(t, &work, 0);
    guest.process->trampoline = trampoline ? TRAMPOLINE_ON : TRAMPOLINE_NOT_ASKED;
    work.calls = calls;
    uint64_t before = t->record->taken;
    uint32_t walked = frames_of(t, &work, depth > outside ? depth - outside : 0);
    if (walked != depth || t->record->taken - before != calls) {
        fprintf(stderr, "handler: %lu of %u samples were taken, %u frames were walked, not %u\n",
                (unsigned long)(t->record->taken - before), calls, walked, depth);
        exit(1);
    }
}

/* Samples `depth` frames below, and prints what one cost. */
static void measure(struct rt_thread *t, unsigned depth, bool trampoline)
{
    unsigned calls = depth < 1000 || trampoline ? CALLS : CALLS / 100;
    uint64_t incomplete = 0;
    samples_take(t, depth, trampoline, calls);
    for (unsigned i = 0; i < TRUNC_COUNT; i++)
        incomplete += t->record->truncated[i];
    qsort(spent, calls, sizeof *spent, compare);
    double ns = 1e9 / (double)spool_header(&guest.spool)->tsc_hz;
    printf("handler, %u frames, %s: median %.0f ns, 10%% %.0f ns, 90%% %.0f ns, 99%% %.0f ns "
           "(%u samples, %lu incomplete)\n",
           depth, trampoline ? "trampoline" : "whole walk", (double)spent[calls / 2] * ns,
           (double)spent[calls / 10] * ns, (double)spent[calls * 9 / 10] * ns,
           (double)spent[calls * 99 / 100] * ns, calls,
           (unsigned long)incomplete);
}

/* Samples have no time; all have the same; each has its own, as if they came once in a
 * millisecond. */
enum timing { TIMING_NONE, TIMING_SAME, TIMING_NEW };

static void timing_set(enum timing timing)
{
    static const char *const names[] = {"no time", "the same bin", "a bin of its own"};
    struct spool_header *h = spool_header(&guest.spool);
    settings_sampling_as(&guest.spool)->timeline = timing != TIMING_NONE;
    h->start_ticks = timing == TIMING_SAME ? UINT64_MAX : sys_ticks_as();
    h->tick_fraction = UINT64_C(4000) << 32;
    printf("%s: ", names[timing]);
}

struct asked {
    unsigned calls; /* 0: all */
    bool trampoline;
};

/* On a stack that is deep enough. */
static void *bench(void *asked)
{
    const struct asked *a = asked;
    struct rt_thread *t = runtime_begin();
    if (!t) {
        fputs("handler: cannot set up the runtime\n", stderr);
        exit(1);
    }
    if (a->calls) {
        settings_sampling_as(&guest.spool)->timeline = true;
        samples_take(t, FRAMES, a->trampoline, a->calls);
        return NULL;
    }
    for (unsigned round = 0; round < ROUNDS; round++)
        for (enum timing timing = TIMING_NONE; timing <= TIMING_NEW; timing++) {
            timing_set(timing);
            measure(t, FRAMES, false);
        }
    timing_set(TIMING_NONE);
    for (unsigned depth = 10; depth <= DEPTH_MOST; depth *= 10) {
        measure(t, depth, true);
        measure(t, depth, false);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct asked asked = {argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0,
                          argc > 2 && strcmp(argv[2], "trampoline") == 0};
    if (asked.calls > CALLS) {
        fprintf(stderr, "handler: at most %d calls\n", CALLS);
        return 2;
    }
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    if (pthread_create(&thread, &attributes, bench, &asked) != 0)
        return 1;
    pthread_join(thread, NULL);
    return 0;
}
