#include "runtime/carrier/translated.h"

#include <stddef.h>

#include "engine/hook.h"
#include "engine/hook_run.h"
#include "guest/images.h"
#include "guest/phases.h"
#include "runtime/runtime.h"
#include "runtime/thread.h"
#include "sigsafe/key.h"

/* The symbol came with the registration (glibc 2.35). */
extern const ptrdiff_t __rseq_offset __attribute__((weak));

const struct unwind_image *translated_image_as(uint64_t address)
{
    const struct unwind_image *image = unwind_index_find_as(images_current_as(), address);
    if (!image && images_add_as(address))
        image = unwind_index_find_as(images_current_as(), address);
    return image;
}

uint64_t translated_key_as(void *carrier, uint64_t address)
{
    const struct unwind_image *image = translated_image_as(address);
    (void)carrier;
    return image ? key_make(image->number, address - image->bias) : key_make(0, address);
}

struct spool_counts *translated_counts_as(void)
{
    spool_ref ref = __atomic_load_n(&guest.process->counts, __ATOMIC_ACQUIRE);
    struct spool_counts *there = spool_at(&guest.spool, ref, sizeof *there);
    return there ? there : counts_begin_as(&guest.spool, guest.process);
}

void translated_figures_as(struct spool_counts *counts, struct engine_thread *t)
{
    struct engine_figures f = engine_figures_as(t->engine);
    __atomic_store_n(&counts->blocks, f.blocks, __ATOMIC_RELAXED);
    __atomic_store_n(&counts->code_bytes, f.code_bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&counts->translation_ticks, f.translate_ticks, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counts->dispatches, t->dispatches, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counts->dispatch_ticks, t->dispatch_ticks, __ATOMIC_RELAXED);
    t->dispatches = t->dispatch_ticks = 0;
}

bool translated_due_as(struct rt_thread *t, struct trigger_charge charge)
{
    if (!phases_paused_as())
        return charge.weight != 0;
    t->record->drops[DROP_PAUSED] += charge.weight + charge.unattributed;
    return false;
}

uint64_t translated_caller_as(struct rt_thread *t, const struct engine_thread *e, uint64_t pc)
{
    static const uint8_t from[UNWIND_RIP] = {ENGINE_RAX, ENGINE_RDX, ENGINE_RCX, ENGINE_RBX,
                                             ENGINE_RSI, ENGINE_RDI, ENGINE_RBP, ENGINE_RSP,
                                             ENGINE_R8,  ENGINE_R9,  ENGINE_R10, ENGINE_R11,
                                             ENGINE_R12, ENGINE_R13, ENGINE_R14, ENGINE_R15};
    struct unwind_regs regs;
    bool exact = true, root = false, guessed = false;
    uint64_t cfa = 0;
    for (unsigned i = 0; i < UNWIND_RIP; i++)
        regs.r[i] = e->gpr[from[i]];
    regs.r[UNWIND_RIP] = pc;
    t->unwind.no_system_calls = rt_quiet_as();
    enum truncation end =
        unwind_step_as(&t->unwind, images_current_as(), &regs, &exact, &root, &cfa, &guessed);
    return end == TRUNC_NONE && !root ? regs.r[UNWIND_RIP] : 0;
}

void *translated_rseq_area_as(void)
{
    uint64_t base;
    if (!&__rseq_offset)
        return NULL;
    __asm__ volatile("rdfsbase %0" : "=r"(base)); /* FSGSBASE: without it there is no engine */
    return base ? (uint8_t *)base + __rseq_offset : NULL;
}

void translated_refused_as(struct spool_counts *counts, struct engine_thread *t)
{
    enum { WRITING = 1, KNOWN = 2, PAGE = 4096 };
    uint32_t nothing = 0;
    if (!__atomic_compare_exchange_n(&counts->refused, &nothing, WRITING, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return;
    /* The translator has read what lies on this page. */
    for (unsigned i = 0; i < COUNTS_INSN_MOST && (i == 0 || (t->rip + i) % PAGE); i++)
        counts->refused_code[i] = ((const uint8_t *)(uintptr_t)t->rip)[i];
    counts->refused_key = hook_key_late_as(t, t->rip);
    __atomic_store_n(&counts->refused, KNOWN, __ATOMIC_RELEASE);
}

static const struct sandbox_call calls[] = {
    SANDBOX_PLAIN(mmap), SANDBOX_PLAIN(mprotect), SANDBOX_PLAIN(arch_prctl), SANDBOX_PLAIN(ioctl),
    SANDBOX_PLAIN(exit), SANDBOX_PLAIN(mremap)};

const struct sandbox_calls translated_calls = {calls, sizeof calls / sizeof *calls, NULL};
