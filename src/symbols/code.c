#include "symbols/code.h"

#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"
#include "symbols/dwarf_index.h"
#include "symbols/fde_start.h"
#include "symbols/module.h"
#include "symbols/plt.h"
#include "symbols/symtab.h"

struct code {
    struct module module;
    struct symtab symtab;
    struct plt plt;
    struct pool pool;
    Elf *elf;
    const char *file; /* its bytes */
    size_t size;
    struct fde_starts starts;
    Dwarf_CFI *cfi; /* NULL: has none, then starts is empty too */
    Dwarf_Addr cfi_bias;
    struct dwarf_index *dwarf; /* NULL until asked for, and if there is none */
    bool dwarf_sought;
    /* Found last: tables ask for one instruction after the other, and demangling and rows are
     * dear. */
    struct code_function last;
    const struct symtab_entry *last_entry; /* NULL: by the unwind table */
};

static bool code_load(struct code *c)
{
    GElf_Addr bias;
    c->elf = dwfl_module_getelf(c->module.dwfl_module, &bias);
    c->file = c->elf ? elf_rawfile(c->elf, &c->size) : NULL;
    c->cfi = dwfl_module_eh_cfi(c->module.dwfl_module, &c->cfi_bias);
    if (c->elf && c->cfi)
        fde_starts_open(&c->starts, c->elf);
    return symtab_build(&c->symtab, c->module.dwfl_module) &&
           (!c->elf || plt_build(&c->plt, c->elf));
}

struct code *code_open(const struct profile_image *image, const struct symbols_options *options,
                       struct err *e)
{
    struct buf problem = { 0 };
    struct symbols_options all = *options;
    all.detail = SYMBOLS_LINES;
    struct code *c = calloc(1, sizeof *c);
    if (!c) {
        err_set(e, ERR_INTERNAL, "cannot read %s: out of memory", image->path);
        return NULL;
    }
    if (!module_find(&c->module, image, &all, &problem))
        err_set(e, ERR_NOT_FOUND, "there is no code to show: %s",
                buf_ok(&problem) && problem.data ? (const char *)problem.data : image->path);
    else if (c->module.debug_only)
        err_set(e, ERR_NOT_FOUND, "there is no code to show: of %s only the debug information is "
                "there", image->path);
    else if (!code_load(c))
        err_set(e, ERR_INTERNAL, "cannot read %s: out of memory", image->path);
    else if (!c->file)
        err_set(e, ERR_NOT_FOUND, "there is no code to show: %s cannot be read", image->path);
    else {
        buf_free(&problem);
        return c;
    }
    buf_free(&problem);
    code_close(c);
    return NULL;
}

void code_close(struct code *c)
{
    if (!c)
        return;
    dwarf_index_free(c->dwarf);
    symtab_free(&c->symtab);
    plt_free(&c->plt);
    module_close(&c->module);
    pool_free(&c->pool);
    free(c);
}

const uint8_t *code_bytes(const struct code *c, uint64_t address, size_t *available)
{
    size_t count = 0;
    if (elf_getphdrnum(c->elf, &count))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr h;
        if (!gelf_getphdr(c->elf, (int)i, &h) || h.p_type != PT_LOAD || address < h.p_vaddr ||
            address - h.p_vaddr >= h.p_filesz)
            continue;
        uint64_t skip = address - h.p_vaddr;
        if (h.p_offset > c->size || skip >= c->size - h.p_offset)
            return NULL;
        uint64_t left = c->size - h.p_offset - skip;
        *available = left < h.p_filesz - skip ? left : h.p_filesz - skip;
        return (const uint8_t *)c->file + h.p_offset + skip;
    }
    return NULL;
}

const uint8_t *code_section(const struct code *c, const char *name, size_t *size)
{
    size_t names;
    if (elf_getshdrstrndx(c->elf, &names))
        return NULL;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(c->elf, section));) {
        GElf_Shdr h;
        const char *at = gelf_getshdr(section, &h) ? elf_strptr(c->elf, names, h.sh_name) : NULL;
        if (!at || strcmp(at, name) != 0)
            continue;
        if (h.sh_type == SHT_NOBITS || h.sh_flags & SHF_COMPRESSED || h.sh_offset > c->size ||
            h.sh_size > c->size - h.sh_offset)
            return NULL;
        *size = h.sh_size;
        return (const uint8_t *)c->file + h.sh_offset;
    }
    return NULL;
}

/* The extent of the unwind table's entry around an address: from its start over all rows that
 * follow without a gap, to the next start at the latest. */
static bool function_by_cfi(struct code *c, uint64_t address, struct code_function *out)
{
    Dwarf_Frame *frame;
    uint64_t start = fde_starts_find(&c->starts, address);
    uint64_t next = fde_starts_next(&c->starts, address), end = start;
    while (start && end < next && !dwarf_cfi_addrframe(c->cfi, end - c->cfi_bias, &frame)) {
        Dwarf_Addr from, to;
        bool ok = dwarf_frame_info(frame, &from, &to, NULL) >= 0 && to + c->cfi_bias > end;
        free(frame);
        if (!ok)
            break;
        end = to + c->cfi_bias;
    }
    *out = (struct code_function){ "", start, end < next ? end : next };
    return address < out->end;
}

bool code_function(struct code *c, uint64_t address, struct code_function *out)
{
    /* symbols nest, the table's entries do not */
    const struct symtab_entry *entry = symtab_find(&c->symtab, address);
    if (entry == c->last_entry && address >= c->last.start && address < c->last.end) {
        *out = c->last;
        return true;
    }
    bool found = entry ? address < entry->end : function_by_cfi(c, address, out);
    if (entry)
        *out = (struct code_function){ demangle(&c->pool, entry->name), entry->start, entry->end };
    if (found) {
        c->last = *out;
        c->last_entry = entry;
    }
    return found;
}

bool code_symbol(const struct code *c, uint64_t address, struct code_function *out)
{
    const struct symtab_entry *entry = symtab_find(&c->symtab, address);
    if (!entry || address >= entry->end)
        return false;
    *out = (struct code_function){ entry->name, entry->start, entry->end };
    return true;
}

const char *code_stub(const struct code *c, uint64_t address)
{
    const char *name;
    return plt_find(&c->plt, address, &name) && name[0] ? name : NULL;
}

bool code_line(struct code *c, uint64_t address, const char **file, const char **directory,
               uint32_t *line)
{
    int number = 0;
    Dwfl_Line *at = dwfl_module_getsrc(c->module.dwfl_module, address);
    *file = at ? dwfl_lineinfo(at, NULL, &number, NULL, NULL, NULL) : NULL;
    *directory = at ? dwfl_line_comp_dir(at) : NULL;
    if (!*file || number <= 0)
        return false;
    *directory = *directory ? *directory : "";
    *line = (uint32_t)number;
    return true;
}

uint32_t code_sites(struct code *c, uint64_t address, struct source_site *out, uint32_t max)
{
    if (!c->dwarf_sought)
        c->dwarf = dwarf_index_build(c->module.dwfl_module, &c->pool, true);
    c->dwarf_sought = true;
    return c->dwarf ? dwarf_find_sites(c->dwarf, address, out, max) : 0;
}
