/* The tool `calls`: exact numbers in exact contexts, whatever way functions end. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmocka.h>

#include "run.h"
#include "sigsafe/settings.h"
#include "sigsafe/cct_grow.h"
#include "sigsafe/key.h"
#include "tools/list.h"

enum { SPOOL_SIZE = 16 << 20 };

static struct spool spool;
static struct spool_thread *record;

static uint64_t ready = SPOOL_SIZE; /* of the spool's storage, to begin with */
static struct spool_config config;

static void spool_make(void)
{
    spool.base = mmap(NULL, SPOOL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(spool.base != MAP_FAILED);
    spool.mapped = SPOOL_SIZE;
    struct spool_header *h = spool_header(&spool);
    h->size = SPOOL_SIZE;
    h->limit = ready;
    h->next = SPOOL_HEADER_SIZE;
    settings_put(&spool, &(struct settings){.sampling = config});
    record = spool_alloc_as(&spool, sizeof *record);
    struct cct_node *root = spool_alloc_as(&spool, sizeof *root);
    root->key = key_pseudo(KEY_ROOT);
    record->tree = spool_ref_of(&spool, root);
}

static void run(const void *fn, uint64_t n)
{
    struct rig r;
    spool_make();
    rig_make(&r, &(struct engine_config){ .tools = tool_set_of(&tool_calls), .spool = &spool });
    r.thread->record = record;
    rig_call(&r, fn, n, 0, 0, 0);
    assert_int_equal(r.thread->stop, STOP_ADDRESS);
    rig_free(&r);
}

/* Calls of fn in all contexts below the node, and in the deepest one the number of callers. */
static uint64_t calls_below(spool_ref ref, const void *fn, uint32_t depth, uint32_t *deepest)
{
    if (!ref)
        return 0;
    const struct cct_node *n = cct_node_at(&spool, ref);
    uint64_t total = n->key == key_make(0, (uint64_t)(uintptr_t)fn) ? n->samples : 0;
    if (total && depth > *deepest)
        *deepest = depth;
    return total + calls_below(n->child, fn, depth + 1, deepest) +
           calls_below(n->left, fn, depth, deepest) + calls_below(n->right, fn, depth, deepest);
}

static uint64_t calls(const void *fn, uint32_t *deepest)
{
    *deepest = 0;
    uint64_t total = calls_below(record->tree, fn, 0, deepest);
    munmap(spool.base, SPOOL_SIZE);
    return total;
}

static volatile uint64_t sink;

__attribute__((noipa)) static void leaf(void)
{
    sink = sink + 1;
}

__attribute__((noipa)) static void tree(uint64_t n)
{
    if (n) {
        tree(n - 1);
        tree(n - 1);
    }
    sink = sink + 1;
}

static void recursion(void **state)
{
    (void)state;
    uint32_t depth;
    run((const void *)(uintptr_t)tree, 6);
    /* The first call is not the program's own: 2 + 4 + ... + 64. */
    assert_int_equal(calls((const void *)(uintptr_t)tree, &depth), 126);
    assert_int_equal(depth, 7); /* six calls, and the entry below the last */
}

static jmp_buf out;

__attribute__((noipa)) static void thrower(uint64_t n)
{
    if (!n)
        longjmp(out, 1);
    if (n > 100)
        return;
    thrower(n - 1);
    sink = sink + 1;
}

__attribute__((noipa)) static void catcher(uint64_t n)
{
    for (volatile uint64_t i = 0; i < n; i = i + 1)
        if (!setjmp(out))
            thrower(9);
    leaf();
}

static void longjmps(void **state)
{
    (void)state;
    uint32_t depth;
    run((const void *)(uintptr_t)catcher, 5);
    assert_int_equal(calls((const void *)(uintptr_t)thrower, &depth), 50);
    assert_int_equal(depth, 11);
    run((const void *)(uintptr_t)catcher, 5);
    assert_int_equal(calls((const void *)(uintptr_t)leaf, &depth), 1);
    assert_int_equal(depth, 2); /* called by catcher, not by a thrower that is gone */
}

__attribute__((noipa)) static void by_pointer(uint64_t n)
{
    void (*volatile f)(void) = leaf;
    while (n--)
        f();
    __asm__ volatile("" : : : "memory");
}

static void indirect(void **state)
{
    (void)state;
    uint32_t depth;
    run((const void *)(uintptr_t)by_pointer, 1234);
    assert_int_equal(calls((const void *)(uintptr_t)leaf, &depth), 1234);
    assert_int_equal(depth, 2);
}

static ucontext_t here, there;
static _Alignas(16) char other_stack[1 << 16];

static void coroutine(void)
{
    for (;;) {
        leaf();
        swapcontext(&there, &here);
    }
}

__attribute__((noipa)) static void switcher(uint64_t n)
{
    getcontext(&there);
    there.uc_stack.ss_sp = other_stack;
    there.uc_stack.ss_size = sizeof other_stack;
    makecontext(&there, coroutine, 0);
    for (volatile uint64_t i = 0; i < n; i = i + 1) {
        swapcontext(&here, &there);
        by_pointer(1);
    }
}

static void coroutines(void **state)
{
    (void)state;
    uint32_t depth;
    run((const void *)(uintptr_t)switcher, 20);
    assert_int_equal(calls((const void *)(uintptr_t)leaf, &depth), 40);
    assert_true(depth <= 4);
}

/* The number of calls of tree(n), and of what is in the thread's tree below the pseudo nodes. */
static uint64_t tree_calls(uint64_t n)
{
    return (UINT64_C(2) << n) - 2;
}

static uint64_t folded_below(spool_ref ref, bool folded)
{
    if (!ref)
        return 0;
    const struct cct_node *n = cct_node_at(&spool, ref);
    bool here_too = folded || n->key == key_pseudo(KEY_FOLDED);
    return (here_too ? n->samples : 0) + folded_below(n->child, here_too) +
           folded_below(n->left, folded) + folded_below(n->right, folded);
}

static bool collector_ends;

/* Makes room as the collector does: some, some time after it was asked for. */
static void *collector(void *unused)
{
    struct spool_header *h = spool_header(&spool);
    uint32_t seen = 0;
    (void)unused;
    while (!__atomic_load_n(&collector_ends, __ATOMIC_ACQUIRE)) {
        uint32_t bell = __atomic_load_n(&h->bell, __ATOMIC_ACQUIRE);
        if (bell != seen)
            __atomic_fetch_add(&h->limit, 65536, __ATOMIC_RELEASE);
        seen = bell;
        sched_yield();
    }
    return NULL;
}

static void a_whole_run_waits_for_room(void **state)
{
    (void)state;
    enum { N = 14 };
    pthread_t thread;
    uint32_t depth;
    struct rig r;
    ready = SPOOL_HEADER_SIZE + 16384;
    spool_make();
    collector_ends = false;
    assert_int_equal(pthread_create(&thread, NULL, collector, NULL), 0);
    rig_make(&r, &(struct engine_config){ .tools = tool_set_of(&tool_calls), .spool = &spool });
    r.thread->record = record;
    rig_call(&r, (const void *)(uintptr_t)tree, N, 0, 0, 0);
    rig_free(&r);
    __atomic_store_n(&collector_ends, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    assert_int_equal(record->drops[DROP_SPOOL_FULL], 0);
    assert_int_equal(record->taken, tree_calls(N));
    assert_int_equal(calls((const void *)(uintptr_t)tree, &depth), tree_calls(N));
    ready = SPOOL_SIZE;
}

/* Where there will be no more room, every call is in the tree or counted as lost, and those in the
 * tree are where they belong. */
static void calls_without_room_are_counted(void **state)
{
    (void)state;
    enum { N = 14 };
    uint32_t depth;
    ready = SPOOL_HEADER_SIZE + 65536;
    spool_make();
    spool.mapped = ready;
    struct rig r;
    rig_make(&r, &(struct engine_config){ .tools = tool_set_of(&tool_calls), .spool = &spool });
    r.thread->record = record;
    rig_call(&r, (const void *)(uintptr_t)tree, N, 0, 0, 0);
    rig_free(&r);
    uint64_t lost = record->drops[DROP_SPOOL_FULL], taken = record->taken;
    assert_true(lost > 1000 && taken > 500);
    assert_int_equal(taken + lost, tree_calls(N));
    assert_int_equal(calls((const void *)(uintptr_t)tree, &depth), taken);
    assert_true(depth <= N + 1);
    ready = SPOOL_SIZE;
}

static void contexts_are_bounded(void **state)
{
    (void)state;
    enum { N = 15, MOST = 1000 };
    uint32_t depth;
    config.contexts = MOST;
    run((const void *)(uintptr_t)tree, N);
    uint64_t nodes = record->nodes, taken = record->taken,
             folded = folded_below(record->tree, false);
    assert_true(nodes >= MOST / 8 && nodes <= 2 * MOST + 16);
    assert_true(folded > 0 && folded < taken);
    assert_int_equal(taken, tree_calls(N));
    assert_int_equal(calls((const void *)(uintptr_t)tree, &depth), tree_calls(N));
    config.contexts = 0;
}

/* What comes when the tree is full, and is hot, has contexts of its own: the cold ones before it
 * make room. And so again. */
__attribute__((noipa)) static void hot(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        leaf();
    sink = sink + 1;
}

__attribute__((noipa)) static void cold_then_hot(uint64_t n)
{
    tree(n);
    hot(UINT64_C(1) << (n + 2));
    tree(n);
    sink = sink + 1;
}

static uint64_t calls_not_folded(spool_ref ref, const void *fn)
{
    const struct cct_node *n = ref ? cct_node_at(&spool, ref) : NULL;
    if (!n)
        return 0;
    uint64_t own = n->key == key_make(0, (uint64_t)(uintptr_t)fn) ? n->samples : 0;
    uint64_t below = n->key == key_pseudo(KEY_FOLDED) ? 0 : calls_not_folded(n->child, fn);
    return own + below + calls_not_folded(n->left, fn) + calls_not_folded(n->right, fn);
}

static void cold_contexts_make_room(void **state)
{
    (void)state;
    enum { N = 14, MOST = 1000 };
    uint64_t loops = UINT64_C(1) << (N + 2);
    uint32_t depth = 0;
    config.contexts = MOST;
    run((const void *)(uintptr_t)cold_then_hot, N);
    config.contexts = 0;
    assert_int_equal(record->taken, 2 * (tree_calls(N) + 1) + loops + 1);
    assert_int_equal(calls_below(record->tree, (const void *)(uintptr_t)leaf, 0, &depth), loops);
    assert_int_equal(calls_not_folded(record->tree, (const void *)(uintptr_t)leaf), loops);
    assert_true(folded_below(record->tree, false) > 0 && record->nodes <= 2 * MOST);
    /* Blocks are used again: the spool holds a few trees. */
    assert_true(spool_header(&spool)->next - SPOOL_HEADER_SIZE <
                8 * MOST * sizeof(struct cct_node) + 65536);
    assert_int_equal(calls((const void *)(uintptr_t)tree, &depth), 2 * (tree_calls(N) + 1));
}

static void deep_contexts_are_folded(void **state)
{
    (void)state;
    enum { N = 12, MOST = 5 };
    uint32_t depth;
    config.max_depth = MOST;
    run((const void *)(uintptr_t)tree, N);
    assert_int_equal(record->taken, tree_calls(N));
    assert_int_equal(folded_below(record->tree, false), tree_calls(N) - tree_calls(MOST));
    assert_int_equal(calls((const void *)(uintptr_t)tree, &depth), tree_calls(N));
    assert_int_equal(depth, MOST + 2); /* the pseudo node is one of them */
    config.max_depth = 0;
}

static void even(uint64_t n);

__attribute__((noipa)) static void odd(uint64_t n)
{
    if (n)
        even(n - 1);
    leaf();
    sink = sink + 1;
}

__attribute__((noipa)) static void even(uint64_t n)
{
    if (n)
        odd(n - 1);
    leaf();
    sink = sink + 1;
}

/* What a function calls while it is called again is what it calls. */
static void recursion_is_folded(void **state)
{
    (void)state;
    uint32_t depth;
    config.fold_recursion = 1;
    run((const void *)(uintptr_t)tree, 16);
    /* two calls, each with two calls below: two nodes for each */
    assert_int_equal(record->nodes, 12);
    assert_int_equal(calls((const void *)(uintptr_t)tree, &depth), tree_calls(16));
    run((const void *)(uintptr_t)even, 1000);
    assert_true(record->nodes < 20);
    assert_int_equal(calls((const void *)(uintptr_t)leaf, &depth), 1001);
    run((const void *)(uintptr_t)even, 1000);
    assert_int_equal(calls((const void *)(uintptr_t)odd, &depth), 500);
    config.fold_recursion = 0;
}

/* A handler's calls are below the instruction that it interrupts. */
static void handlers_are_below_what_they_interrupt(void **state)
{
    (void)state;
    struct rig r;
    uint32_t depth;
    spool_make();
    rig_make(&r, &(struct engine_config){ .tools = tool_set_of(&tool_calls), .spool = &spool });
    r.thread->record = record;
    rig_prepare(&r, (const void *)(uintptr_t)by_pointer, 2, 0, 0, 0);
    tool_calls.interrupted(r.thread, 0x1234);
    r.thread->stop_at = *(const uint64_t *)(uintptr_t)r.thread->gpr[ENGINE_RSP];
    engine_run_as(r.thread);
    rig_free(&r);
    const struct cct_node *at = cct_node_at(&spool, cct_node_at(&spool, record->tree)->child);
    assert_int_equal(at->key, key_make(0, 0x1234));
    assert_int_equal(calls((const void *)(uintptr_t)leaf, &depth), 2);
    assert_int_equal(depth, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recursion),
        cmocka_unit_test(longjmps),
        cmocka_unit_test(indirect),
        cmocka_unit_test(coroutines),
        cmocka_unit_test(a_whole_run_waits_for_room),
        cmocka_unit_test(calls_without_room_are_counted),
        cmocka_unit_test(contexts_are_bounded),
        cmocka_unit_test(cold_contexts_make_room),
        cmocka_unit_test(deep_contexts_are_folded),
        cmocka_unit_test(recursion_is_folded),
        cmocka_unit_test(handlers_are_below_what_they_interrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
