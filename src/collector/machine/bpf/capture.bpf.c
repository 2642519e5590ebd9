/* Captures what an interpreter needs of a moment: registers, the next instructions, and the words
 * of memory that they name (docs/kernel-values.md).
 *
 * No memory is read that may be a device's: of the kernel what is mapped as memory, and stacks; of
 * a process what the collector has allowed.
 *
 * Context: the kernel's timer interrupt; no two at a time on one CPU.
 * Ownership: the collector's maps (capture_layout.h); nothing in them is trusted. */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "collector/machine/bpf/capture_layout.h"

/* As of walk.bpf.c. */
char capture_license[] SEC("license") = "GPL";

enum { KERNEL_THREAD = 0x00200000 /* PF_KTHREAD */, USER_64 = 0x33 /* __USER_CS */, PAGE = 4096 };

/* ---- what is needed of the kernel's structures; found where this kernel has them ---- */

struct mm_struct {
    unsigned long total_vm;
} __attribute__((preserve_access_index));

struct thread_struct {
    unsigned long fsbase, gsbase;
} __attribute__((preserve_access_index));

struct cfs_rq {
    void *rq;
} __attribute__((preserve_access_index));

struct sched_entity {
    struct cfs_rq *cfs_rq;
} __attribute__((preserve_access_index));

struct task_struct {
    unsigned int flags;
    struct sched_entity se;
    void *stack;
    struct mm_struct *mm;
    struct task_struct *group_leader;
    uint64_t start_boottime;
    uint64_t self_exec_id;
    struct thread_struct thread;
} __attribute__((preserve_access_index));

/* Where they have no names, they are 0. */
extern const void __per_cpu_offset __ksym __weak;
extern const void page_offset_base __ksym __weak;
extern const void vmalloc_base __ksym __weak;
extern const void vmemmap_base __ksym __weak;

/* ---- maps ---- */

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct capture_control);
} control SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, CAPTURE_RECIPES);
    __type(key, uint32_t);
    __type(value, struct capture_recipe);
} recipes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, CAPTURE_PROCESSES);
    __type(key, uint32_t);
    __type(value, struct capture_process);
} processes SEC(".maps");

/* What the collector asks the programs below, and what they answer. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct capture_asked);
} asked SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    __type(key, uint32_t);
    __type(value, uint32_t);
} outputs SEC(".maps");

struct scratch {
    uint32_t aligns; /* 8 bytes: the record's words */
    struct capture_record record;
    uint64_t value[CAPTURE_STEPS]; /* extended */
    uint64_t self;
};

/* As a number: pointers cannot be calculated with. */
static __always_inline uint64_t number_of(struct scratch *s)
{
    *(volatile uint64_t *)&s->self = (uint64_t)s;
    return *(volatile uint64_t *)&s->self;
}

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct scratch);
} scratches SEC(".maps");

/* ---- words ---- */

struct reading {
    struct scratch *scratch;
    const struct capture_control *control;
    const struct capture_recipe *recipe;
    bool user; /* the process's memory may be read */
};

static __always_inline bool is_kernel(uint64_t address)
{
    return address >> 63;
}

/* A process may have any number in its registers: only the kernel's own name its memory. */
static __always_inline bool is_memory(const struct reading *r, uint64_t address)
{
    bool kernel = r->scratch->record.flags & CAPTURE_IN_KERNEL;
    if (is_kernel(address) && !kernel)
        return false;
    if (address - r->scratch->record.reg[4] < CAPTURE_NEAR)
        return true;
    if (!is_kernel(address))
        return r->user;
    for (int i = 0; i < CAPTURE_RANGES; i++)
        if (address - r->control->lo[i] < r->control->hi[i] - r->control->lo[i])
            return true;
    return false;
}

static __always_inline bool term(struct reading *r, uint8_t of, uint64_t *value)
{
    struct capture_record *record = &r->scratch->record;
    *value = 0;
    if (of == CAPTURE_NOTHING)
        return true;
    if (of < 16) {
        *value = record->reg[of & 15];
        return true;
    }
    if (of == CAPTURE_SEGMENT) {
        *value = record->flags & CAPTURE_IN_KERNEL ? record->gs : record->fs;
        return true;
    }
    uint32_t step = (of - CAPTURE_WORD) & (CAPTURE_STEPS - 1);
    *value = r->scratch->value[step];
    return of >= CAPTURE_WORD && step < record->words && record->word[step].address;
}

static __always_inline uint64_t extended(uint64_t bits, uint32_t bytes, bool sign)
{
    uint32_t shift = (64 - 8 * bytes) & 63;
    return sign ? (uint64_t)((int64_t)(bits << shift) >> shift) : bits;
}

static __always_inline long fetch(uint64_t *to, uint32_t bytes, uint64_t address)
{
    const void *at = (const void *)address;
    *to = 0;
    if (is_kernel(address))
        switch (bytes) {
        case 1: return bpf_probe_read_kernel(to, 1, at);
        case 2: return bpf_probe_read_kernel(to, 2, at);
        case 4: return bpf_probe_read_kernel(to, 4, at);
        default: return bpf_probe_read_kernel(to, 8, at);
        }
    switch (bytes) {
    case 1: return bpf_probe_read_user(to, 1, at);
    case 2: return bpf_probe_read_user(to, 2, at);
    case 4: return bpf_probe_read_user(to, 4, at);
    default: return bpf_probe_read_user(to, 8, at);
    }
}

static long word_read(uint32_t i, void *context)
{
    struct reading *r = context;
    struct capture_record *record = &r->scratch->record;
    const struct capture_step *s = &r->recipe->step[i & (CAPTURE_STEPS - 1)];
    struct capture_word *to = &record->word[i & (CAPTURE_STEPS - 1)];
    uint64_t base, index, bits;
    uint32_t bytes = s->bytes;
    to->address = 0;
    record->size[i & (CAPTURE_STEPS - 1)] = (uint8_t)bytes;
    if (i >= CAPTURE_STEPS || !term(r, s->base, &base) || !term(r, s->index, &index))
        goto next;
    uint64_t address = base + index * s->scale + (uint64_t)s->plus;
    if (!is_memory(r, address) || fetch(&bits, bytes, address))
        goto next;
    to->address = address;
    to->bits = bits;
    r->scratch->value[i & (CAPTURE_STEPS - 1)] = extended(bits, bytes, s->extend_sign);
next:
    record->words = i + 1;
    return 0;
}

/* What was read by a recipe that was written meanwhile is true all the same: each word has its
 * address. But it may be of another place, and of no use. */
static __always_inline void words_read(struct reading *r)
{
    uint64_t pc = r->scratch->record.ip;
    uint32_t slot = capture_recipe_slot(pc) & (CAPTURE_RECIPES - 1);
    r->recipe = bpf_map_lookup_elem(&recipes, &slot);
    if (!r->recipe || r->recipe->pc != pc || r->recipe->sequence & 1)
        return;
    uint32_t count = r->recipe->count;
    bpf_loop(count < CAPTURE_STEPS ? count : CAPTURE_STEPS, word_read, r, 0);
}

/* ---- the rest ---- */

static __always_inline void registers_read(struct bpf_perf_event_data *ctx,
                                           struct capture_record *r)
{
    r->reg[0] = ctx->regs.rax;
    r->reg[1] = ctx->regs.rcx;
    r->reg[2] = ctx->regs.rdx;
    r->reg[3] = ctx->regs.rbx;
    r->reg[4] = ctx->regs.rsp;
    r->reg[5] = ctx->regs.rbp;
    r->reg[6] = ctx->regs.rsi;
    r->reg[7] = ctx->regs.rdi;
    r->reg[8] = ctx->regs.r8;
    r->reg[9] = ctx->regs.r9;
    r->reg[10] = ctx->regs.r10;
    r->reg[11] = ctx->regs.r11;
    r->reg[12] = ctx->regs.r12;
    r->reg[13] = ctx->regs.r13;
    r->reg[14] = ctx->regs.r14;
    r->reg[15] = ctx->regs.r15;
    r->ip = ctx->regs.rip;
    r->rflags = ctx->regs.eflags;
}

static __always_inline void bases_read(struct task_struct *task, struct scratch *s,
                                       const struct capture_control *c)
{
    struct capture_record *r = &s->record;
    r->fs = task->thread.fsbase;
    r->gs = task->thread.gsbase;
    if (r->flags & CAPTURE_IN_KERNEL)
        r->gs = c->percpu ? number_of(s) - c->percpu : 0;
}

/* Up to the page's end if all cannot be read. */
static __always_inline void code_read(struct capture_record *r)
{
    const void *at = (const void *)r->ip;
    uint32_t left = PAGE - (r->ip & (PAGE - 1));
    bool kernel = r->flags & CAPTURE_IN_KERNEL;
    r->code = CAPTURE_CODE;
    if (!(kernel ? bpf_probe_read_kernel(r->bytes, CAPTURE_CODE, at)
                 : bpf_probe_read_user(r->bytes, CAPTURE_CODE, at)))
        return;
    r->code = 0;
    if (left >= CAPTURE_CODE)
        return;
    barrier_var(left); /* older verifiers forget what a spilled number was compared with */
    left &= CAPTURE_CODE - 1;
    if (!(kernel ? bpf_probe_read_kernel(r->bytes, left, at)
                 : bpf_probe_read_user(r->bytes, left, at)))
        r->code = (uint16_t)left;
}

static __always_inline void stack_read(struct capture_record *r)
{
    const void *at = (const void *)r->reg[4];
    bool high = is_kernel(r->reg[4]), kernel = r->flags & CAPTURE_IN_KERNEL;
    if (high && !kernel)
        return;
    r->stack = CAPTURE_STACK;
    if (high ? bpf_probe_read_kernel(r->top, CAPTURE_STACK, at)
               : bpf_probe_read_user(r->top, CAPTURE_STACK, at))
        r->stack = 0;
}

/* Whether the process's memory may be read. */
static __always_inline bool is_allowed(struct task_struct *task, struct capture_record *r)
{
    int32_t pid = (int32_t)(bpf_get_current_pid_tgid() >> 32);
    uint32_t slot = (uint32_t)pid & (CAPTURE_PROCESSES - 1);
    struct mm_struct *mm = task->mm;
    if (task->flags & KERNEL_THREAD || !mm)
        return false;
    r->program = task->group_leader->start_boottime * UINT64_C(0x9e3779b97f4a7c15) ^
                 task->self_exec_id;
    r->mapped = mm->total_vm;
    const struct capture_process *p = bpf_map_lookup_elem(&processes, &slot);
    if (!p || p->pid != pid || p->program != r->program || p->mapped != r->mapped) {
        r->flags |= CAPTURE_ASKS;
        return false;
    }
    return p->allowed;
}

SEC("perf_event")
int machine_capture(struct bpf_perf_event_data *ctx)
{
    uint64_t begun = bpf_ktime_get_ns();
    uint32_t zero = 0;
    struct scratch *s = bpf_map_lookup_elem(&scratches, &zero);
    const struct capture_control *c = bpf_map_lookup_elem(&control, &zero);
    struct task_struct *task = bpf_get_current_task_btf();
    if (!s || !c)
        return 0;
    struct capture_record *r = &s->record;
    uint64_t cs = ctx->regs.cs;
    r->magic = CAPTURE_MAGIC;
    r->flags = (cs & 3) == 0 ? CAPTURE_IN_KERNEL : cs == USER_64 ? 0 : CAPTURE_MODE;
    r->words = 0;
    r->code = r->stack = 0;
    registers_read(ctx, r);
    if (!(r->flags & CAPTURE_MODE)) {
        struct reading reading = {.scratch = s, .control = c};
        bases_read(task, s, c);
        reading.user = is_allowed(task, r);
        code_read(r);
        stack_read(r);
        words_read(&reading);
    }
    r->ns = (uint32_t)(bpf_ktime_get_ns() - begun);
    uint32_t size = offsetof(struct capture_record, word) + r->words * sizeof(struct capture_word);
    barrier_var(size); /* so that what is compared is what is given */
    if (size <= sizeof *r)
        bpf_perf_event_output(ctx, &outputs, BPF_F_CURRENT_CPU, r, size);
    return 0; /* perf is to write no sample */
}

/* ---- called by the collector ---- */

SEC("syscall")
int machine_text(void *context)
{
    uint32_t zero = 0;
    struct capture_asked *asks = bpf_map_lookup_elem(&asked, &zero);
    (void)context;
    if (!asks)
        return 0;
    struct capture_text *to = &asks->text;
    const uint64_t first = UINT64_C(0xffffffff80000000), last = UINT64_C(0xffffffffff000000);
    uint64_t address = to->address;
    to->read = 0;
    if (address >= first && address < last - CAPTURE_TEXT &&
        !bpf_probe_read_kernel(to->bytes, CAPTURE_TEXT, (const void *)address))
        to->read = 1;
    return 0;
}

static __always_inline uint64_t variable(const void *at)
{
    uint64_t value = 0;
    if (at)
        bpf_probe_read_kernel(&value, sizeof value, at);
    return value;
}

/* The kernel's GS base here, if `current_task` is where it must be then; 0. */
static __always_inline uint64_t base_find(const struct capture_layout *l, struct task_struct *task)
{
    uint64_t base, found = 0;
    if (&__per_cpu_offset)
        return variable((const uint64_t *)&__per_cpu_offset + bpf_get_smp_processor_id());
    if (!l->current_address || !bpf_core_field_exists(task->se.cfs_rq))
        return 0;
    base = (uint64_t)BPF_CORE_READ(task, se.cfs_rq, rq);
    base = base - l->queues_at - l->current_address + l->current_at;
    if (bpf_probe_read_kernel(&found, sizeof found, (const void *)(base + l->current_address)))
        return 0;
    return found == (uint64_t)task ? base : 0;
}

SEC("syscall")
int machine_layout(void *context)
{
    struct task_struct *task = bpf_get_current_task_btf();
    uint32_t zero = 0;
    struct scratch *s = bpf_map_lookup_elem(&scratches, &zero);
    struct capture_asked *asks = bpf_map_lookup_elem(&asked, &zero);
    (void)context;
    if (!asks)
        return 0;
    struct capture_layout *to = &asks->layout;
    uint64_t base = base_find(to, task);
    to->percpu = s && base ? number_of(s) - base : 0;
    to->page_offset = variable(&page_offset_base);
    to->vmalloc = variable(&vmalloc_base);
    to->vmemmap = variable(&vmemmap_base);
    to->task = (uint64_t)task;
    to->stack = (uint64_t)task->stack;
    return 0;
}
