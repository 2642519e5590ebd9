#include "symbols/module.h"

#include <elf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/unpack.h"

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

static void module_end(struct module *m)
{
    if (m->dwfl)
        dwfl_end(m->dwfl);
    free(m->debug_path);
}

void module_close(struct module *m)
{
    module_end(m);
    if (m->dwfl && m->unpacked >= 0)
        close(m->unpacked);
    *m = (struct module){ .unpacked = -1 };
}

/* elfutils goes on with the file that it has looked at, whatever is returned here. So where that
 * one has to be unpacked there is none, and the module is opened once more, with the unpacked
 * one. */
static int find_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                          const char *file, const char *link, GElf_Word checksum, char **found)
{
    struct module *m = *userdata;
    if (m->unpacked >= 0)
        return fcntl(m->unpacked, F_DUPFD_CLOEXEC, 0);
    int fd =
        dwfl_standard_find_debuginfo(module, userdata, name, base, file, link, checksum, found);
    int unpacked = unpack_debug(fd);
    if (unpacked == fd)
        return fd;
    m->unpacked = unpacked;
    return -1;
}

/* Takes fd. unpacked: its debug file, -1 if it is to be looked for. False if the file is no ELF
 * file that elfutils understands. */
static bool module_open_with(struct module *m, int fd, int unpacked, const char *path,
                             const char *debug_path)
{
    void **userdata;
    *m = (struct module){ .unpacked = unpacked };
    fd = unpack_debug(fd);
    if (asprintf(&m->debug_path, ":.debug:/usr/lib/debug%s%s", debug_path ? ":" : "",
                 debug_path ? debug_path : "") < 0)
        m->debug_path = NULL;
    m->callbacks.find_debuginfo = find_debuginfo;
    m->callbacks.debuginfo_path = &m->debug_path;
    m->dwfl = m->debug_path ? dwfl_begin(&m->callbacks) : NULL;
    if (m->dwfl) {
        dwfl_report_begin(m->dwfl);
        /* Base 0 plus the program headers' addresses: the module lies at its link-time addresses,
         * which are what profiles hold. */
        m->dwfl_module = dwfl_report_elf(m->dwfl, path, path, fd, 0, true);
        dwfl_report_end(m->dwfl, NULL, NULL);
    }
    if (m->dwfl_module) {
        dwfl_module_info(m->dwfl_module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
        *userdata = m;
        return true;
    }
    close(fd);
    module_close(m);
    return false;
}

static bool module_open(struct module *m, int fd, const char *path, const char *debug_path)
{
    return module_open_with(m, fd, -1, path, debug_path);
}

/* Once more, if its debug file turns out to be one that had to be unpacked. */
static bool module_open_again(struct module *m, int fd, const char *path, const char *debug_path)
{
    Dwarf_Addr bias;
    dwfl_module_getdwarf(m->dwfl_module, &bias);
    if (m->unpacked < 0)
        return true;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), unpacked = m->unpacked;
    if (copy < 0)
        return true; /* without that file, then */
    module_end(m);
    return module_open_with(m, copy, unpacked, path, debug_path);
}

/* Its size; 0 or less: there is none. */
static int build_id_of(Dwfl_Module *module, const unsigned char **bits)
{
    GElf_Addr address, bias;
    /* Reading the main file is what finds its build-id note. */
    dwfl_module_getelf(module, &bias);
    return dwfl_module_build_id(module, bits, &address);
}

static bool build_id_matches(Dwfl_Module *module, const struct profile_image *image)
{
    const unsigned char *bits;
    int size = build_id_of(module, &bits);
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

/* The separate debug file by build-id, from the servers of DEBUGINFOD_URLS; -1. elfutils asks them
 * for a module whose build-id it is told. */
static int debuginfod_open(const struct profile_image *image)
{
    static char *no_path = "";
    const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                      .find_debuginfo = dwfl_standard_find_debuginfo,
                                      .debuginfo_path = &no_path};
    const char *servers = getenv("DEBUGINFOD_URLS");
    char *found = NULL;
    int fd = -1;
    Dwfl *dwfl = servers && *servers ? dwfl_begin(&callbacks) : NULL;
    if (!dwfl)
        return -1;
    dwfl_report_begin(dwfl);
    Dwfl_Module *module = dwfl_report_module(dwfl, "image", 0, 1);
    dwfl_report_end(dwfl, NULL, NULL);
    if (module && !dwfl_module_report_build_id(module, image->build_id, image->build_id_size, 0))
        fd = dwfl_standard_find_debuginfo(module, NULL, NULL, 0, NULL, NULL, 0, &found);
    free(found);
    dwfl_end(dwfl);
    return fd;
}

/* Takes fd, of a separate debug file. */
static bool debug_take(struct module *m, int fd, const char *path,
                       const struct profile_image *image, const struct symbols_options *options)
{
    if (fd < 0 || !module_open(m, fd, path, options->debug_path))
        return false;
    m->debug_only = true;
    if (build_id_matches(m->dwfl_module, image))
        return true;
    module_close(m);
    return false;
}

/* The separate debug file by build-id alone, for an image whose file is gone. */
static bool module_open_debug(struct module *m, const struct profile_image *image,
                              const struct symbols_options *options)
{
    if (image->build_id_size < 2 || image->build_id_size > PROFILE_BUILD_ID_MAX)
        return false;
    char id[2 * PROFILE_BUILD_ID_MAX + 2];
    char *end = id + sprintf(id, "%02x/", image->build_id[0]);
    for (uint32_t i = 1; i < image->build_id_size; i++)
        end += sprintf(end, "%02x", image->build_id[i]);
    const char *roots[] = { options->debug_path, "/usr/lib/debug" };
    for (int r = 0; r < 2; r++) {
        char path[4096];
        int n = roots[r] ? snprintf(path, sizeof path, "%s/.build-id/%s.debug", roots[r], id) : 0;
        int fd = n > 0 && (size_t)n < sizeof path ? regular_open(path) : -1;
        if (debug_take(m, fd, path, image, options))
            return true;
    }
    /* A quick look asks nobody else. */
    return options->detail != SYMBOLS_QUICK &&
           debug_take(m, debuginfod_open(image), image->path, image, options);
}

/* Takes fd. Otherwise *why says what is wrong with it. */
static bool module_open_same(struct module *m, int fd, const struct profile_image *image,
                             const struct symbols_options *options, const char **why)
{
    bool vdso = image->flags & PROFILE_IMAGE_VDSO;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    bool opened = module_open(m, fd, vdso ? "[vdso]" : image->path, options->debug_path);
    bool same = opened && file_matches(m->dwfl_module, image, copy);
    if (same && options->detail != SYMBOLS_QUICK)
        same = opened = module_open_again(m, copy, image->path, options->debug_path);
    if (copy >= 0)
        close(copy);
    if (same)
        return true;
    if (opened)
        module_close(m);
    *why = !opened ? "is not an ELF file that can be read"
           : vdso  ? "is of another kernel" : "has changed since the recording";
    return false;
}

bool module_find(struct module *m, const struct profile_image *image,
                 const struct symbols_options *options, struct buf *problem)
{
    bool vdso = image->flags & PROFILE_IMAGE_VDSO;
    int fd = vdso ? vdso_open() : regular_open(image->path);
    const char *why = "cannot be opened", *ignored;
    if (fd >= 0 && module_open_same(m, fd, image, options, &why))
        return true;
    fd = vdso || !options->open_image ? -1 : options->open_image(options->context, image);
    if (fd >= 0 && module_open_same(m, fd, image, options, &ignored))
        return true;
    if (module_open_debug(m, image, options))
        return true;
    buf_printf(problem, "%s %s", vdso ? "[vdso]" : image->path, why);
    buf_put_u8(problem, 0);
    return false;
}

bool module_open_file(struct module *m, const char *path, struct profile_image *image)
{
    const unsigned char *bits;
    int fd = regular_open(path);
    if (fd < 0)
        return false;
    if (!module_open(m, fd, path, NULL)) {
        errno = 0;
        return false;
    }
    int size = build_id_of(m->dwfl_module, &bits);
    image->build_id_size = size > 0 && size <= (int)PROFILE_BUILD_ID_MAX ? (uint32_t)size : 0;
    if (image->build_id_size)
        memcpy(image->build_id, bits, image->build_id_size);
    return true;
}

/* One of the sections that hold them. */
static bool has_symbol_table(Elf *elf)
{
    size_t names;
    Elf_Scn *section = NULL;
    if (!elf || elf_getshdrstrndx(elf, &names))
        return false;
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            continue;
        const char *name = elf_strptr(elf, names, header.sh_name);
        if (header.sh_type == SHT_SYMTAB || (name && !strcmp(name, ".gnu_debugdata")))
            return true;
    }
    return false;
}

bool module_has_symbols(const struct module *m)
{
    GElf_Addr bias;
    if (has_symbol_table(dwfl_module_getelf(m->dwfl_module, &bias)))
        return true;
    Dwarf *dwarf = dwfl_module_getdwarf(m->dwfl_module, &bias);
    return dwarf && has_symbol_table(dwarf_getelf(dwarf));
}
