#include "runtime/carrier/exact/whole_syscall.h"

#include <asm-generic/errno.h>
#include <asm/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "runtime/carrier/exact/whole_internal.h"
#include "sigsafe/sys.h"

typedef enum engine_action call_function(struct engine_thread *t);

enum { SYSCALL_BYTES = 2, CALLS = 512 };

static enum engine_action done(struct engine_thread *t, long result)
{
    t->gpr[ENGINE_RAX] = (uint64_t)result;
    t->gpr[ENGINE_RCX] = t->rip; /* as the instruction leaves them */
    t->gpr[ENGINE_R11] = t->rflags;
    return ENGINE_CONTINUE;
}

static long plain(const struct engine_thread *t)
{
    const uint64_t *r = t->gpr;
    return sys_call6_as((long)r[ENGINE_RAX], (long)r[ENGINE_RDI], (long)r[ENGINE_RSI],
                        (long)r[ENGINE_RDX], (long)r[ENGINE_R10], (long)r[ENGINE_R8],
                        (long)r[ENGINE_R9]);
}

/* Natively from the system call on. */
static enum engine_action leave(struct engine_thread *t, enum stop_reason why)
{
    t->rip -= SYSCALL_BYTES;
    return whole_stopped_as(t, why);
}

/* ---- memory ---- */

static void changed(struct engine_thread *t, uint64_t at, uint64_t size)
{
    engine_invalidate_as(t->engine, at & ~UINT64_C(4095), (at + size + 4095) & ~UINT64_C(4095));
    whole_alternate_look_as(t, at, at + size);
}

/* munmap, mprotect, pkey_mprotect: [rdi, rdi + rsi). */
static enum engine_action call_range(struct engine_thread *t)
{
    uint64_t at = t->gpr[ENGINE_RDI], size = t->gpr[ENGINE_RSI];
    long result = plain(t);
    if (!sys_failed(result))
        changed(t, at, size);
    return done(t, result);
}

static enum engine_action call_madvise(struct engine_thread *t)
{
    uint64_t advice = t->gpr[ENGINE_RDX];
    if (advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE)
        return call_range(t);
    return ENGINE_RUN_SYSCALL;
}

static enum engine_action call_mmap(struct engine_thread *t)
{
    if (!(t->gpr[ENGINE_R10] & MAP_FIXED))
        return ENGINE_RUN_SYSCALL; /* where nothing was: nothing was translated */
    return call_range(t);
}

static enum engine_action call_mremap(struct engine_thread *t)
{
    uint64_t from = t->gpr[ENGINE_RDI], old = t->gpr[ENGINE_RSI], size = t->gpr[ENGINE_RDX];
    long result = plain(t);
    if (sys_failed(result))
        return done(t, result);
    changed(t, from, old);
    changed(t, (uint64_t)result, size);
    return done(t, result);
}

/* What unmaps memory of which only the kernel knows where it ends. */
static enum engine_action call_unmapping(struct engine_thread *t)
{
    long result = plain(t);
    engine_unmapped_as(t->engine);
    return done(t, result);
}

/* ---- threads and processes ---- */

struct clone_request {
    uint64_t flags, stack; /* the child's stack pointer; 0: its parent's */
};

static bool clone_read(const struct engine_thread *t, struct clone_request *out)
{
    struct clone_args args = {0};
    switch (t->gpr[ENGINE_RAX]) {
    case SYS_fork:
        *out = (struct clone_request){0, 0};
        return true;
    case SYS_vfork:
        *out = (struct clone_request){CLONE_VM | CLONE_VFORK, 0};
        return true;
    case SYS_clone:
        *out = (struct clone_request){t->gpr[ENGINE_RDI], t->gpr[ENGINE_RSI]};
        return true;
    default:
        if (t->gpr[ENGINE_RSI] < CLONE_ARGS_SIZE_VER0 ||
            !whole_read_as(&args, t->gpr[ENGINE_RDI], CLONE_ARGS_SIZE_VER0))
            return false;
        *out = (struct clone_request){args.flags, args.stack ? args.stack + args.stack_size : 0};
        return true;
    }
}

/* The state in which the child returns from the call. */
static void child_registers(struct engine_thread *child, const struct engine_thread *t,
                            uint64_t stack)
{
    for (unsigned i = 0; i < 16; i++)
        child->gpr[i] = t->gpr[i];
    child->rip = t->rip;
    child->rflags = t->rflags;
    if (stack)
        child->gpr[ENGINE_RSP] = stack;
    done(child, 0);
}

/* An assignment may call memcpy, whose vector registers are the program's here. */
static void actions_copy(struct whole_actions *to, const struct whole_actions *from)
{
    for (unsigned i = 0; i < WHOLE_SIGNALS; i++)
        to->of[i] = from->of[i];
}

/* The child runs on our memory. */
static enum engine_action clone_shared(struct engine_thread *t, const struct clone_request *request,
                                       uint64_t mask)
{
    const struct whole_thread *w = whole_thread_as(t);
    whole_reap_as();
    struct whole_thread *child = whole_thread_make_as(0);
    if (!child) /* that is not the program's concern: its call succeeds, natively */
        return leave(t, STOP_NO_MEMORY);
    child_registers(child->t, t, request->stack);
    whole_mask_as(child->t, mask);
    child->actions = w->actions;
    if (!(request->flags & CLONE_SIGHAND)) {
        actions_copy(&child->own_actions, w->actions);
        child->actions = &child->own_actions;
        child->cleared = request->flags & CLONE_CLEAR_SIGHAND;
    }
    if (request->flags & CLONE_VFORK) { /* the kernel takes other children's alternate stack away */
        child->t->alt_lo = t->alt_lo;
        child->t->alt_size = t->alt_size;
    }
    long result = whole_clone_as(t->gpr, child->t);
    if (sys_failed(result) || request->flags & CLONE_VFORK)
        whole_thread_free_as(child);
    return done(t, result);
}

/* In the child of a fork, its only thread. False: it must go native. */
static bool forked(struct engine_thread *t, const struct clone_request *request)
{
    struct whole_thread *w = whole_thread_as(t);
    whole.lock = 0;
    whole.threads = w;
    w->next = NULL;
    w->signals.put_off = false; /* it is its parent's */
    if (w->actions != &whole.actions) { /* a vfork child that forks */
        actions_copy(&whole.actions, w->actions);
        w->actions = &whole.actions;
    }
    if (request->stack)
        t->gpr[ENGINE_RSP] = request->stack;
    if (request->flags & CLONE_CLEAR_SIGHAND)
        whole_signals_cleared_as(w->actions);
    done(t, 0);
    return whole.events->fork_child(t);
}

/* The child has a copy of our memory, and this very stack. */
static enum engine_action clone_copied(struct engine_thread *t, const struct clone_request *request)
{
    engine_fork_before_as(t->engine);
    long result = whole_clone_as(t->gpr, NULL);
    if (result == 0)
        return forked(t, request) ? ENGINE_CONTINUE : whole_stopped_as(t, STOP_NO_MEMORY);
    engine_fork_parent_as(t->engine);
    return done(t, result);
}

static enum engine_action call_clone(struct engine_thread *t)
{
    struct clone_request request;
    if (!clone_read(t, &request))
        return ENGINE_RUN_SYSCALL; /* the kernel will refuse it too */
    uint64_t mask = whole_block_as();
    if (!t->mask_changed)
        whole_mask_as(t, mask);
    if (request.flags & CLONE_VM)
        return clone_shared(t, &request, t->mask);
    return clone_copied(t, &request);
}

/* A signal that was put off comes before the call that the program is about to make: natively it
 * would have been handled, and would keep the call from blocking. */
static bool signal_first(struct engine_thread *t)
{
    struct whole_signals *s = &whole_thread_as(t)->signals;
    bool first = s->put_off;
    s->put_off = false;
    if (first)
        t->rip -= SYSCALL_BYTES;
    return first;
}

static enum engine_action call_exit(struct engine_thread *t)
{
    struct whole_thread *w = whole_thread_as(t);
    uint64_t mask = whole_block_as();
    if (signal_first(t)) {
        if (!t->mask_changed)
            whole_mask_as(t, mask);
        return ENGINE_CONTINUE;
    }
    whole.events->thread_end(t);
    whole_exit_as(&w->ended, t->gpr[ENGINE_RDI]);
}

static enum engine_action call_exit_group(struct engine_thread *t)
{
    whole.events->thread_end(t);
    return ENGINE_RUN_SYSCALL;
}

static enum engine_action call_exec(struct engine_thread *t)
{
    whole_exec_begin_as(t);
    return ENGINE_RUN_SYSCALL;
}

/* ---- the thread's state ---- */

enum { SHADOW_STACK_ENABLE = 0x5001 }; /* ARCH_SHSTK_ENABLE of Linux 6.6 */

static enum engine_action call_arch_prctl(struct engine_thread *t)
{
    if (t->gpr[ENGINE_RDI] == ARCH_SET_GS)
        return leave(t, STOP_GS);
    if (t->gpr[ENGINE_RDI] == SHADOW_STACK_ENABLE)
        return leave(t, STOP_SHADOW_STACK);
    if (t->gpr[ENGINE_RDI] != ARCH_GET_GS)
        return ENGINE_RUN_SYSCALL;
    uint64_t base = 0; /* or the program would not be here */
    return done(t, whole_write_as(t->gpr[ENGINE_RSI], &base, sizeof base) ? 0 : -EFAULT);
}

static enum engine_action call_rseq(struct engine_thread *t)
{
    return done(t, -ENOSYS);
}

/* Who gives no filter only asks whether there are such: that fails, but where memory begins at
 * address 0. So does who asks for the strict mode with a flag, which has none (libseccomp). */
static enum engine_action filter(struct engine_thread *t, bool only_asks)
{
    if (!only_asks)
        return leave(t, STOP_SANDBOX);
    long result = plain(t);
    done(t, result);
    return sys_failed(result) ? ENGINE_CONTINUE : whole_stopped_as(t, STOP_SANDBOX);
}

static enum engine_action call_prctl(struct engine_thread *t)
{
    uint64_t option = t->gpr[ENGINE_RDI];
    if (option == PR_SET_SECCOMP && t->gpr[ENGINE_RSI] == SECCOMP_MODE_FILTER)
        return filter(t, !t->gpr[ENGINE_RDX]);
    /* the engine's clock */
    bool forbids =
        (option == PR_SET_TSC && t->gpr[ENGINE_RSI] == PR_TSC_SIGSEGV) ||
        /* where its calls are */
        (option == PR_SET_SYSCALL_USER_DISPATCH && t->gpr[ENGINE_RSI] != PR_SYS_DISPATCH_OFF);
    if (option == PR_SET_SECCOMP || forbids)
        return leave(t, STOP_SANDBOX);
    return ENGINE_RUN_SYSCALL;
}

static enum engine_action call_seccomp(struct engine_thread *t)
{
    switch (t->gpr[ENGINE_RDI]) {
    case SECCOMP_SET_MODE_STRICT:
        return filter(t, (uint32_t)t->gpr[ENGINE_RSI] != 0);
    case SECCOMP_SET_MODE_FILTER:
        return filter(t, !t->gpr[ENGINE_RDX]);
    default: /* only asks */
        return ENGINE_RUN_SYSCALL;
    }
}

static enum engine_action call_sigaction(struct engine_thread *t)
{
    return done(t, whole_sigaction_as(t));
}

static enum engine_action call_sigaltstack(struct engine_thread *t)
{
    return done(t, whole_sigaltstack_as(t));
}

static enum engine_action call_sigreturn(struct engine_thread *t)
{
    whole_sigreturn_as(t);
}

static call_function *const calls[CALLS] = {
    [SYS_mmap] = call_mmap,
    [SYS_mprotect] = call_range,
    [SYS_munmap] = call_range,
    [SYS_brk] = call_unmapping,
    [SYS_rt_sigaction] = call_sigaction,
    [SYS_rt_sigreturn] = call_sigreturn,
    [SYS_mremap] = call_mremap,
    [SYS_madvise] = call_madvise,
    [SYS_shmat] = call_unmapping,
    [SYS_shmdt] = call_unmapping,
    [SYS_clone] = call_clone,
    [SYS_fork] = call_clone,
    [SYS_vfork] = call_clone,
    [SYS_execve] = call_exec,
    [SYS_exit] = call_exit,
    [SYS_sigaltstack] = call_sigaltstack,
    [SYS_prctl] = call_prctl,
    [SYS_arch_prctl] = call_arch_prctl,
    [SYS_exit_group] = call_exit_group,
    [SYS_seccomp] = call_seccomp,
    [SYS_remap_file_pages] = call_unmapping,
    [SYS_execveat] = call_exec,
    [SYS_pkey_mprotect] = call_range,
    [SYS_rseq] = call_rseq,
    [SYS_clone3] = call_clone,
};

enum engine_action whole_system_call_as(struct engine_thread *t)
{
    uint64_t number = t->gpr[ENGINE_RAX];
    if (signal_first(t))
        return ENGINE_CONTINUE;
    if (engine_ended_as(t->engine) != STOP_COUNT)
        return leave(t, engine_ended_as(t->engine));
    if (whole_thread_as(t)->exec_ignores)
        whole_exec_failed_as(t);
    if (number >= CALLS || !calls[number])
        return ENGINE_RUN_SYSCALL;
    return calls[number](t);
}
