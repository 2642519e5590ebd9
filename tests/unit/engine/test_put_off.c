/* A signal that comes on the way out of the code cache, while the program runs on its alternate
 * stack, is put off by whoever finds it: all signals are blocked, and the program's mask is in the
 * thread area from then on. At every instruction on the way, until the engine blocks signals
 * itself, that mask is the one that counts. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmocka.h>

#include "engine/recover.h"
#include "functions.h"
#include "run.h"

enum { TRAP = 0x100, SYSCALL = 0x050f };

static struct rig rig;
static uint64_t native; /* the mask */
static unsigned wanted, seen;
static bool blocks;     /* it was in front of the engine's own blocking */

static uint64_t *mask_of(ucontext_t *u)
{
    return (uint64_t *)(void *)&u->uc_sigmask;
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    ucontext_t *u = context;
    gregset_t gregs;
    uint16_t opcode;
    memcpy(gregs, u->uc_mcontext.gregs, sizeof gregs);
    if (engine_recover_as(rig.thread, gregs) != PLACE_INSIDE)
        return;
    memcpy(&opcode, (const void *)(uintptr_t)gregs[REG_RIP], sizeof opcode);
    blocks = opcode == SYSCALL;
    if (seen++ < wanted && !blocks)
        return;
    rig.thread->mask = rig.thread->mask_changed ? rig.thread->mask : *mask_of(u);
    rig.thread->mask_changed = 1;
    *mask_of(u) = ~UINT64_C(0);
    rig.thread->rflags &= ~(uint64_t)TRAP;
    u->uc_mcontext.gregs[REG_EFL] &= ~TRAP;
}

static uint64_t mask_now(void)
{
    uint64_t mask = 0;
    sigset_t set;
    sigprocmask(SIG_BLOCK, NULL, &set);
    memcpy(&mask, &set, sizeof mask);
    return mask;
}

/* The program's mask at the end of a run in which one signal was put off. */
static uint64_t run(const struct function *f)
{
    enum { ALTERNATE = 1 << 20 };
    struct engine_config config = {.budget = false};
    rig_make(&rig, &config);
    rig_prepare(&rig, (const void *)(uintptr_t)f->call, f->steps, 0, 0, 0);
    rig.thread->alt_lo = rig.thread->gpr[ENGINE_RSP] - ALTERNATE;
    rig.thread->alt_size = 2 * ALTERNATE;
    rig.thread->rflags |= TRAP;
    seen = 0;
    blocks = false;
    engine_run_as(rig.thread);
    uint64_t mask = rig.thread->mask_changed ? rig.thread->mask : mask_now();
    sigprocmask(SIG_SETMASK, &(sigset_t){{native}}, NULL);
    rig_free(&rig);
    return mask;
}

static void everywhere(void **state)
{
    (void)state;
    const struct function *f = functions;
    while (!f->steps)
        f++;
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO}, old;
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR2);
    sigprocmask(SIG_SETMASK, &some, NULL);
    native = mask_now();
    sigaction(SIGTRAP, &action, &old);
    for (wanted = 0; !blocks; wanted++) {
        uint64_t mask = run(f);
        if (mask != native)
            fail_msg(
                "put off at instruction %u on the way: the program's mask is %lx, should be %lx",
                wanted, mask, native);
    }
    sigaction(SIGTRAP, &old, NULL);
    assert_true(wanted > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(everywhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
