#include "run.h"

#include "callbacks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { STACK_SIZE = 8 << 20, STACK_USED = 32 << 10 };

/* Where functions under test return to; never executed. */
static void end_of_call(void)
{
    __asm__ volatile("ud2");
}

static void rig_thread(struct rig *r)
{
    r->thread = engine_thread_make_as(r->engine, 0);
    assert_non_null(r->thread);
    r->thread->carrier = r;
    r->stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(r->stack != MAP_FAILED);
}

void rig_make(struct rig *r, const struct engine_config *config)
{
    struct engine_config own = config ? *config : (struct engine_config){ 0 };
    enum stop_reason why;
    *r = (struct rig){ .trust = TRUST_FIXED, .code_trust = TRUST_CHECKED };
    own.carrier = &rig_carrier;
    own.carrier_data = r;
    r->engine = engine_make_as(&own, &why);
    assert_non_null(r->engine);
    rig_thread(r);
}

void rig_share(struct rig *r, const struct rig *of)
{
    *r = *of;
    rig_thread(r);
}

void rig_unshare(struct rig *r)
{
    engine_thread_free_as(r->thread);
    munmap(r->stack, STACK_SIZE);
}

void rig_free(struct rig *r)
{
    munmap(r->stack, STACK_SIZE);
    engine_free_as(r->engine);
}

void rig_prepare(struct rig *r, const void *fn, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    struct engine_thread *t = r->thread;
    memset(t->gpr, 0, sizeof t->gpr);
    /* compilers pop padding, with what an earlier run left there */
    memset(r->stack + STACK_SIZE - STACK_USED, 0, STACK_USED);
    uint64_t *top = (uint64_t *)(void *)(r->stack + STACK_SIZE - 64);
    *--top = (uint64_t)(uintptr_t)end_of_call;
    t->gpr[ENGINE_RSP] = (uint64_t)(uintptr_t)top;
    t->gpr[ENGINE_RDI] = a;
    t->gpr[ENGINE_RSI] = b;
    t->gpr[ENGINE_RDX] = c;
    t->gpr[ENGINE_RCX] = d;
    t->rip = (uint64_t)(uintptr_t)fn;
    t->rflags = 0x202;
    t->stop_at = (uint64_t)(uintptr_t)end_of_call;
}

uint64_t rig_call(struct rig *r, const void *fn, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    rig_prepare(r, fn, a, b, c, d);
    engine_run_as(r->thread);
    return r->thread->gpr[ENGINE_RAX];
}
