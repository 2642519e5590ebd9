#include "inst/inst.h"

#include <pthread.h>
#include <sys/mman.h>

#include "sigsafe/hash.h"
#include "sigsafe/own_memory.h"
#include "sigsafe/sys.h"
#include "sigsafe/tools.h"

enum { THREAD_NONE, THREAD_MAKING, THREAD_READY, THREAD_ENDED };

static __thread struct inst_thread *self;
static __thread uint32_t state; /* changed by the thread and its handlers */

static pthread_key_t end_key;
static bool keyed;

void inst_drop_as(enum drop_reason why)
{
    __atomic_fetch_add(&guest.process->drops[why], 1, __ATOMIC_RELAXED);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Reproducible where the user gave a seed: by it and the thread's number. */
static uint64_t seed_as(void)
{
    uint64_t random = 0, number = __atomic_fetch_add(&inst.threads, 1, __ATOMIC_RELAXED);
    if (inst.settings->seed)
        random = inst.settings->seed + hash_word(number);
    else if (sys_call3_as(SYS_getrandom, (long)&random, sizeof random, 0) != sizeof random)
        random = sys_ticks_as() ^ (uint64_t)&random;
    random = mix(random);
    return random ? random : 1;
}

static void store_begin(struct rows_store *s, struct spool_rows *record, struct rows_layout layout)
{
    s->spool = &guest.spool;
    s->record = record;
    s->counts = inst.counts;
    s->layout = layout;
}

static bool records_make_as(struct inst_thread *t)
{
    struct spool_inst_thread *c = spool_alloc_as(&guest.spool, sizeof *c);
    t->record = c ? guest_thread_begin_as() : NULL;
    if (!t->record)
        return false;
    c->rows.tid = t->record->tid;
    t->counted = c;
    store_begin(&t->rows, &c->rows, INST_LAYOUT);
    store_begin(&t->values, &c->values, INST_VALUE_LAYOUT);
    hotlist_random_seed(&t->draws, t->random);
    spool_push_as(&guest.spool, &inst.counts->tables[TABLE_FIELDS], c);
    return true;
}

static struct inst_thread *make_as(void)
{
    long at = own_map_as(0, sizeof(struct inst_thread), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (sys_failed(at))
        return NULL;
    struct inst_thread *t = (struct inst_thread *)at;
    t->random = seed_as();
    if (records_make_as(t))
        return t;
    own_unmap_as(t, sizeof *t);
    return NULL;
}

/* The operations keep off vector registers, libc does not. */
static void end_key_set_as(void)
{
    struct inst_vectors vectors;
    inst_vectors_save_as(&vectors);
    pthread_setspecific(end_key, self);
    inst_vectors_restore_as(&vectors);
}

struct inst_thread *inst_thread_known_as(void)
{
    return state == THREAD_READY ? self : NULL;
}

struct inst_thread *inst_thread_as(void)
{
    if (state == THREAD_READY)
        return self;
    if (state != THREAD_NONE) {
        inst_drop_as(state == THREAD_MAKING ? DROP_NESTED : DROP_LATE);
        return NULL;
    }
    state = THREAD_MAKING;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self = make_as();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    state = self ? THREAD_READY : THREAD_NONE;
    if (!self)
        inst_drop_as(DROP_SPOOL_FULL);
    else if (keyed)
        end_key_set_as();
    return self;
}

static void thread_end(void *thread)
{
    struct inst_thread *t = thread;
    if (state != THREAD_READY || t != self)
        return;
    state = THREAD_ENDED;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self = NULL;
    inst_pairs_as(t);
    inst_paths_thread_end_as(t);
    guest_thread_end_as(t->record, 0);
    own_unmap_as(t, sizeof *t);
}

bool inst_threads_begin(void)
{
    enum { KEYS_IN_PLACE = 32 }; /* glibc allocates the places of others */
    keyed = pthread_key_create(&end_key, thread_end) == 0 && end_key < KEYS_IN_PLACE;
    return keyed;
}

/* The child goes on in the burst that its parent was in. */
void inst_thread_fork_child(void)
{
    bool had = state == THREAD_READY;
    uint32_t weight = had ? self->weight : 0, bursting = had ? self->bursting : 0;
    struct inst_paths *paths = had ? self->paths : NULL;
    if (had)
        own_unmap_as(self, sizeof *self);
    self = NULL;
    state = THREAD_NONE;
    struct inst_thread *t = had && inst.armed ? inst_thread_as() : NULL;
    if (!t) {
        inst_paths_free_as(paths);
        return;
    }
    t->weight = weight;
    t->bursting = bursting;
    t->paths = paths;
    t->burst = 1;
    t->counted->most = weight;
}
