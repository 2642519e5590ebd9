#include "collector/attach/attach_call.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "collector/attach/attach_image.h"
#include "collector/attach/attach_thread.h"

enum { STUB_ROOM = 4096, STOP_MS = 10000, DIRECTION_FLAG = 1 << 10, SYSCALL_SIZE = 2 };

static const uint8_t stub[] = {0xff, 0xd0, 0x48, 0x89, 0xc7, 0xb8, SYS_getpid, 0, 0, 0, 0x0f, 0x05};
static const uint8_t go_back[] = {0x48, 0xbc, 0, 0, 0, 0, 0, 0, 0, 0, 0xc3};

/* The header of an XSAVE area follows the legacy part; the state components named in its first word
 * are in the area, all others are as after reset. MXCSR stands in the legacy part. */
enum { XSAVE_MXCSR = 24, XSAVE_COMPONENTS = 512, MXCSR_RESET = 0x1f80 };

static bool lost(const struct attach_call *c, const char *doing, struct err *e)
{
    return err_set(e, ERR_ATTACH, "process %d ended, or was ended, while penumbra %s", c->pid,
                   doing);
}

static bool save(pid_t tid, struct attach_thread_state *s)
{
    struct iovec state = {s->xstate, sizeof s->xstate};
    if (ptrace(PTRACE_GETREGS, tid, NULL, &s->regs) ||
        ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_X86_XSTATE, &state) ||
        ptrace(PTRACE_GETSIGMASK, tid, (void *)(uintptr_t)sizeof s->mask, &s->mask))
        return false;
    s->xstate_size = state.iov_len;
    return true;
}

static bool put_mask_and_xstate(const struct attach_call *c, uint64_t mask, uint8_t *xstate)
{
    struct iovec state = {xstate, c->state.xstate_size};
    return !ptrace(PTRACE_SETREGSET, c->tid, (void *)(uintptr_t)NT_X86_XSTATE, &state) &&
           !ptrace(PTRACE_SETSIGMASK, c->tid, (void *)(uintptr_t)sizeof mask, &mask);
}

/* From here on the thread goes its way back, if nobody leads it elsewhere. */
static bool turn_back(const struct attach_call *c)
{
    struct user_regs_struct regs = c->state.regs;
    if (!c->back.frame)
        return true;
    regs.rip = c->marks->syscall + SYSCALL_SIZE;
    regs.rsp = c->back.frame;
    regs.orig_rax = (unsigned long long)-1;
    return !ptrace(PTRACE_SETREGS, c->tid, NULL, &regs);
}

/* Signals wait, and the unit for floating point is as a function expects it: its stack empty. */
static bool make_quiet(const struct attach_call *c)
{
    uint8_t clean[ATTACH_XSTATE_MAX];
    uint64_t none = 0;
    uint32_t mxcsr = MXCSR_RESET;
    if (c->state.xstate_size < XSAVE_COMPONENTS + 64)
        return false;
    memcpy(clean, c->state.xstate, c->state.xstate_size);
    memcpy(clean + XSAVE_COMPONENTS, &none, sizeof none);
    memcpy(clean + XSAVE_MXCSR, &mxcsr, sizeof mxcsr);
    return turn_back(c) && put_mask_and_xstate(c, ~UINT64_C(0), clean);
}

/* Runs from `regs` until the stop at the entry or exit of the system call that ends at `end`. */
static bool run_to(const struct attach_call *c, struct user_regs_struct *regs, uint64_t end)
{
    int status;
    regs->orig_rax = (unsigned long long)-1;
    regs->eflags &= ~(unsigned long long)DIRECTION_FLAG;
    if (ptrace(PTRACE_SETREGS, c->tid, NULL, regs))
        return false;
    do {
        if (ptrace(PTRACE_SYSCALL, c->tid, NULL, NULL) ||
            !attach_thread_wait(c->tid, PTRACE_SYSCALL, 0, &status) ||
            ptrace(PTRACE_GETREGS, c->tid, NULL, regs))
            return false;
    } while (status >> 16 || regs->rip != end);
    return true;
}

/* From the entry of a system call to its exit. */
static bool run_through(const struct attach_call *c, struct user_regs_struct *regs)
{
    int status;
    do
        if (ptrace(PTRACE_SYSCALL, c->tid, NULL, NULL) ||
            !attach_thread_wait(c->tid, PTRACE_SYSCALL, 0, &status))
            return false;
    while (status >> 16);
    return !ptrace(PTRACE_GETREGS, c->tid, NULL, regs);
}

bool attach_call_system(struct attach_call *c, long number, const uint64_t argument[6],
                        int64_t *result, struct err *e)
{
    struct user_regs_struct regs = c->state.regs;
    regs.rip = c->marks->syscall;
    if (c->back.frame)
        regs.rsp = c->back.frame;
    regs.rax = (unsigned long long)number;
    regs.rdi = argument[0];
    regs.rsi = argument[1];
    regs.rdx = argument[2];
    regs.r10 = argument[3];
    regs.r8 = argument[4];
    regs.r9 = argument[5];
    if (!run_to(c, &regs, c->marks->syscall + SYSCALL_SIZE) || !run_through(c, &regs))
        return lost(c, "was at work in it", e);
    *result = (int64_t)regs.rax;
    return true;
}

bool attach_call_function(struct attach_call *c, uint64_t function, uint64_t a, uint64_t b,
                          uint64_t *result, struct err *e)
{
    struct user_regs_struct regs = c->state.regs;
    regs.rip = c->area;
    regs.rax = function;
    regs.rdi = a;
    regs.rsi = b;
    regs.rsp = c->area + STUB_ROOM + ATTACH_STACK - ATTACH_RETURN_MAX;
    regs.rbp = 0;
    if (!run_to(c, &regs, c->area + sizeof stub))
        return lost(c, "was at work in it", e);
    *result = regs.rdi;
    return run_through(c, &regs) || lost(c, "was at work in it", e);
}

static bool stub_write(const struct attach_call *c)
{
    uint8_t code[sizeof stub + sizeof go_back];
    memcpy(code, stub, sizeof stub);
    memcpy(code + sizeof stub, go_back, sizeof go_back);
    memcpy(code + sizeof stub + 2, &c->back.frame, sizeof c->back.frame);
    return attach_write(c->mem, c->area, code, sizeof code);
}

static bool area_make(struct attach_call *c, struct err *e)
{
    int64_t at = 0, protected = 0;
    const uint64_t map[6] = {0, STUB_ROOM + ATTACH_STACK, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0};
    if (!attach_call_system(c, SYS_mmap, map, &at, e))
        return false;
    if (at < 0)
        return err_set_errno(e, ERR_ATTACH, (int)-at,
                             "process %d can get no memory for the calls that "
                             "load libpenumbra-rt.so into it",
                             c->pid);
    c->area = (uint64_t)at;
    if (!c->back.frame)
        attach_return_below(&c->back, c->marks, c->area + STUB_ROOM + ATTACH_STACK, &c->state);
    const uint64_t protect[6] = {c->area, STUB_ROOM, PROT_READ | PROT_EXEC};
    if (!stub_write(c) ||
        !attach_call_system(c, SYS_mprotect, protect, &protected, e))
        return err_set(e, ERR_ATTACH, "the memory of process %d cannot be written", c->pid);
    if (protected < 0)
        return err_set_errno(e, ERR_ATTACH, (int)-protected, "process %d may not make memory "
                             "executable, which the call of dlopen in it needs", c->pid);
    return true;
}

bool attach_call_begin(struct attach_call *c, pid_t pid, pid_t tid,
                       const struct attach_landmarks *marks, struct err *e)
{
    *c = (struct attach_call){.pid = pid, .tid = tid, .mem = marks->mem, .marks = marks};
    if (!save(tid, &c->state))
        return err_set_errno(e, ERR_ATTACH, errno, "cannot read the registers of process %d", pid);
    c->saved = true;
    attach_return_on_stack(&c->back, marks, &c->state);
    if (!make_quiet(c))
        return err_set_errno(e, ERR_ATTACH, errno, "cannot set the registers of process %d", pid);
    return area_make(c, e);
}

uint64_t attach_call_data(struct attach_call *c, unsigned offset, const void *data, size_t size)
{
    uint64_t at = c->area + STUB_ROOM + offset;
    return offset + size <= ATTACH_DATA && attach_write(c->mem, at, data, size) ? at : 0;
}

/* All is put back in a stop on the way to a signal handler, not in one at a system call: there the
 * kernel then begins the interrupted system call again, as it would have without us. The registers
 * come last, because until then the thread goes its way back. */
static void put_back(struct attach_call *c)
{
    put_mask_and_xstate(c, c->state.mask, c->state.xstate);
    ptrace(PTRACE_SETREGS, c->tid, NULL, &c->state.regs);
    attach_return_remove(&c->back, c->mem);
    /* A sample of the call itself would end the interrupted system call. */
    attach_thread_drain(c->pid, c->tid, 0, 0, STOP_MS);
}

void attach_call_end(struct attach_call *c)
{
    struct err ignored = {0};
    int64_t result;
    const uint64_t unmap[6] = {c->area, STUB_ROOM + ATTACH_STACK};
    if (c->area)
        attach_call_system(c, SYS_munmap, unmap, &result, &ignored);
    c->area = 0;
    if (c->saved && attach_thread_stop_again(c->tid, STOP_MS) == ATTACH_STOPPED)
        put_back(c);
    attach_thread_go(c->pid, c->tid);
}
