#include "self_index.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include "unwind/compile.h"

enum { IMAGES_MAX = 128 };

static const ElfW(Phdr) *segment_of(const struct dl_phdr_info *info, uint64_t vaddr)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && vaddr >= p->p_vaddr && vaddr < p->p_vaddr + p->p_memsz)
            return p;
    }
    return NULL;
}

static int image_add(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct self_index *self = argument;
    struct unwind_image *image = &self->index->image[self->index->count];
    (void)size;
    if (self->index->count == IMAGES_MAX)
        return 1;
    *image = (struct unwind_image){.lo = UINT64_MAX, .bias = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t lo = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD) {
            image->lo = lo < image->lo ? lo : image->lo;
            image->hi = lo + p->p_memsz > image->hi ? lo + p->p_memsz : image->hi;
        } else if (p->p_type == PT_GNU_EH_FRAME) {
            const ElfW(Phdr) *segment = segment_of(info, p->p_vaddr);
            image->eh_frame_hdr = (const uint8_t *)lo;
            image->eh_frame_hdr_size = p->p_memsz;
            image->readable_lo = info->dlpi_addr + segment->p_vaddr;
            image->readable_hi = image->readable_lo + segment->p_memsz;
        }
    }
    self->names[self->index->count] =
        strdup(info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe");
    image->number = ++self->index->count;
    return 0;
}

static int by_address(const void *a, const void *b)
{
    const struct unwind_image *x = a, *y = b;
    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static bool image_compile(const struct self_index *self, const struct unwind_image *image,
                          void **table, size_t *size)
{
    const char *name = self->names[image->number - 1];
    struct err e = {0};
    bool vdso = image->lo == getauxval(AT_SYSINFO_EHDR);
    bool ok = vdso ? unwind_compile_image((const void *)image->lo, image->hi - image->lo, table,
                                          size, &e)
                   : unwind_compile_file(name, NULL, 0, table, size, &e);
    if (!ok)
        fprintf(stderr, "%s: %s\n", name, e.message);
    return ok;
}

static void tables_add(struct self_index *self)
{
    enum { ARENA = 64 << 20 };
    size_t used = 16;
    self->tables = aligned_alloc(16, ARENA);
    for (uint32_t i = 0; i < self->index->count; i++) {
        struct unwind_image *image = &self->index->image[i];
        void *table;
        size_t size;
        if (!image_compile(self, image, &table, &size) || used + size > ARENA)
            continue;
        memcpy(self->tables + used, table, size);
        free(table);
        self->refs[i] = (uint32_t)(used / 16);
        used += (size + 15) & ~(size_t)15;
        image->table_ref = &self->refs[i];
        image->table_base = self->tables;
        image->table_limit = ARENA;
    }
}

struct self_index self_index_build(bool with_tables)
{
    static uint32_t generation;
    struct self_index self = {0};
    self.index = calloc(1, sizeof *self.index + IMAGES_MAX * sizeof self.index->image[0]);
    self.names = calloc(IMAGES_MAX, sizeof *self.names);
    self.refs = calloc(IMAGES_MAX, sizeof *self.refs);
    dl_iterate_phdr(image_add, &self);
    qsort(self.index->image, self.index->count, sizeof self.index->image[0], by_address);
    self.index->generation = ++generation;
    if (with_tables)
        tables_add(&self);
    return self;
}

void self_index_free(struct self_index *self)
{
    for (uint32_t i = 0; i < self->index->count; i++)
        free((void *)(uintptr_t)self->names[i]);
    free(self->names);
    free(self->refs);
    free(self->tables);
    free(self->index);
}

struct unwind_regs self_regs(const void *ucontext)
{
    static const int order[UNWIND_REGISTERS] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
        REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    const ucontext_t *u = ucontext;
    struct unwind_regs regs;
    for (int i = 0; i < UNWIND_REGISTERS; i++)
        regs.r[i] = (uint64_t)u->uc_mcontext.gregs[order[i]];
    return regs;
}
