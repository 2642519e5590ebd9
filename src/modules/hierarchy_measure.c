/* Loads that come from a level because they were put there:
 *
 *      L1      read a moment ago
 *      L2      read, then as many other lines as four L1s hold
 *      L3      read, then as many other lines as two L2s hold
 *      memory  read, then flushed (clflush)
 *      fault   the first access to a page
 *
 * That takes tenths of a second, where pointer chases through up to a gigabyte would take many, and
 * it leaves hardly any time for neighbours on a shared machine to take the L3's lines. The lines
 * are in an order by chance, for the prefetchers; their pages were touched just before, for the
 * TLB. */
#include "modules/hierarchy.h"

#include <cpuid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "sigsafe/sys.h"

enum {
    LINE = 64,
    PAGE = 4096,
    LINES = 128,            /* looked at in one round */
    LINE_DISTANCE = 16,     /* one in so many lines is looked at, one is touched for the TLB */
    ROUNDS = 64,
    FAULT_ROUNDS = 16,
    HUGE = 2 << 20,
    L1_USUAL = 32 << 10, L2_USUAL = 1 << 20,
    L2_MOST = 8 << 20,
    CLOCK_NS = 20000000,
};

struct bench {
    volatile uint8_t *lines; /* LINES * LINE_DISTANCE lines */
    volatile uint8_t *other; /* bytes that push lines out */
    uint8_t *mapping;
    size_t size, l1, l2;
    bool l3;
    uint64_t random;
    uint16_t order[LINES];
};

static uint64_t slots[4]; /* as in the thread area: time, time_end, rax, rdx */

/* Times one instruction by the sequence that src/engine/hook_time.c emits into translated code: a
 * load that takes so long here takes as long there. */
#define TIMED(instruction, result, address)                                                        \
    __asm__ volatile("    movq %%rax, 16(%[s])\n"                                                  \
                     "    movq %%rdx, 24(%[s])\n"                                                  \
                     "    lfence\n"                                                                \
                     "    rdtsc\n"                                                                 \
                     "    movl %%eax, (%[s])\n"                                                    \
                     "    movl %%edx, 4(%[s])\n"                                                   \
                     "    movq 16(%[s]), %%rax\n"                                                  \
                     "    movq 24(%[s]), %%rdx\n"                                                  \
                     "    lfence\n" instruction "\n"                                               \
                     "    lfence\n"                                                                \
                     "    movq %%rax, 16(%[s])\n"                                                  \
                     "    movq %%rdx, 24(%[s])\n"                                                  \
                     "    rdtsc\n"                                                                 \
                     "    movl %%eax, 8(%[s])\n"                                                   \
                     "    movl %%edx, 12(%[s])\n"                                                  \
                     "    movq 8(%[s]), %%rax\n"                                                   \
                     "    movq (%[s]), %%rdx\n"                                                    \
                     "    notq %%rdx\n"                                                            \
                     "    leaq 1(%%rax,%%rdx), %%rax\n"                                            \
                     "    movq %%rax, (%[s])\n"                                                    \
                     "    movq 16(%[s]), %%rax\n"                                                  \
                     "    movq 24(%[s]), %%rdx\n"                                                  \
                     : [to] "=&c"(result)                                                          \
                     : [s] "S"(slots), [at] "D"(address)                                           \
                     : "memory")

static uint32_t capped(uint64_t ticks)
{
    return ticks > UINT32_MAX ? UINT32_MAX : (uint32_t)ticks;
}

static uint32_t time_load(const volatile void *at)
{
    uint64_t value;
    TIMED("movq (%[at]), %[to]", value, at);
    return capped(slots[0]);
}

static uint32_t time_nothing(void)
{
    uint64_t value;
    TIMED("", value, slots);
    return capped(slots[0]);
}

/* ---- putting lines where they should be ---- */

static void read_all(const volatile uint8_t *from, size_t size)
{
    for (size_t i = 0; i < size; i += LINE)
        (void)from[i];
}

static volatile uint8_t *line_at(const struct bench *b, unsigned i)
{
    return b->lines + (size_t)b->order[i] * LINE;
}

/* One line of each group, and groups in an order by chance. */
static void lines_choose(struct bench *b)
{
    for (unsigned i = 0; i < LINES; i++) {
        b->random = b->random * 6364136223846793005u + 1442695040888963407u;
        b->order[i] = (uint16_t)(i * LINE_DISTANCE + (b->random >> 33) % (LINE_DISTANCE - 1));
    }
    for (unsigned i = LINES - 1; i > 0; i--) {
        b->random = b->random * 6364136223846793005u + 1442695040888963407u;
        unsigned j = (unsigned)((b->random >> 33) % (i + 1));
        uint16_t swapped = b->order[i];
        b->order[i] = b->order[j];
        b->order[j] = swapped;
    }
}

static void lines_put(struct bench *b, enum hierarchy_level level)
{
    for (unsigned twice = 0; twice < 2; twice++)
        for (unsigned i = 0; i < LINES; i++)
            (void)*line_at(b, i);
    if (level == HIERARCHY_MEMORY)
        for (unsigned i = 0; i < LINES; i++)
            __builtin_ia32_clflush((const void *)line_at(b, i));
    size_t push = level == HIERARCHY_L2 ? 4 * b->l1 : level == HIERARCHY_L3 ? 2 * b->l2 : 0;
    read_all(b->other, push);
    read_all(b->other, push);
    for (size_t page = 0; page < LINES * LINE_DISTANCE * LINE; page += PAGE)
        (void)b->lines[page + (LINE_DISTANCE - 1) * LINE];
    __builtin_ia32_mfence();
}

static void round_take(struct bench *b, enum hierarchy_level level, struct hierarchy_samples *s)
{
    lines_choose(b);
    lines_put(b, level);
    for (unsigned i = 0; i < LINES; i++)
        s->ticks[s->count++] = time_load(line_at(b, i));
}

static void faults_take(struct hierarchy_samples *s)
{
    uint8_t *pages = mmap(NULL, (size_t)LINES * PAGE, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return;
    madvise(pages, (size_t)LINES * PAGE, MADV_NOHUGEPAGE);
    for (unsigned i = 0; i < LINES; i++)
        s->ticks[s->count++] = time_load(pages + (size_t)i * PAGE);
    munmap(pages, (size_t)LINES * PAGE);
}

/* ---- the machine ---- */

static size_t cache_size(int name, size_t usual, size_t most)
{
    long size = sysconf(name);
    return size <= 0 ? usual : (size_t)size < most ? (size_t)size : most;
}

static bool bench_make(struct bench *b)
{
    const size_t lines = (size_t)LINES * LINE_DISTANCE * LINE;
    *b = (struct bench){ .random = 88172645463325252u };
    b->l1 = cache_size(_SC_LEVEL1_DCACHE_SIZE, L1_USUAL, L2_MOST);
    b->l2 = cache_size(_SC_LEVEL2_CACHE_SIZE, L2_USUAL, L2_MOST);
    b->l3 = sysconf(_SC_LEVEL3_CACHE_SIZE) > 0;
    size_t other = 2 * b->l2 > 4 * b->l1 ? 2 * b->l2 : 4 * b->l1;
    b->size = lines + other + 2 * (size_t)HUGE;
    b->mapping = mmap(NULL, b->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b->mapping == MAP_FAILED)
        return false;
    uint8_t *begin = (uint8_t *)(((uintptr_t)b->mapping + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
    madvise(begin, lines + other, MADV_HUGEPAGE); /* or as it is: medians are robust */
    memset(begin, 1, lines + other);
    b->lines = begin;
    b->other = begin + lines;
    return true;
}

/* The levels take turns: what disturbs this machine meanwhile disturbs them all. */
static void take_all(struct bench *b, struct hierarchy_samples *nothing,
                     struct hierarchy_samples of[HIERARCHY_LEVELS])
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < LINES; i++)
            nothing->ticks[nothing->count++] = time_nothing();
        for (enum hierarchy_level l = HIERARCHY_L1; l < HIERARCHY_FAULT; l++)
            if (l != HIERARCHY_L3 || b->l3)
                round_take(b, l, &of[l]);
        if (round < FAULT_ROUNDS)
            faults_take(&of[HIERARCHY_FAULT]);
    }
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool hierarchy_measure(struct hierarchy *h, struct err *err)
{
    enum { COUNT = LINES * ROUNDS };
    struct bench b;
    struct hierarchy_samples of[HIERARCHY_LEVELS] = { { NULL, 0 } }, nothing;
    uint32_t *ticks = malloc((HIERARCHY_LEVELS + 1) * COUNT * sizeof *ticks);
    if (!ticks || !bench_make(&b)) {
        free(ticks);
        return err_set(err, ERR_INTERNAL, "the memory hierarchy cannot be measured: out of memory");
    }
    *h = (struct hierarchy){ .hz = 0 };
    hierarchy_machine(h->machine, sizeof h->machine);
    nothing = (struct hierarchy_samples){ ticks, 0 };
    for (unsigned l = 0; l < HIERARCHY_LEVELS; l++)
        of[l].ticks = ticks + (l + 1) * COUNT;
    uint64_t begin_ns = now_ns(), begin = sys_ticks_as();
    take_all(&b, &nothing, of);
    while (now_ns() - begin_ns < CLOCK_NS)
        ;
    h->hz = (uint64_t)((double)(sys_ticks_as() - begin) / (double)(now_ns() - begin_ns) * 1e9);
    hierarchy_judge(h, nothing, of);
    munmap(b.mapping, b.size);
    free(ticks);
    return true;
}

void hierarchy_machine(char *out, size_t size)
{
    unsigned words[12] = { 0 }, a, b, c, d, signature = 0, virtual = 0;
    for (unsigned i = 0; i < 3; i++)
        if (__get_cpuid(0x80000002 + i, &a, &b, &c, &d))
            memcpy(words + i * 4, (unsigned[]){ a, b, c, d }, 16);
    if (__get_cpuid(1, &a, &b, &c, &d)) {
        signature = a;
        virtual = c >> 31; /* a hypervisor */
    }
    char brand[sizeof words + 1] = "";
    memcpy(brand, words, sizeof words);
    brand[strcspn(brand, "\n")] = 0;
    size_t length = strlen(brand);
    while (length && brand[length - 1] == ' ')
        brand[--length] = 0;
    snprintf(out, size, "%s, signature %x%s", brand + strspn(brand, " "), signature,
             virtual ? ", virtual" : "");
}
