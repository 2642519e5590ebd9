/* Memory that the program limits, locks, makes writable, or sets apart for signals. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "runtime/carrier/carrier.h"
#include "runtime/interpose/pointers.h"
#include "runtime/interpose/alternate.h"
#include "runtime/interpose/real.h"
#include "runtime/interpose/signals.h"
#include "runtime/process.h"
#include "runtime/self.h"
#include "runtime/thread.h"
#include "runtime/trigger/sync.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/own_memory.h"
#include "sigsafe/signal_frame.h"
#include "sigsafe/sys.h"

/* Gives back what the spool holds of the address space beyond `keep` bytes and what is in use.
 * Without more room samples are dropped and counted. */
static void spool_shrink(uint64_t keep)
{
    enum { AHEAD = 4 << 20, PAGE = 4096 };
    if (!rt_profiled_as() || rt_quiet_as() || process_foreign_as())
        return;
    uint64_t used = __atomic_load_n(&spool_header(&guest.spool)->next, __ATOMIC_RELAXED) + AHEAD;
    uint64_t mapped = guest.spool.mapped;
    keep = (used > keep ? used : keep) / PAGE * PAGE;
    if (keep >= mapped)
        return;
    __atomic_store_n(&guest.spool.mapped, keep, __ATOMIC_SEQ_CST);
    own_unmap_as(guest.spool.base + keep, mapped - keep);
}

/* Before the program limits its address space. */
static void room_make(const struct rlimit64 *limit)
{
    enum { SHARE = 16 };
    if (!rt_profiled_as() || rt_quiet_as() || !pointer_readable_as(limit, sizeof *limit))
        return;
    if (limit->rlim_cur != RLIM64_INFINITY)
        spool_shrink(limit->rlim_cur / SHARE);
}

EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
    if (resource == RLIMIT_AS)
        room_make(limit);
    return REAL(setrlimit64)(resource, limit);
}

/* With 64-bit offsets <sys/resource.h> gives the name `setrlimit` to setrlimit64. */
EXPORT int setrlimit_plain(__rlimit_resource_t resource,
                           const struct rlimit64 *limit) __asm__("setrlimit");
int setrlimit_plain(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
    return setrlimit64(resource, limit);
}

EXPORT int prlimit64(pid_t pid, __rlimit_resource_t resource, const struct rlimit64 *limit,
                     struct rlimit64 *old)
{
    if (resource == RLIMIT_AS && (pid == 0 || pid == guest.pid))
        room_make(limit);
    return REAL(prlimit64)(pid, resource, limit, old);
}

EXPORT int prlimit_plain(pid_t pid, __rlimit_resource_t resource, const struct rlimit64 *limit,
                         struct rlimit64 *old) __asm__("prlimit");
int prlimit_plain(pid_t pid, __rlimit_resource_t resource, const struct rlimit64 *limit,
                  struct rlimit64 *old)
{
    return prlimit64(pid, resource, limit, old);
}

/* Code of an image that can be written can change: bursts trust it no more. */
static int protection_note(int result, void *at, size_t size, int protection)
{
    if (result == 0 && protection & PROT_WRITE)
        CARRIER_TELL(memory_changed, ((uint64_t)at, (uint64_t)at + size, MEMORY_WRITABLE));
    return result;
}

EXPORT int mprotect(void *at, size_t size, int protection)
{
    if (!(protection & PROT_WRITE))
        return REAL(mprotect)(
            at, size,
            protection); /* nothing is written behind the call: the stack itself may be meant */
    return protection_note(REAL(mprotect)(at, size, protection), at, size, protection);
}

EXPORT int pkey_mprotect(void *at, size_t size, int protection, int key)
{
    return protection_note(REAL(pkey_mprotect)(at, size, protection, key), at, size, protection);
}

/* Nothing becomes executable that was not before: the kernel tells nobody. */
EXPORT void *mremap(void *from, size_t size, size_t wanted, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    void *to = flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) ? va_arg(more, void *) : NULL;
    va_end(more);
    void *result = REAL(mremap)(from, size, wanted, flags, to);
    if (result != MAP_FAILED && result != from) {
        sync_families_moved(from, result);
        const struct { uint64_t lo, hi; } changed[] = {
            {(uint64_t)from, (uint64_t)from + size}, {(uint64_t)result, (uint64_t)result + wanted}};
        for (unsigned i = 0; i < 2; i++)
            CARRIER_TELL(memory_changed, (changed[i].lo, changed[i].hi, MEMORY_MOVED));
    }
    return result;
}

/* A program may give one alternate stack to several threads (Varnish does, to all of them), as long
 * as no two handlers run on it at once: ours would. It leaves before the second thread comes. */
static void alternate_note(struct rt_thread *t, const stack_t *stack)
{
    uint64_t at = (uint64_t)stack->ss_sp;
    bool none = stack->ss_flags & SS_DISABLE;
    if (thread_alternate_as(t, none ? 0 : at, none ? 0 : at + stack->ss_size))
        signals_leave_alternate_as();
}

/* Where our signals come on the program's alternate stack: it may be too small for any signal on
 * this processor, as long as none comes, and then ours must not come either. What the handler needs
 * itself it has elsewhere. Until the stack is known no signal comes. */
static int alternate_plain(struct rt_thread *t, const stack_t *stack, stack_t *old)
{
    enum { ENTRY = 512 };
    sigset_t all, mask;
    stack_t now;
    memset(&all, 0xff, sizeof all);
    REAL(sigprocmask)(SIG_SETMASK, &all, &mask);
    int result = REAL(sigaltstack)(stack, old), error = errno;
    bool known = REAL(sigaltstack)(NULL, &now) == 0;
    if (known)
        alternate_note(t, &now);
    bool short_of =
        known && !(now.ss_flags & SS_DISABLE) && now.ss_size < signal_frame_size_here_as() + ENTRY;
    bool was = t->alternate.too_short;
    t->alternate.too_short = short_of;
    if (short_of && !was) {
        trigger_pause_as(t);
        trigger_pause_discovery_as(); /* it comes to every thread */
    } else if (was) {
        trigger_resume_as(t);
    }
    REAL(sigprocmask)(SIG_SETMASK, &mask, NULL);
    errno = error;
    return result;
}

EXPORT int sigaltstack(const stack_t *restrict stack, stack_t *restrict old)
{
    struct rt_thread *t = self_get();
    if (!t || !carrier_samples_as())
        return REAL(sigaltstack)(stack, old);
    if (stack && rt_profiled_as() && process_foreign_as())
        return alternate_change_child(t, stack, old);
    if (t->alternate.is_ours || alternate_takes_as())
        return alternate_change(t, stack, old);
    return stack && rt_profiled_as() && !rt_quiet_as() ? alternate_plain(t, stack, old)
                                                       : REAL(sigaltstack)(stack, old);
}

/* What interpose/syscall.S hands on. */
long sigaltstack_by_number(long number, const stack_t *stack, stack_t *old);
long sigaltstack_by_number(long number, const stack_t *stack, stack_t *old)
{
    (void)number;
    return sigaltstack(stack, old);
}
