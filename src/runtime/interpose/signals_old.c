/* The older ways to say what sigaction() and sigprocmask() say. Inside libc they do not pass
 * through those, so each would replace our handler or block our signal unseen. */
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/interpose/real.h"
#include "runtime/interpose/signals.h"
#include "runtime/interpose/signals_mask.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* In libc, but not declared by <signal.h> for _GNU_SOURCE. */
sighandler_t bsd_signal(int number, sighandler_t handler);
int __sigaction(int number, const struct sigaction *wanted, struct sigaction *old);

static sighandler_t handler_set(int number, sighandler_t handler, unsigned flags)
{
    struct sigaction wanted = {.sa_handler = handler, .sa_flags = (int)flags}, old;
    sigemptyset(&wanted.sa_mask);
    if (flags & SA_RESTART)
        sigaddset(&wanted.sa_mask, number);
    return sigaction(number, &wanted, &old) == 0 ? old.sa_handler : SIG_ERR;
}

EXPORT sighandler_t signal(int number, sighandler_t handler)
{
    if (!signals_ours(number))
        return signals_set_by_libc(number, true, REAL(signal)(number, handler));
    return handler_set(number, handler, SA_RESTART);
}

EXPORT sighandler_t bsd_signal(int number, sighandler_t handler)
{
    return signal(number, handler);
}

EXPORT sighandler_t ssignal(int number, sighandler_t handler)
{
    return signal(number, handler);
}

EXPORT sighandler_t sysv_signal(int number, sighandler_t handler)
{
    if (!signals_ours(number))
        return signals_set_by_libc(number, true, REAL(sysv_signal)(number, handler));
    return handler_set(number, handler, SA_RESETHAND | SA_NODEFER);
}

/* What signal() is in programs that ask for X/Open or ISO C alone. */
EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler)
{
    return sysv_signal(number, handler);
}

EXPORT int __sigaction(int number, const struct sigaction *wanted, struct sigaction *old)
{
    return sigaction(number, wanted, old);
}

static int mask_one(int how, int number, sigset_t *old)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    return sigprocmask(how, &set, old);
}

EXPORT sighandler_t sigset(int number, sighandler_t handler)
{
    struct sigaction action, before;
    sigset_t old;
    if (!signals_ours(number))
        return signals_set_by_libc(number, handler != SIG_HOLD, REAL(sigset)(number, handler));
    if (handler == SIG_HOLD) {
        if (mask_one(SIG_BLOCK, number, &old) != 0 || sigaction(number, NULL, &before) != 0)
            return SIG_ERR;
    } else {
        action.sa_handler = handler;
        action.sa_flags = 0;
        sigemptyset(&action.sa_mask);
        if (sigaction(number, &action, &before) != 0 || mask_one(SIG_UNBLOCK, number, &old) != 0)
            return SIG_ERR;
    }
    return sigismember(&old, number) == 1 ? SIG_HOLD : before.sa_handler;
}

EXPORT int sigignore(int number)
{
    if (!signals_ours(number)) {
        int result = REAL(sigignore)(number);
        if (result == 0)
            signals_set_by_libc(number, true, SIG_IGN);
        return result;
    }
    return handler_set(number, SIG_IGN, 0) == SIG_ERR ? -1 : 0;
}

EXPORT int sighold(int number)
{
    return signals_ours(number) ? mask_one(SIG_BLOCK, number, NULL) : REAL(sighold)(number);
}

EXPORT int sigrelse(int number)
{
    return signals_ours(number) ? mask_one(SIG_UNBLOCK, number, NULL) : REAL(sigrelse)(number);
}

EXPORT int siginterrupt(int number, int interrupt)
{
    struct sigaction action;
    if (!signals_ours(number))
        return REAL(siginterrupt)(number, interrupt);
    sigaction(number, NULL, &action);
    if (interrupt)
        action.sa_flags &= ~SA_RESTART;
    else
        action.sa_flags |= SA_RESTART;
    return sigaction(number, &action, NULL);
}

/* BSD's masks: the first 32 signals, libc's own among them. */
static int mask_bsd(int how, const int *mask)
{
    uint64_t set = mask ? (unsigned)*mask : 0;
    sigset_t wanted, old;
    sigemptyset(&wanted);
    memcpy(&wanted, &set, sizeof set);
    if (sigprocmask(how, mask ? &wanted : NULL, &old) != 0)
        return -1;
    return (int)(uint32_t)signals_mask_of(&old);
}

EXPORT int sigblock(int mask)
{
    return mask_bsd(SIG_BLOCK, &mask);
}

EXPORT int sigsetmask(int mask)
{
    return mask_bsd(SIG_SETMASK, &mask);
}

EXPORT int siggetmask(void)
{
    return mask_bsd(SIG_BLOCK, NULL);
}
