#include "symbols/image.h"

#include <elf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/demangle.h"
#include "symbols/dwarf_index.h"
#include "symbols/fde_start.h"
#include "symbols/plt.h"
#include "symbols/symtab.h"

/* Frames of one address: nested inlining deeper than this is cut at the inner end. */
enum { FRAMES_MAX = 258, PROGRESS_EVERY = 256 };

struct module {
    Dwfl_Callbacks callbacks;
    char *debug_path;
    Dwfl *dwfl;
    Dwfl_Module *dwfl_module;
    bool debug_only; /* the file itself is gone; this is its separate debug file */
};

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
    uint32_t unnamed; /* addresses that no symbol contains */
};

/* The vdso of this process, as a file. */
static int vdso_open(void)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
    if (!header)
        return -1;
    size_t size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    int fd = memfd_create("vdso", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, header, size) != (ssize_t)size) {
        close(fd);
        return -1;
    }
    return fd;
}

static int regular_open(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

static void module_close(struct module *m)
{
    if (m->dwfl)
        dwfl_end(m->dwfl);
    free(m->debug_path);
    *m = (struct module){ 0 };
}

/* Takes fd. False if the file is no ELF file that elfutils understands. */
static bool module_open(struct module *m, int fd, const char *path, const char *debug_path)
{
    *m = (struct module){ 0 };
    if (asprintf(&m->debug_path, ":.debug:/usr/lib/debug%s%s", debug_path ? ":" : "",
                 debug_path ? debug_path : "") < 0)
        m->debug_path = NULL;
    m->callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
    m->callbacks.debuginfo_path = &m->debug_path;
    m->dwfl = m->debug_path ? dwfl_begin(&m->callbacks) : NULL;
    if (m->dwfl) {
        dwfl_report_begin(m->dwfl);
        /* Base 0 plus the program headers' addresses: the module lies at its link-time addresses,
         * which are what profiles hold. */
        m->dwfl_module = dwfl_report_elf(m->dwfl, path, path, fd, 0, true);
        dwfl_report_end(m->dwfl, NULL, NULL);
    }
    if (m->dwfl_module)
        return true;
    close(fd);
    module_close(m);
    return false;
}

static bool build_id_matches(Dwfl_Module *module, const struct profile_image *image)
{
    const unsigned char *bits;
    GElf_Addr address;
    GElf_Addr bias;
    /* Reading the main file is what finds its build-id note. */
    dwfl_module_getelf(module, &bias);
    int size = dwfl_module_build_id(module, &bits, &address);
    if (size <= 0)
        return image->build_id_size == 0;
    return (uint32_t)size == image->build_id_size
        && !memcmp(bits, image->build_id, image->build_id_size);
}

/* Without build-ids, the size is all that tells a file from its successor. */
static bool file_matches(Dwfl_Module *module, const struct profile_image *image, int fd)
{
    struct stat st;
    if (image->build_id_size)
        return build_id_matches(module, image);
    return !image->file_size || (fstat(fd, &st) == 0 && (uint64_t)st.st_size == image->file_size);
}

/* The separate debug file by build-id alone, for an image whose file is gone. */
static bool module_open_debug(struct module *m, const struct image_request *request)
{
    const struct profile_image *image = request->image;
    if (image->build_id_size < 2 || image->build_id_size > PROFILE_BUILD_ID_MAX)
        return false;
    char id[2 * PROFILE_BUILD_ID_MAX + 2];
    char *end = id + sprintf(id, "%02x/", image->build_id[0]);
    for (uint32_t i = 1; i < image->build_id_size; i++)
        end += sprintf(end, "%02x", image->build_id[i]);
    const char *roots[] = { request->options.debug_path, "/usr/lib/debug" };
    for (int r = 0; r < 2; r++) {
        char path[4096];
        int n = roots[r] ? snprintf(path, sizeof path, "%s/.build-id/%s.debug", roots[r], id) : 0;
        int fd = n > 0 && (size_t)n < sizeof path ? regular_open(path) : -1;
        if (fd < 0 || !module_open(m, fd, path, request->options.debug_path))
            continue;
        m->debug_only = true;
        if (build_id_matches(m->dwfl_module, image))
            return true;
        module_close(m);
    }
    return false;
}

/* Finds the image's own file, or a debug file that stands in for it; warns otherwise. */
static bool module_find(struct module *m, const struct image_request *request,
                        struct buf *warnings)
{
    const struct profile_image *image = request->image;
    bool vdso = image->flags & PROFILE_IMAGE_VDSO;
    int fd = vdso ? vdso_open() : regular_open(image->path);
    const char *problem = "cannot be opened";
    if (fd >= 0) {
        int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        problem = "is not an ELF file that can be read";
        if (module_open(m, fd, vdso ? "[vdso]" : image->path, request->options.debug_path)) {
            bool same = file_matches(m->dwfl_module, image, copy);
            if (copy >= 0)
                close(copy);
            if (same)
                return true;
            module_close(m);
            problem = vdso ? "is of another kernel" : "has changed since the recording";
        } else if (copy >= 0) {
            close(copy);
        }
    }
    if (module_open_debug(m, request))
        return true;
    buf_printf(warnings, "%s %s: its functions are shown as addresses.\n",
               vdso ? "[vdso]" : image->path, problem);
    return false;
}

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

static const char *name_address(struct pool *pool, const char *image, uint64_t address)
{
    char *name;
    if (asprintf(&name, "[%s+0x%llx]", image, (unsigned long long)address) < 0) {
        pool->failed = true;
        return "";
    }
    const char *result = pool_intern(pool, name);
    free(name);
    return result;
}

/* The name of a symbol without its version ("memcpy@@GLIBC_2.14"). */
static const char *symbol_name(struct pool *pool, const char *name)
{
    const char *version = strchr(name, '@');
    if (!version || version == name)
        return demangle(pool, name);
    char *bare = strndup(name, (size_t)(version - name));
    const char *result = bare ? demangle(pool, bare) : "";
    pool->failed |= !bare;
    free(bare);
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
    if (entry && (entry->sized || !frame->function[0])) {
        if (entry != r->last_entry)
            r->last_name = symbol_name(r->pool, entry->name);
        r->last_entry = entry;
        frame->function = r->last_name;
        frame->start = entry->start;
    }
    if (frame->function[0])
        return;
    r->unnamed++;
    frame->start = fde_start(r, address);
    frame->function = name_address(r->pool, r->request->name,
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

/* Strays between symbols are usual; a quarter of all addresses is a file without its symbols. */
static uint32_t unnamed_worth_saying(const struct resolver *r)
{
    return r->unnamed < r->request->count / 4 ? 0 : r->unnamed;
}

bool image_resolve(const struct image_request *request, struct symbol_location *out,
                   struct pool *pool, struct buf *warnings, uint32_t *unnamed,
                   struct progress *progress)
{
    struct module module = { 0 };
    struct resolver resolver = { .request = request, .pool = pool };
    bool found = module_find(&module, request, warnings);
    if (found)
        resolver_open(&resolver, &module);
    for (uint32_t i = 0; i < request->count && pool_ok(pool); i++) {
        resolve_one(&resolver, request->offsets[i], &out[i]);
        if ((i + 1) % PROGRESS_EVERY == 0)
            progress_add(progress, PROGRESS_EVERY);
    }
    progress_add(progress, request->count % PROGRESS_EVERY);
    *unnamed = found ? unnamed_worth_saying(&resolver) : 0;
    resolver_close(&resolver);
    module_close(&module);
    return pool_ok(pool) && buf_ok(warnings);
}
