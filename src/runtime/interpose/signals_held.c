#include "runtime/interpose/signals_held.h"

#include <time.h>

#include "runtime/interpose/signals_mask.h"
#include "runtime/process.h"
#include "runtime/self.h"
#include "runtime/thread.h"
#include "runtime/trigger/delivery.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/sys.h"

/* Programs that use our signal, block it and have it sent to a thread that does are rare; hardly
 * one does so in many threads at a time. */
enum { HELD_MOST = 64, FREE = 0, TAKEN = -1 };

/* Two may share memory and be others' processes (vfork): the owner is a thread's number, or the
 * process's with a high bit. */
#define SHARED (INT64_C(1) << 32)

static struct held {
    int64_t owner; /* atomic; FREE; TAKEN: being filled or emptied */
    siginfo_t info;
} held[HELD_MOST];
/* atomic: how many there are, and are being kept; 0 for nearly all programs, and nothing is
 * searched */
static uint32_t kept;

static int64_t owner_thread(void)
{
    return sys_call3_as(SYS_gettid, 0, 0, 0);
}

static int64_t owner_process(void)
{
    return sys_call3_as(SYS_getpid, 0, 0, 0) | SHARED;
}

static struct held *find_as(int64_t owner)
{
    for (unsigned i = 0; i < HELD_MOST; i++)
        if (__atomic_load_n(&held[i].owner, __ATOMIC_ACQUIRE) == owner)
            return &held[i];
    return NULL;
}

static bool claim_as(struct held *h, int64_t from)
{
    return __atomic_compare_exchange_n(&h->owner, &from, TAKEN, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

bool held_is_shared_as(const siginfo_t *info)
{
    return info->si_code != SI_TKILL;
}

bool held_keep_as(const siginfo_t *info)
{
    int64_t owner = held_is_shared_as(info) ? owner_process() : owner_thread();
    if (__atomic_load_n(&kept, __ATOMIC_ACQUIRE) && find_as(owner))
        return true;
    __atomic_fetch_add(&kept, 1, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < HELD_MOST; i++) {
        if (!claim_as(&held[i], FREE))
            continue;
        held[i].info = *info;
        __atomic_store_n(&held[i].owner, owner, __ATOMIC_SEQ_CST);
        return true;
    }
    __atomic_fetch_sub(&kept, 1, __ATOMIC_RELAXED);
    return false;
}

bool held_here_as(void)
{
    return __atomic_load_n(&kept, __ATOMIC_SEQ_CST) &&
           (find_as(owner_thread()) || find_as(owner_process()));
}

static bool take_as(int64_t owner, siginfo_t *info)
{
    struct held *h = find_as(owner);
    if (!h || !claim_as(h, owner))
        return false;
    *info = h->info;
    __atomic_store_n(&h->owner, FREE, __ATOMIC_RELEASE);
    __atomic_fetch_sub(&kept, 1, __ATOMIC_RELAXED);
    return true;
}

bool held_take_as(siginfo_t *info)
{
    return __atomic_load_n(&kept, __ATOMIC_SEQ_CST) &&
           (take_as(owner_thread(), info) || take_as(owner_process(), info));
}

/* A sample that came just before the signal was blocked is pending, and the kernel would drop what
 * is given to it. */
void held_drop_sample_as(int signal)
{
    const struct timespec now = {0, 0};
    uint64_t set = UINT64_C(1) << (signal - 1);
    siginfo_t info;
    if (sys_call6_as(SYS_rt_sigtimedwait, (long)&set, (long)&info, (long)&now, sizeof set, 0,
                     0) > 0 && !handler_is_ours(&info))
        held_keep_as(&info);
}

/* The kernel keeps one signal of this number for a thread. Between a look at what is pending and
 * the call that has it kept no sample may come: it would take the place. Returns whose trigger
 * stands still, or NULL: none takes samples. */
static struct rt_thread *samples_pause_as(void)
{
    struct rt_thread *t = process_foreign_as() ? NULL : self_get();
    if (!t || rt_quiet_as() || !thread_takes_samples_as(t))
        return NULL;
    trigger_pause_as(t);
    trigger_pause_discovery_as();
    return t;
}

static void samples_resume_as(struct rt_thread *t)
{
    if (t) {
        trigger_resume_discovery_as();
        trigger_resume_as(t);
    }
}

/* To itself a thread may send any siginfo. */
static void send_as(int signal, siginfo_t *info)
{
    sys_call6_as(SYS_rt_tgsigqueueinfo, sys_call3_as(SYS_getpid, 0, 0, 0), owner_thread(), signal,
                 (long)info, 0, 0);
}

bool held_programs_pending_as(int signal)
{
    const struct timespec now = {0, 0};
    uint64_t set = UINT64_C(1) << (signal - 1);
    siginfo_t info;
    struct rt_thread *t = samples_pause_as();
    bool programs = sys_call6_as(SYS_rt_sigtimedwait, (long)&set, (long)&info, (long)&now,
                                 sizeof set, 0, 0) > 0 && !handler_is_ours(&info);
    if (programs)
        send_as(signal, &info);
    samples_resume_as(t);
    return programs;
}

static void release(int signal)
{
    siginfo_t info;
    for (int i = 0; i < 2 && held_take_as(&info); i++) {
        uint64_t pending = 0;
        sys_call6_as(SYS_rt_sigpending, (long)&pending, 8, 0, 0, 0, 0);
        if (pending >> (signal - 1) & 1) {
            held_keep_as(&info);
            return;
        }
        send_as(signal, &info);
    }
}

/* Where the signal is blocked the kernel keeps one, and the other stays here. */
void held_release_as(int signal)
{
    struct rt_thread *t = held_here_as() ? samples_pause_as() : NULL;
    if (t)
        held_drop_sample_as(signal);
    release(signal);
    samples_resume_as(t);
}

void held_forget_thread_as(void)
{
    siginfo_t gone;
    if (__atomic_load_n(&kept, __ATOMIC_ACQUIRE))
        take_as(owner_thread(), &gone);
}

void held_forget_all_as(void)
{
    if (!__atomic_load_n(&kept, __ATOMIC_ACQUIRE))
        return;
    for (unsigned i = 0; i < HELD_MOST; i++)
        __atomic_store_n(&held[i].owner, FREE, __ATOMIC_RELEASE);
    __atomic_store_n(&kept, 0, __ATOMIC_RELEASE);
}
