#include "symbols/image.h"

#include <elf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"
#include "symbols/dwarf_index.h"
#include "symbols/fde_start.h"
#include "symbols/module.h"
#include "symbols/plt.h"
#include "symbols/stored.h"
#include "symbols/symtab.h"

/* Frames of one address: nested inlining deeper than this is cut at the inner end. */
enum { FRAMES_MAX = 258, PROGRESS_EVERY = 256 };

struct resolver {
    const struct image_request *request;
    struct pool *pool;
    struct symtab symtab;
    struct plt plt;
    struct fde_starts starts;
    struct dwarf_index *dwarf;
    Dwarf_CFI *cfi;
    Dwarf_Addr cfi_bias;
    const struct symtab_entry *last_entry; /* and its demangled name: addresses come sorted */
    const char *last_name;
};

static void resolver_open(struct resolver *r, struct module *m)
{
    if (!symtab_build(&r->symtab, m->dwfl_module))
        r->pool->failed = true;
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(m->dwfl_module, &bias);
    if (elf && !m->debug_only && !plt_build(&r->plt, elf))
        r->pool->failed = true;
    if (elf && !m->debug_only) {
        r->cfi = dwfl_module_eh_cfi(m->dwfl_module, &r->cfi_bias);
        fde_starts_open(&r->starts, elf);
    }
    if (r->request->options.detail != SYMBOLS_QUICK)
        r->dwarf = dwarf_index_build(m->dwfl_module, r->pool,
                                     r->request->options.detail == SYMBOLS_LINES);
}

static void resolver_close(struct resolver *r)
{
    symtab_free(&r->symtab);
    plt_free(&r->plt);
    dwarf_index_free(r->dwarf);
}

/* The start of the function around the address by its unwind table entry; 0 if there is none. */
static uint64_t fde_start(struct resolver *r, uint64_t address)
{
    Dwarf_Frame *frame;
    /* The table has no ends: that the address is covered at all, the entry itself must say. */
    if (!r->cfi || dwarf_cfi_addrframe(r->cfi, address - r->cfi_bias, &frame))
        return 0;
    free(frame);
    return fde_starts_find(&r->starts, address);
}

/* A symbol without a size reaches to the next one, but what lies far behind it need not be its own.
 * *start: where that begins; 0: nothing says where. */
static bool is_beyond(struct resolver *r, const struct symtab_entry *entry, uint64_t address,
                      uint64_t *start)
{
    enum { LABEL_REACH = 4096 };
    uint64_t reach = entry->kind & SYMTAB_LABEL ? LABEL_REACH : SYMTAB_REACH;
    if (entry->sized)
        return false;
    *start = fde_start(r, address);
    return *start ? *start > entry->start : address - entry->start >= reach;
}

/* "frame_dummy+0x12340". */
static const char *name_beyond(struct resolver *r, const struct symtab_entry *entry,
                               uint64_t address)
{
    char *name;
    if (asprintf(&name, "%s+0x%llx", demangle_symbol(r->pool, entry->name),
                 (unsigned long long)(address - entry->start)) < 0) {
        r->pool->failed = true;
        return "";
    }
    const char *result = pool_intern(r->pool, name);
    free(name);
    return result;
}

/* Names the physical function: symbol table first, so that a function has one name whether or not
 * its debug information is at hand. */
static void name_function(struct resolver *r, uint64_t address, struct symbol_frame *frame)
{
    const char *stub;
    if (plt_find(&r->plt, address, &stub)) {
        char *name = NULL;
        if (asprintf(&name, "%s@plt", demangle(r->pool, stub[0] ? stub : "[lazy binding]")) < 0)
            name = NULL;
        frame->function = name ? pool_intern(r->pool, name) : "";
        r->pool->failed |= !name;
        free(name);
        return;
    }
    const struct symtab_entry *entry = symtab_find(&r->symtab, address);
    if (entry && !frame->function[0] && is_beyond(r, entry, address, &frame->start)) {
        frame->unnamed = true;
        frame->function = frame->start ? stored_place_name(r->pool, r->request->name, frame->start)
                                       : name_beyond(r, entry, address);
        return;
    }
    if (entry && (entry->sized || !frame->function[0])) {
        if (entry != r->last_entry)
            r->last_name = demangle_symbol(r->pool, entry->name);
        r->last_entry = entry;
        frame->function = r->last_name;
        frame->start = entry->start;
    }
    if (frame->function[0])
        return;
    frame->unnamed = true;
    frame->start = fde_start(r, address);
    frame->function = stored_place_name(r->pool, r->request->name,
                                        frame->start ? frame->start : address);
}

static void resolve_one(struct resolver *r, uint64_t address, struct symbol_location *out)
{
    struct symbol_frame frames[FRAMES_MAX];
    uint32_t count = r->dwarf ? dwarf_find(r->dwarf, address, frames, FRAMES_MAX) : 0;
    if (!count)
        frames[count++] = (struct symbol_frame){ .function = "", .file = "" };
    const char *dwarf_name = frames[count - 1].function;
    name_function(r, address, &frames[count - 1]);
    for (uint32_t i = 0; i < count; i++) {
        /* Inlined into itself: one function, so one name. Names are interned. */
        if (frames[i].function == dwarf_name && dwarf_name[0])
            frames[i].function = frames[count - 1].function;
        if (!frames[i].function[0])
            frames[i].function = "[unnamed]";
    }
    struct symbol_frame *kept = pool_alloc(r->pool, count * sizeof *kept);
    if (!kept)
        return;
    memcpy(kept, frames, count * sizeof *kept);
    *out = (struct symbol_location){ .frames = kept, .count = count };
}

static enum profile_names_level level_of(const struct resolver *r, const struct module *m)
{
    return r->dwarf ? NAMES_LINES : module_has_symbols(m) ? NAMES_SYMBOLS : NAMES_DYNAMIC;
}

static enum profile_names_level level_wanted(const struct symbols_options *options)
{
    return options->detail == SYMBOLS_QUICK ? NAMES_SYMBOLS : NAMES_LINES;
}

static enum profile_names_level level_stored(const struct image_request *request)
{
    const struct profile_names *n = request->stored;
    return n && request->index < n->image_count && n->images[request->index].count
               ? (enum profile_names_level)n->images[request->index].level : NAMES_NONE;
}

/* From the file: all addresses, or only those of which nothing is known. */
static void resolve_all(struct resolver *r, struct symbol_location *out, bool all,
                        struct progress *progress)
{
    const struct image_request *request = r->request;
    for (uint32_t i = 0; i < request->count && pool_ok(r->pool); i++) {
        if (all || !out[i].count)
            resolve_one(r, request->offsets[i], &out[i]);
        if ((i + 1) % PROGRESS_EVERY == 0)
            progress_add(progress, PROGRESS_EVERY);
    }
    progress_add(progress, request->count % PROGRESS_EVERY);
}

/* Strays between symbols are usual; a quarter of all addresses is a file without its symbols. */
static uint32_t unnamed_worth_saying(const struct image_request *request,
                                     const struct symbol_location *out)
{
    uint32_t unnamed = 0;
    for (uint32_t i = 0; i < request->count; i++)
        unnamed += out[i].count && out[i].frames[out[i].count - 1].unnamed;
    return unnamed < request->count / 4 ? 0 : unnamed;
}

bool image_resolve(const struct image_request *request, struct symbol_location *out,
                   struct pool *pool, struct buf *warnings, struct image_answer *answer,
                   struct progress *progress)
{
    struct stored_request stored = { .names = request->stored, .image = request->index,
                                     .image_name = request->name, .offsets = request->offsets,
                                     .count = request->count, .detail = request->options.detail };
    uint32_t missing = stored_fill(&stored, out, pool);
    enum profile_names_level kept = level_stored(request);
    struct module module = { 0 };
    struct resolver resolver = { .request = request, .pool = pool };
    struct buf problem = { 0 };
    *answer = (struct image_answer){ .level = kept };
    bool needed = missing || kept < level_wanted(&request->options);
    bool found = needed && module_find(&module, request->image, &request->options, &problem);
    if (found) {
        resolver_open(&resolver, &module);
        enum profile_names_level level = level_of(&resolver, &module);
        /* Without a build-id, another build can look the same. */
        bool better = kept == NAMES_NONE || (level > kept && request->image->build_id_size);
        if (better || (missing && level < kept))
            answer->level = level;
        resolve_all(&resolver, out, better, progress);
    } else {
        if (missing)
            buf_printf(warnings, "%s: its functions are shown as addresses.\n",
                       buf_ok(&problem) ? (const char *)problem.data : "");
        resolve_all(&resolver, out, false, progress);
    }
    buf_free(&problem);
    answer->unnamed = found || kept ? unnamed_worth_saying(request, out) : 0;
    resolver_close(&resolver);
    module_close(&module);
    return pool_ok(pool) && buf_ok(warnings);
}
