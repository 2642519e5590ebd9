/* What one sample costs inside the signal handler: walk, tree, accounting, from its entry to its
 * return, on a stack 30 frames deep, warm. Prints the median and other quantiles over many calls.
 *
 * The handler is called directly, with the registers of a real frame, so that the kernel's signal
 * delivery is left out: that is the floor, which bench/run.py measures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include "runtime/carrier/handler.h"
#include "runtime/images.h"
#include "runtime/process.h"
#include "runtime/thread.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/sys.h"
#include "unwind/compile.h"

enum { CALLS = 20000, FRAMES = 30, SPOOL_SIZE = 256 << 20, CODE_TRAP_PERF = 6 };

/* siginfo of a perf event's signal, as in carrier/handler.c. */
union perf_info {
    siginfo_t info;
    struct {
        int32_t signo, error, code, padding;
        uint64_t address, data;
    } perf;
};

static uint64_t spent[CALLS];

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t tsc_hz(void)
{
    struct timespec pause = {0, 50000000};
    uint64_t before_ns = thread_monotonic_ns_as(), before = sys_ticks_as();
    nanosleep(&pause, NULL);
    uint64_t after = sys_ticks_as(), after_ns = thread_monotonic_ns_as();
    return (after - before) * 1000000000u / (after_ns - before_ns);
}

__attribute__((noinline)) static void measure(struct rt_thread *t)
{
    ucontext_t context;
    union perf_info info = {.perf = {SIGTRAP, 0, CODE_TRAP_PERF, 0, 0,
                                     (uint64_t)rt.cookie << 32 | t->slot}};
    getcontext(&context);
    for (unsigned i = 0; i < CALLS; i++) {
        uint64_t before = sys_ticks_as();
        handler_as(SIGTRAP, &info.info, &context);
        spent[i] = sys_ticks_as() - before;
    }
}

__attribute__((noinline)) static int descend(struct rt_thread *t, int depth)
{
    if (depth == 0) {
        measure(t);
        return 0;
    }
    int r = descend(t, depth - 1);
    __asm__ volatile("" : "+r"(r));
    return r + 1;
}

/* What the collector does: tables for all images. */
static void tables_compile(void)
{
    spool_ref ref = spool_header(&rt.spool)->images;
    struct spool_image *image;
    for (; (image = spool_at(&rt.spool, ref, sizeof *image)); ref = image->next) {
        const struct spool_string *path = spool_at(&rt.spool, image->path, sizeof *path);
        char name[SPOOL_PATH_MAX];
        void *table = NULL;
        size_t size = 0;
        snprintf(name, sizeof name, "%.*s", path ? (int)path->length : 0, path ? path->bytes : "");
        if (!unwind_compile_file(name, NULL, 0, &table, &size, NULL))
            continue;
        void *shared = spool_alloc_as(&rt.spool, size);
        if (shared) {
            memcpy(shared, table, size);
            image->table = spool_ref_of(&rt.spool, shared);
        }
        free(table);
    }
}

static struct rt_thread *runtime_begin(const void *stack_top)
{
    uint8_t *base = mmap(NULL, SPOOL_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    rt.spool = (struct spool){base, SPOOL_SIZE, 0};
    struct spool_header *h = spool_header(&rt.spool);
    h->size = h->limit = SPOOL_SIZE;
    h->next = SPOOL_HEADER_SIZE;
    h->config.trigger = TRIGGER_CPU;
    h->config.mechanism = MECHANISM_PERF;
    h->config.period = 1000000000;
    h->config.max_depth = 4096;
    h->config.tsc_hz = tsc_hz();
    rt.config = &h->config;
    char *argv[] = {(char *)(uintptr_t)"handler", NULL};
    if (!process_begin(1, argv) || !images_init())
        return NULL;
    struct rt_thread *t = thread_make_as();
    if (!t || !thread_begin_as(t))
        return NULL;
    tables_compile();
    /* The runtime is part of this program, whose frames are to be seen. */
    struct unwind_index *index = (struct unwind_index *)(uintptr_t)images_current_as();
    for (uint32_t i = 0; i < index->count; i++)
        index->image[i].hidden = false;
    thread_stack_as(t, stack_top, 1 << 20);
    t->multiple = 1;
    t->period = h->config.period;
    t->group_left = CALLS * 2;
    return t;
}

int main(int argc, char **argv)
{
    (void)argc;
    struct rt_thread *t = runtime_begin(argv);
    if (!t) {
        fputs("handler: cannot set up the runtime\n", stderr);
        return 1;
    }
    descend(t, FRAMES - 4);
    uint64_t frames = t->memo_depth - 1, incomplete = 0;
    for (unsigned i = 0; i < TRUNC_COUNT; i++)
        incomplete += t->record->truncated[i];
    qsort(spent, CALLS, sizeof *spent, compare);
    double ns = 1e9 / (double)rt.config->tsc_hz;
    printf("handler, %lu frames: median %.0f ns, 10%% %.0f ns, 90%% %.0f ns, 99%% %.0f ns "
           "(%lu samples taken, %lu incomplete)\n",
           (unsigned long)frames, (double)spent[CALLS / 2] * ns, (double)spent[CALLS / 10] * ns,
           (double)spent[CALLS * 9 / 10] * ns, (double)spent[CALLS * 99 / 100] * ns,
           (unsigned long)t->record->taken, (unsigned long)incomplete);
    return 0;
}
