#include "runtime/carrier/translated.h"

#include <stddef.h>

#include "runtime/images.h"
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

void *translated_rseq_area_as(void)
{
    uint64_t base;
    if (!&__rseq_offset)
        return NULL;
    __asm__ volatile("rdfsbase %0" : "=r"(base)); /* FSGSBASE: without it there is no engine */
    return base ? (uint8_t *)base + __rseq_offset : NULL;
}
