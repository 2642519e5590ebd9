/* Walks the user's stack in the kernel, at a sample, by the tables that the collector has compiled.
 *
 *     cpu-clock ──> machine_walk ──┬─ the walk reaches the root: one small record     ──> ring
 *                                  └─ else: a record of what is missing, and perf's   ──> ring
 *                                     own sample, with registers and a piece of stack
 *
 * It returns 0 if perf is to write no sample. So nothing is lost by what it cannot do.
 *
 * Context: the kernel's timer interrupt; no two at a time on one CPU.
 * Ownership: the collector's maps (layout.h); nothing in them is trusted. */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "collector/machine/bpf/layout.h"
#include "unwind/table.h"

/* The kernel's helpers ask for a licence that agrees with its own: this file may be used by the
 * GPL, version 2, as well as by the project's licence. */
char walk_license[] SEC("license") = "GPL";

enum { KERNEL_THREAD = 0x00200000 /* PF_KTHREAD */, USER_64 = 0x33 /* __USER_CS */, GREGS = 40 };

/* ---- what is needed of the kernel's structures; found where this kernel has them ---- */

struct mm_struct {
    unsigned long exec_vm;
} __attribute__((preserve_access_index));

struct task_struct {
    unsigned int flags;
    struct mm_struct *mm;
    struct task_struct *group_leader;
    uint64_t start_boottime;
    uint64_t self_exec_id;
} __attribute__((preserve_access_index));

struct pt_regs___kernel {
    unsigned long bp, ip, cs, sp;
} __attribute__((preserve_access_index));

/* ---- maps ---- */

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct walk_control);
} control SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, WALK_PROCESSES);
    __type(key, uint32_t);
    __type(value, struct walk_process);
} processes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, WALK_TABLES);
    __type(key, uint32_t);
    __type(value, struct walk_table);
} tables SEC(".maps");

/* As many words as the collector asks for. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, uint64_t);
} pool SEC(".maps");

/* Events whose output is the CPU's ring. */
struct {
    __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    __type(key, uint32_t);
    __type(value, uint32_t);
} events SEC(".maps");

/* The rule of a return address: table and link-time address. */
struct known {
    uint64_t key;
    uint32_t rule;
    uint32_t version; /* of all tables, and of the time: so that all that are needed are marked */
};

enum { KNOWN_BITS = 10, KNOWN_SHIFT = 48 };

struct scratch {
    uint32_t aligns; /* 8 bytes: the record's addresses */
    struct walk_record record;
    struct known known[1 << KNOWN_BITS];
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct scratch);
} scratches SEC(".maps");

/* ---- rules ---- */

struct walk {
    const struct walk_process *process;
    struct scratch *scratch;
    uint32_t slot; /* the process's */
    uint64_t ip, sp, bp;
    uint32_t epoch, version;
    uint32_t count;
    uint32_t map; /* that the last address was in */
    uint32_t reason;
    bool exact;   /* ip was interrupted, it is no return address */
};

static __always_inline uint64_t word(uint32_t at)
{
    const uint64_t *found = bpf_map_lookup_elem(&pool, &at);
    return found ? *found : 0;
}

static __always_inline uint32_t bucket(const struct walk_table *t, uint32_t number)
{
    uint64_t pair = word(t->bucket_at + number / 2);
    return (uint32_t)(number & 1 ? pair >> 32 : pair);
}

/* The last word from low to high whose lower half is not above offset. A function that is not
 * static is verified once, and not wherever it is called. */
__attribute__((noinline)) uint32_t row_search(uint32_t low, uint32_t high, uint32_t offset)
{
    for (int i = 0; i < WALK_SEARCH; i++) {
        if (low >= high)
            break;
        uint32_t middle = high - (high - low) / 2;
        if ((uint32_t)word(middle) <= offset)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* unwind_table_find_as, of a table in the pool. */
static __always_inline uint32_t row_find(const struct walk_table *t, uint64_t offset)
{
    uint32_t number = (uint32_t)(offset >> UNWIND_BUCKET_SHIFT);
    uint32_t low = bucket(t, number), high = bucket(t, number + 1), last = t->rows - 1;
    if (low > last)
        low = last;
    if (high > last)
        high = last;
    return row_search(t->row_at + low, t->row_at + high, (uint32_t)offset) - t->row_at;
}

static __always_inline bool has_frames(uint32_t rule)
{
    return rule_kind(rule) != RULE_NONE && rule_kind(rule) != RULE_CODE;
}

/* A return address where a function without CFI begins that nothing has called may be a signal's
 * trampoline: not for us. */
static __always_inline bool ends_there(const struct walk_table *t, uint64_t offset, uint32_t at)
{
    if (at + 1 >= t->rows)
        return false;
    uint64_t next = word(t->row_at + at + 1);
    return (uint32_t)next == offset + 1 && !has_frames((uint32_t)(next >> 32));
}

/* ---- maps ---- */

static __always_inline const struct walk_map *map_at(const struct walk_process *p, uint32_t i)
{
    return &p->map[i & (WALK_MAPS - 1)];
}

/* The first map of a process that ends above an address; its count, if none does. */
__attribute__((noinline)) uint32_t map_search(uint32_t slot, uint64_t pc)
{
    const struct walk_process *p = bpf_map_lookup_elem(&processes, &slot);
    uint32_t low = 0, high = p ? p->count : 0;
    for (int i = 0; p && i < WALK_SEARCH; i++) {
        if (low >= high)
            break;
        uint32_t middle = (low + high) / 2;
        if (map_at(p, middle)->hi <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static __always_inline const struct walk_map *map_find(struct walk *w, uint64_t pc)
{
    const struct walk_map *m = map_at(w->process, w->map);
    if (pc - m->lo < m->hi - m->lo)
        return m;
    uint32_t low = w->map = map_search(w->slot, pc);
    m = map_at(w->process, low);
    return low < w->process->count && pc - m->lo < m->hi - m->lo ? m : NULL;
}

/* ---- a step ---- */

static __always_inline long ends(struct walk *w, enum walk_reason reason)
{
    w->reason = reason;
    return 1;
}

/* The kernel's frame of a signal, as in unwind/step.c. */
static __always_inline long signal_step(struct walk *w)
{
    /* of r8 .. r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, those from rbp on */
    enum { RBP = 10, WORDS = 7, RSP = 5, RIP = 6 };
    uint64_t regs[WORDS];
    if (bpf_probe_read_user(regs, sizeof regs, (const void *)(w->sp + GREGS + 8 * RBP)))
        return ends(w, WALK_MEMORY);
    w->bp = regs[0];
    w->sp = regs[RSP];
    w->ip = regs[RIP];
    w->exact = true;
    return 0;
}

/* The rule at an address of an image; 0: none, or not for us. */
static __always_inline uint32_t table_rule(const struct walk *w, struct walk_table *t,
                                           uint64_t vaddr)
{
    uint64_t offset = vaddr - t->text_lo;
    if (offset >> UNWIND_BUCKET_SHIFT >= t->buckets)
        return 0;
    if (t->used != w->epoch)
        t->used = w->epoch;
    uint32_t at = row_find(t, offset), rule = (uint32_t)(word(t->row_at + at) >> 32);
    return !w->exact && ends_there(t, offset, at) ? 0 : rule;
}

/* The rule at an address; RULE_NONE, and why. Those of return addresses are remembered: a table is
 * some reads of memory away that nothing else uses. */
static __always_inline uint32_t rule_find(struct walk *w, uint64_t pc)
{
    const struct walk_map *m = map_find(w, pc);
    if (!m) {
        w->reason = WALK_NO_MAP;
        return 0;
    }
    uint32_t number = m->table;
    uint64_t key = (pc - m->bias) | (uint64_t)number << KNOWN_SHIFT;
    uint32_t slot = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - KNOWN_BITS));
    struct known *k = &w->scratch->known[slot & ((1 << KNOWN_BITS) - 1)];
    w->reason = WALK_RULE;
    if (!w->exact && k->key == key && k->version == w->version)
        return k->rule;
    struct walk_table *t = bpf_map_lookup_elem(&tables, &number);
    if (!t || !number || !t->rows) {
        w->reason = WALK_NO_TABLE;
        return 0;
    }
    uint32_t rule = table_rule(w, t, pc - m->bias);
    if (!w->exact)
        *k = (struct known){key, rule, w->version};
    return rule;
}

/* To the caller, whose frame is above cfa. */
static __always_inline long frame_step(struct walk *w, uint64_t cfa, uint32_t slot)
{
    uint64_t top[2]; /* rbp is next to the return address in most frames */
    if (cfa <= w->sp || bpf_probe_read_user(top, sizeof top, (const void *)(cfa - sizeof top)))
        return ends(w, WALK_MEMORY);
    if (slot == 2)
        w->bp = top[0];
    else if (slot && bpf_probe_read_user(&w->bp, sizeof w->bp, (const void *)(cfa - 8 * slot)))
        return ends(w, WALK_MEMORY);
    w->sp = cfa;
    w->ip = top[1];
    w->exact = false;
    return w->ip ? 0 : ends(w, WALK_DONE);
}

static long walk_frame(uint32_t i, void *context)
{
    (void)i;
    struct walk *w = context;
    uint64_t pc = w->exact ? w->ip : w->ip - 1;
    if (w->count >= WALK_FRAMES)
        return ends(w, WALK_DEEP);
    w->scratch->record.address[w->count & (WALK_FRAMES - 1)] = pc;
    w->count++;
    uint32_t rule = rule_find(w, pc), slot = rule_slot(rule);
    uint64_t offset = 8 * (uint64_t)rule_offset(rule);
    switch (rule_kind(rule)) {
    case RULE_RSP: return frame_step(w, w->sp + offset, slot);
    case RULE_RBP: return frame_step(w, w->bp + offset, slot);
    case RULE_PLT:
        return frame_step(w, w->sp + ((w->ip & 15) >= rule_offset(rule) ? 16 : 8), slot);
    case RULE_SIGNAL: return signal_step(w);
    case RULE_ROOT: return ends(w, WALK_DONE);
    default: return 1;
    }
}

/* ---- a sample ---- */

/* Changes with the program that is executed, and whenever more or less code is mapped. Both as of
 * one moment: so what the collector knows of that moment is what is mapped as long as this is the
 * same. */
static __always_inline uint64_t identity_of(const struct task_struct *task)
{
    uint64_t id = task->group_leader->start_boottime * UINT64_C(0x9e3779b97f4a7c15);
    id = (id ^ id >> 32 ^ task->self_exec_id) * UINT64_C(0xff51afd7ed558ccd);
    return (id ^ id >> 32 ^ task->mm->exec_vm) * UINT64_C(0xc4ceb9fe1a85ec53);
}

/* The registers with which the thread goes on in user mode: where it entered the kernel, by this
 * interrupt or before. False: a 32-bit program. */
static __always_inline bool registers_read(struct task_struct *task, struct walk *w)
{
    const struct pt_regs___kernel *r = (const void *)bpf_task_pt_regs(task);
    w->ip = r->ip;
    w->sp = r->sp;
    w->bp = r->bp;
    return (r->cs & 0xffff) == USER_64;
}

static __always_inline uint32_t sequence_of(const uint32_t *sequence)
{
    return *(const volatile uint32_t *)sequence;
}

static __always_inline enum walk_reason walk(struct walk *w, uint64_t identity, int32_t pid)
{
    uint32_t zero = 0, slot = (uint32_t)pid % WALK_PROCESSES;
    const struct walk_control *c = bpf_map_lookup_elem(&control, &zero);
    const struct walk_process *p = bpf_map_lookup_elem(&processes, &slot);
    if (!c || !p)
        return WALK_NO_PROCESS;
    uint32_t all = sequence_of(&c->sequence), own = sequence_of(&p->sequence);
    if ((all | own) & 1)
        return WALK_CHANGED;
    if (p->pid != pid || p->identity != identity)
        return WALK_NO_PROCESS;
    w->process = p;
    w->slot = slot;
    w->epoch = c->epoch;
    w->version = all << 16 ^ c->epoch;
    w->reason = WALK_DEEP;
    w->scratch->record.at = p->time;
    bpf_loop(WALK_FRAMES + 1, walk_frame, w, 0);
    if (sequence_of(&c->sequence) != all || sequence_of(&p->sequence) != own)
        return WALK_CHANGED;
    return w->reason;
}

static __always_inline long record_write(struct bpf_perf_event_data *ctx, struct walk_record *r,
                                         uint32_t addresses)
{
    uint32_t size = offsetof(struct walk_record, address) + addresses * sizeof(uint64_t);
    if (size > sizeof *r)
        return -1;
    return bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, r, size);
}

static __always_inline int sample_write(struct bpf_perf_event_data *ctx, struct walk_record *r,
                                        uint32_t user)
{
    user &= 2 * WALK_FRAMES - 1;
    if (user > WALK_FRAMES)
        return 1;
    long bytes = bpf_get_stack(ctx, &r->address[user], WALK_KERNEL * sizeof(uint64_t), 0);
    uint32_t kernel = bytes > 0 ? (uint32_t)bytes / sizeof(uint64_t) : 0;
    if (kernel > WALK_KERNEL)
        return 1;
    r->user = (uint16_t)user;
    r->kernel = (uint16_t)kernel;
    record_write(ctx, r, user + kernel); /* what finds no room is counted by perf */
    return 0;
}

SEC("perf_event")
int machine_walk(struct bpf_perf_event_data *ctx)
{
    uint64_t begun = bpf_ktime_get_ns();
    uint32_t zero = 0;
    struct scratch *s = bpf_map_lookup_elem(&scratches, &zero);
    struct task_struct *task = bpf_get_current_task_btf();
    if (!s)
        return 1;
    struct walk w = {.scratch = s, .exact = true};
    s->record.magic = WALK_MAGIC;
    s->record.reason = WALK_DONE;
    s->record.user = s->record.kernel = 0;
    s->record.ns = 0;
    if (task->flags & KERNEL_THREAD) {
        s->record.at = UINT64_MAX;
        return sample_write(ctx, &s->record, 0);
    }
    s->record.identity = identity_of(task);
    int32_t pid = (int32_t)(bpf_get_current_pid_tgid() >> 32);
    enum walk_reason reason = WALK_MODE;
    if (registers_read(task, &w))
        reason = walk(&w, s->record.identity, pid);
    s->record.ns = (uint32_t)(bpf_ktime_get_ns() - begun);
    if (reason == WALK_DONE)
        return sample_write(ctx, &s->record, w.count);
    s->record.reason = reason;
    s->record.at = w.count ? s->record.address[(w.count - 1) & (WALK_FRAMES - 1)] : 0;
    record_write(ctx, &s->record, 0);
    return 1;
}
