/* The tool `calls`: exact numbers in exact contexts, whatever way functions end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmocka.h>

#include "run.h"
#include "sigsafe/cct_grow.h"
#include "sigsafe/key.h"
#include "tools/tools.h"

enum { SPOOL_SIZE = 16 << 20 };

static struct spool spool;
static struct spool_thread *record;

static void spool_make(void)
{
    spool.base = mmap(NULL, SPOOL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(spool.base != MAP_FAILED);
    spool.mapped = SPOOL_SIZE;
    struct spool_header *h = spool_header(&spool);
    h->size = h->limit = SPOOL_SIZE;
    h->next = SPOOL_HEADER_SIZE;
    record = spool_alloc_as(&spool, sizeof *record);
    struct cct_node *root = spool_alloc_as(&spool, sizeof *root);
    root->key = key_pseudo(KEY_ROOT);
    record->tree = spool_ref_of(&spool, root);
}

static void run(const void *fn, uint64_t n)
{
    struct rig r;
    spool_make();
    rig_make(&r, &(struct engine_config){ .tool = &tool_calls, .spool = &spool });
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recursion),
        cmocka_unit_test(longjmps),
        cmocka_unit_test(indirect),
        cmocka_unit_test(coroutines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
