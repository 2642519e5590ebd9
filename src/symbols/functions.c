#include "symbols/functions.h"

#include <errno.h>
#include <gelf.h>

#include "symbols/demangle.h"
#include "symbols/module.h"
#include "symbols/symtab.h"

static bool is_loaded(const struct module *m)
{
    GElf_Addr bias;
    GElf_Ehdr header;
    Elf *elf = dwfl_module_getelf(m->dwfl_module, &bias);
    return elf && gelf_getehdr(elf, &header) &&
           (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

static uint64_t end_of(const struct symtab *t, const struct symtab_entry *entry)
{
    if (entry->sized)
        return entry->end;
    if (entry->kind & SYMTAB_LABEL || ranges_find(&t->sized, entry->start) != RANGES_NONE)
        return entry->start;
    return entry->end > entry->start && entry->end - entry->start < SYMTAB_REACH
               ? entry->end : entry->start + SYMTAB_REACH;
}

static bool tell(const struct module *m, const struct profile_image *image,
                 const struct functions_taker *to, struct err *e)
{
    struct symtab t;
    struct pool pool = {.failed = false};
    bool ok = symtab_build(&t, m->dwfl_module);
    for (size_t i = 0; ok && i < t.count; i++) {
        const struct code_function one = {.name = demangle_symbol(&pool, t.entries[i].name),
                                          .start = t.entries[i].start,
                                          .end = end_of(&t, &t.entries[i])};
        ok = pool_ok(&pool) && (one.end <= one.start || to->take(to->context, image, &one));
    }
    symtab_free(&t);
    pool_free(&pool);
    return ok || e->code || err_set(e, ERR_INTERNAL, "out of memory");
}

bool symbols_functions(const char *path, const struct functions_taker *to, struct err *e)
{
    struct module m;
    struct profile_image image = {.build_id_size = 0};
    errno = 0;
    if (!module_open_file(&m, path, &image))
        return errno ? err_set_errno(e, ERR_NOT_FOUND, errno, "cannot read %s", path)
                     : err_set(e, ERR_FORMAT, "%s is no ELF file", path);
    bool ok = is_loaded(&m) ||
              err_set(e, ERR_FORMAT, "%s is no executable, library or debug file", path);
    if (ok && !image.build_id_size)
        ok = err_set(e, ERR_FORMAT, "%s has no build-id: link it with -Wl,--build-id", path);
    if (ok && !module_has_symbols(&m))
        ok = err_set(e, ERR_FORMAT, "%s is stripped: name its debug file, or the file as it was "
                                    "before it was stripped", path);
    ok = ok && tell(&m, &image, to, e);
    module_close(&m);
    return ok;
}
