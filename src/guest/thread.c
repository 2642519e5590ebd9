#include "guest/guest.h"

#include <sys/prctl.h>
#include <time.h>

#include "sigsafe/key.h"
#include "sigsafe/sys.h"

/* Drops are no part of the core: of another layout they cannot be counted. */
static void drop_as(enum drop_reason why)
{
    if (guest.layout_known)
        __atomic_fetch_add(&guest.process->drops[why], 1, __ATOMIC_RELAXED);
}

struct spool_thread *guest_thread_make_as(int32_t tid, uint32_t phase)
{
    struct cct_node *root = spool_alloc_as(&guest.spool, sizeof *root);
    struct spool_thread *t = root ? spool_alloc_as(&guest.spool, guest.thread_size) : NULL;
    if (!t)
        return NULL;
    root->key = key_pseudo(KEY_ROOT);
    t->tid = tid;
    t->tree = spool_ref_of(&guest.spool, root);
    t->phase = phase;
    if (!guest_quiet_as())
        t->start_ns = sys_clock_ns_as(CLOCK_MONOTONIC);
    return t;
}

void guest_thread_publish_as(struct spool_thread *t)
{
    spool_push_as(&guest.spool, &guest.process->threads, t);
}

void guest_thread_name_as(struct spool_thread *t)
{
    if (!guest_quiet_as())
        sys_call3_as(SYS_prctl, PR_GET_NAME, (long)t->name, 0);
}

struct spool_thread *guest_thread_begin_as(void)
{
    if (guest_quiet_as())
        return NULL;
    int32_t tid = (int32_t)sys_call3_as(SYS_gettid, 0, 0, 0);
    struct spool_thread *t =
        guest_thread_make_as(tid, __atomic_load_n(&guest.phase, __ATOMIC_ACQUIRE));
    if (!t) {
        drop_as(DROP_SPOOL_FULL);
        return NULL;
    }
    guest_thread_name_as(t);
    guest_thread_publish_as(t);
    return t;
}

void guest_thread_end_as(struct spool_thread *t, uint64_t elsewhere_ns)
{
    if (guest_quiet_as())
        return;
    guest_thread_name_as(t);
    t->cpu_ns = sys_clock_ns_as(CLOCK_THREAD_CPUTIME_ID) - elsewhere_ns;
    t->end_ns = sys_clock_ns_as(CLOCK_MONOTONIC);
}
