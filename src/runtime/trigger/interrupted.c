#include "runtime/trigger/interrupted.h"

#include <asm-generic/errno-base.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/interpose/signals_held.h"
#include "runtime/interpose/signals_mask.h"
#include "runtime/interpose/syscall_layout.h"
#include "runtime/trampoline/trampoline.h"
#include "sigsafe/sample_path.h"
#include "sigsafe/sys.h"

enum { SYSCALL_BYTES = 2, MOVE_BYTES = 5, EFLAGS_RF = 1 << 16, SIGNALS_LAST = 64 };

struct kernel_action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

/* The system call instruction leaves the address after it in rcx, and the flags in r11. */
static bool restarts(const greg_t *r)
{
    return r[REG_RCX] == r[REG_RIP] + SYSCALL_BYTES &&
           (r[REG_R11] | EFLAGS_RF) == (r[REG_EFL] | EFLAGS_RF);
}

static bool fails_with_eintr(const greg_t *r)
{
    return r[REG_RAX] == -EINTR && r[REG_RCX] == r[REG_RIP];
}

/* The calls that the kernel restarts after a handler with SA_RESTART. The registers of a context
 * that is about to make the same call once more may look the same: then EINTR is as right, for
 * these. */
static bool may_restart(greg_t number)
{
    static const uint16_t calls[] = {
        SYS_read,     SYS_write,    SYS_readv,     SYS_writev,   SYS_preadv,    SYS_pwritev,
        SYS_preadv2,  SYS_pwritev2, SYS_open,      SYS_openat,   SYS_openat2,   SYS_creat,
        SYS_ioctl,    SYS_fcntl,    SYS_flock,     SYS_accept,   SYS_accept4,   SYS_connect,
        SYS_sendto,   SYS_recvfrom, SYS_sendmsg,   SYS_recvmsg,  SYS_sendmmsg,  SYS_recvmmsg,
        SYS_wait4,    SYS_waitid,   SYS_futex,     SYS_msgsnd,   SYS_msgrcv,    SYS_semop,
        SYS_splice,   SYS_tee,      SYS_vmsplice,  SYS_sendfile, SYS_getrandom, SYS_mq_timedsend,
        SYS_mq_timedreceive, SYS_copy_file_range};
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        if (number == calls[i])
            return true;
    return false;
}

static uint64_t mask_of(const ucontext_t *u)
{
    return *(const uint64_t *)(const void *)&u->uc_sigmask;
}

static uint64_t pending_now(void)
{
    uint64_t pending = 0;
    sys_call6_as(SYS_rt_sigpending, (long)&pending, sizeof pending, 0, 0, 0, 0);
    return pending;
}

enum delivered { NO_HANDLER, HANDLER_RESTARTS, HANDLER_ENDS };

/* What the first handler does that the kernel will run for one of these signals. */
static enum delivered first_handler(uint64_t signals)
{
    for (int i = 1; signals && i <= SIGNALS_LAST; i++) {
        struct kernel_action action = {SIG_DFL, 0, 0, 0};
        if (!(signals >> (i - 1) & 1))
            continue;
        sys_call6_as(SYS_rt_sigaction, i, 0, (long)&action, sizeof action.mask, 0, 0);
        if (action.handler != SIG_DFL && action.handler != SIG_IGN)
            return action.flags & SA_RESTART ? HANDLER_RESTARTS : HANDLER_ENDS;
    }
    return NO_HANDLER;
}

/* Whether n <= 4096 bytes are there: a call that reads them has no effect, since `how` is none. */
static bool readable(uint64_t address, unsigned n)
{
    enum { NO_HOW = -1 };
    return sys_call6_as(SYS_rt_sigprocmask, NO_HOW, (long)address, 0, sizeof(uint64_t), 0, 0) !=
               -EFAULT &&
           sys_call6_as(SYS_rt_sigprocmask, NO_HOW, (long)(address + n - sizeof(uint64_t)), 0,
                        sizeof(uint64_t), 0, 0) != -EFAULT;
}

static bool same(const uint8_t *code, const uint8_t *pattern, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (code[i] != pattern[i])
            return false;
    return true;
}

/* The number where the code before a call loads it from the stack into rsi, as an argument:
 *
 *     48 8b 74 24 XX    mov XX(%rsp), %rsi
 *     ...               moves between registers, pushes
 *     e8 .. .. .. ..    call
 *
 * after: what the call returns to; rsp: before the call. -1: other code. */
static int number_from_caller(uint64_t after, uint64_t rsp)
{
    enum { LOAD_BYTES = 5, CALL_BYTES = 5, NEAR = 48 };
    static const uint8_t load[] = {0x48, 0x8b, 0x74, 0x24};
    const uint8_t *call = (const uint8_t *)after - CALL_BYTES;
    if (!readable(after - NEAR, NEAR) || *call != 0xe8)
        return -1;
    for (const uint8_t *at = call - LOAD_BYTES; at >= (const uint8_t *)after - NEAR; at--) {
        if (!same(at, load, sizeof load))
            continue;
        const uint8_t *next = at + LOAD_BYTES;
        uint64_t slot = rsp + (uint64_t)(int8_t)at[LOAD_BYTES - 1];
        while (next < call) {
            bool extended = (*next & 0xf0) == 0x40;
            if ((next[extended] & 0xf8) == 0x50) {
                slot += sizeof(uint64_t);
                next += extended + 1;
            } else if (extended && (next[1] == 0x89 || next[1] == 0x8b) && next[2] >= 0xc0) {
                next += 3;
            } else {
                break;
            }
        }
        if (next == call)
            return *(const int *)slot;
    }
    return -1;
}

/* The number of a call by libc's syscall(), where interpose/syscall.S has left it; -1: it came
 * another way. A sample may have replaced the return address meanwhile. */
static int number_onward(uint64_t rsp)
{
    if (!readable(rsp - SYSCALL_CHECK, SYSCALL_CHECK + sizeof(uint64_t)))
        return -1;
    uint64_t number = *(const uint64_t *)(rsp - SYSCALL_NUMBER), back = *(const uint64_t *)rsp;
    uint64_t marked = *(const uint64_t *)(rsp - SYSCALL_CHECK) ^ SYSCALL_MARK ^ number;
    return marked == back || marked == trampoline_true_as(back) ? (int)number : -1;
}

/* That of an instruction mov $number, %eax; -1: it is another one. */
static int number_loaded(const uint8_t *code)
{
    if (!readable((uint64_t)code, 8) || code[0] != 0xb8)
        return -1;
    return code[1] | code[2] << 8 | code[3] << 16 | code[4] << 24;
}

/* The number of the system call before rip; -1: not known. The kernel overwrites it with the
 * result; it is told by the code:
 *
 *     b8 number             mov $number, %eax          most
 *     0f 05                 syscall
 *
 *     b8 number             mov $number, %eax          pselect, epoll_pwait, epoll_pwait2, in more
 *     8b 7c 24 XX           mov XX(%rsp), %edi         than one thread
 *     0f 05                 syscall
 *
 *     4c 8b 4c 24 08        mov 8(%rsp), %r9           syscall()
 *     0f 05                 syscall
 *
 *     48 8b 44 24 XX        mov XX(%rsp), %rax         glibc from 2.41 on, in one thread; others
 *     0f 05                 syscall
 *
 *     4c 8b 44 24 08        mov 8(%rsp), %r8           glibc from 2.41 on, in more than one thread: all calls
 *     4c 8b 4c 24 10        mov 16(%rsp), %r9          that can be cancelled go through this function, its
 *     4c 89 5c 24 08        mov %r11, 8(%rsp)          second argument (rsi) is the number, and its
 *     0f 05                 syscall                    return address lies at rsp */
static int number_before(const greg_t *r)
{
    static const uint8_t cancellable[] = {0x4c, 0x8b, 0x44, 0x24, 0x08, 0x4c, 0x8b, 0x4c, 0x24,
                                          0x10, 0x4c, 0x89, 0x5c, 0x24, 0x08, 0x0f, 0x05};
    static const uint8_t from_stack[] = {0x48, 0x8b, 0x44, 0x24};
    static const uint8_t by_number[] = {0x4c, 0x8b, 0x4c, 0x24, 0x08};
    static const uint8_t first[] = {0x8b, 0x7c, 0x24};
    uint64_t rip = (uint64_t)r[REG_RIP], rsp = (uint64_t)r[REG_RSP];
    const uint8_t *code = (const uint8_t *)rip - SYSCALL_BYTES - MOVE_BYTES;
    if (!readable((uint64_t)code, 8) || code[5] != 0x0f || code[6] != 0x05)
        return -1;
    if (code[0] == 0xb8)
        return number_loaded(code);
    if (same(code + 1, first, sizeof first))
        return number_loaded(code + 1 - MOVE_BYTES);
    if (same(code, from_stack, sizeof from_stack))
        return *(const int *)(rsp + (uint64_t)(int8_t)code[4]);
    if (same(code, by_number, sizeof by_number))
        return number_onward(rsp);
    code = (const uint8_t *)rip - sizeof cancellable;
    if (readable((uint64_t)code, sizeof cancellable) && same(code, cancellable, sizeof cancellable))
        return number_from_caller(trampoline_true_as(*(const uint64_t *)rsp),
                                  rsp + sizeof(uint64_t));
    return -1;
}

/* The mask that a waiting call sets for its time; NULL: none. */
static const uint64_t *own_mask(int number, const greg_t *r)
{
    enum { WAITS = 1, MASK_IS_MORE = 8 }; /* IORING_ENTER_GETEVENTS, _EXT_ARG: in a structure */
    switch (number) {
    case SYS_rt_sigsuspend:
        return (const uint64_t *)r[REG_RDI];
    case SYS_ppoll:
        return (const uint64_t *)r[REG_R10];
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
        return (const uint64_t *)r[REG_R8];
    case SYS_io_uring_enter:
        return (r[REG_R10] & (WAITS | MASK_IS_MORE)) == WAITS ? (const uint64_t *)r[REG_R8] : NULL;
    case SYS_pselect6:
        return r[REG_R9] ? *(const uint64_t *const *)r[REG_R9] : NULL;
    default:
        return NULL;
    }
}

/* What is pending, without a sample: where one comes as soon as the last one is over, the program's
 * own signal would be waited for again and again after its handler has run. */
static uint64_t programs_pending(void)
{
    uint64_t pending = pending_now(), ours = UINT64_C(1) << (signals_number_as() - 1);
    return pending & ours && !held_programs_pending_as(signals_number_as()) ? pending & ~ours
                                                                           : pending;
}

void interrupted_end_as(ucontext_t *u)
{
    greg_t *r = u->uc_mcontext.gregs;
    if (!restarts(r) || !may_restart(r[REG_RAX]))
        return;
    r[REG_RAX] = -EINTR;
    r[REG_RIP] += SYSCALL_BYTES;
}

static __attribute__((noinline)) void restarting_end(ucontext_t *u)
{
    if (may_restart(u->uc_mcontext.gregs[REG_RAX]) &&
        first_handler(pending_now() & ~mask_of(u)) == HANDLER_ENDS)
        interrupted_end_as(u);
}

static __attribute__((noinline)) void waiting_again(ucontext_t *u)
{
    greg_t *r = u->uc_mcontext.gregs;
    int number = number_before(r);
    const uint64_t *mask = own_mask(number, r);
    if (!mask || !readable((uint64_t)mask, sizeof *mask))
        return;
    /* Made again, the call at once finds the signal that its own mask lets through; one that is
     * ignored is gone then, and the call goes on. Only then: a context that the program's own
     * handler has just returned to looks the same. */
    if (first_handler(pending_now() & ~mask_of(u)) == NO_HANDLER && programs_pending() & ~*mask) {
        r[REG_RAX] = number;
        r[REG_RIP] -= SYSCALL_BYTES;
    }
}

/* A sample asks no more than whether it interrupted a call. */
SAMPLE_PATH
void interrupted_repair_as(ucontext_t *u)
{
    const greg_t *r = u->uc_mcontext.gregs;
    if (restarts(r))
        restarting_end(u);
    else if (fails_with_eintr(r))
        waiting_again(u);
}

void interrupted_again_as(ucontext_t *u)
{
    greg_t *r = u->uc_mcontext.gregs;
    int number = fails_with_eintr(r) ? number_before(r) : -1;
    if (number < 0 || first_handler(pending_now() & ~mask_of(u)) != NO_HANDLER)
        return;
    r[REG_RAX] = number;
    r[REG_RIP] -= SYSCALL_BYTES;
}
