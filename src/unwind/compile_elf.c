/* Finding .eh_frame, the code and the functions' symbols in an ELF file. */
#include "unwind/compile.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unwind/cfi.h"

struct image {
    Elf *elf;
    const char *name; /* for messages */
    uint64_t size;    /* of the file */
    size_t segments;
    uint64_t text_lo, text_hi;
    int fd;               /* of the file, or -1 */
    const uint8_t *bytes; /* of an image in memory */
    uint8_t *code;        /* what was read of the file's code last */
    uint64_t code_size;   /* what there is room for */
};

static bool image_open(struct image *i, struct err *e)
{
    GElf_Ehdr header;
    if (!i->elf || elf_kind(i->elf) != ELF_K_ELF || !gelf_getehdr(i->elf, &header))
        return err_set(e, ERR_FORMAT, "%s: not an ELF file, or a damaged one", i->name);
    if (header.e_machine != EM_X86_64 || gelf_getclass(i->elf) != ELFCLASS64)
        return err_set(e, ERR_WRONG_MACHINE, "%s: not an x86-64 ELF file", i->name);
    if (elf_getphdrnum(i->elf, &i->segments) != 0)
        return err_set(e, ERR_FORMAT, "%s: damaged program headers", i->name);
    return true;
}

/* The part of a segment that the file really holds. */
static uint64_t segment_bytes(const struct image *i, const GElf_Phdr *p)
{
    if (p->p_offset >= i->size)
        return 0;
    uint64_t there = i->size - p->p_offset;
    return p->p_filesz < there ? p->p_filesz : there;
}

static bool text_find(struct image *i, struct err *e)
{
    i->text_lo = UINT64_MAX;
    i->text_hi = 0;
    for (size_t n = 0; n < i->segments; n++) {
        GElf_Phdr p;
        if (!gelf_getphdr(i->elf, (int)n, &p) || p.p_type != PT_LOAD || !(p.p_flags & PF_X))
            continue;
        uint64_t bytes = segment_bytes(i, &p);
        if (bytes == 0 || p.p_vaddr + bytes < p.p_vaddr)
            continue;
        if (p.p_vaddr < i->text_lo)
            i->text_lo = p.p_vaddr;
        if (p.p_vaddr + bytes > i->text_hi)
            i->text_hi = p.p_vaddr + bytes;
    }
    if (i->text_hi == 0)
        return err_set(e, ERR_FORMAT, "%s: has no executable segment", i->name);
    return true;
}

static bool frames_by_section(const struct image *i, struct unwind_section *s)
{
    size_t names;
    if (elf_getshdrstrndx(i->elf, &names) != 0)
        return false;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(i->elf, scn));) {
        GElf_Shdr header;
        if (!gelf_getshdr(scn, &header) || header.sh_type == SHT_NOBITS ||
            !(header.sh_flags & SHF_ALLOC) || (header.sh_flags & SHF_COMPRESSED))
            continue;
        const char *name = elf_strptr(i->elf, names, header.sh_name);
        if (!name || strcmp(name, ".eh_frame") != 0)
            continue;
        Elf_Data *data = elf_rawdata(scn, NULL);
        if (!data || !data->d_buf || data->d_size == 0)
            return false;
        *s = (struct unwind_section){data->d_buf, data->d_size, header.sh_addr};
        return true;
    }
    return false;
}

/* The file's bytes from vaddr to the end of its segment. */
static bool bytes_at(const struct image *i, uint64_t vaddr, struct unwind_section *s)
{
    for (size_t n = 0; n < i->segments; n++) {
        GElf_Phdr p;
        if (!gelf_getphdr(i->elf, (int)n, &p) || p.p_type != PT_LOAD)
            continue;
        uint64_t bytes = segment_bytes(i, &p), skip = vaddr - p.p_vaddr;
        if (vaddr < p.p_vaddr || skip >= bytes)
            continue;
        Elf_Data *data = elf_getdata_rawchunk(i->elf, (int64_t)(p.p_offset + skip),
                                              (size_t)(bytes - skip), ELF_T_BYTE);
        if (!data || !data->d_buf)
            return false;
        *s = (struct unwind_section){data->d_buf, data->d_size, vaddr};
        return true;
    }
    return false;
}

static void cut_at_terminator(struct unwind_section *s)
{
    const struct cfi_space space = {s->data, s->size, s->vaddr};
    uint64_t offset = 0, next;
    while (cfi_record_as(&space, offset, &next) != RECORD_END && next != 0)
        offset = next;
    s->size = offset;
}

/* Without section headers (the vdso of some kernels, stripped files): .eh_frame_hdr tells where
 * .eh_frame begins; its terminator tells where it ends. */
static bool frames_by_segment(const struct image *i, struct unwind_section *s)
{
    enum { HDR_FIXED = 8, PCREL_SDATA4 = 0x1b };
    for (size_t n = 0; n < i->segments; n++) {
        GElf_Phdr p;
        struct unwind_section hdr;
        int32_t distance;
        if (!gelf_getphdr(i->elf, (int)n, &p) || p.p_type != PT_GNU_EH_FRAME)
            continue;
        if (!bytes_at(i, p.p_vaddr, &hdr) || hdr.size < HDR_FIXED || hdr.data[0] != 1 ||
            hdr.data[1] != PCREL_SDATA4)
            return false;
        memcpy(&distance, hdr.data + 4, sizeof distance);
        if (!bytes_at(i, p.p_vaddr + 4 + (uint64_t)(int64_t)distance, s))
            return false;
        cut_at_terminator(s);
        return true;
    }
    return false;
}

/* The symbol table, of those that there are the fullest. */
static struct unwind_section symbols_find(const struct image *i)
{
    Elf_Scn *best = NULL;
    GElf_Word type = SHT_NULL;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(i->elf, scn));) {
        GElf_Shdr header;
        if (!gelf_getshdr(scn, &header) || (header.sh_flags & SHF_COMPRESSED))
            continue;
        if (header.sh_type == SHT_SYMTAB || (header.sh_type == SHT_DYNSYM && type != SHT_SYMTAB)) {
            best = scn;
            type = header.sh_type;
        }
    }
    Elf_Data *data = best ? elf_rawdata(best, NULL) : NULL;
    return data && data->d_buf ? (struct unwind_section){.data = data->d_buf, .size = data->d_size}
                               : (struct unwind_section){0};
}

/* libelf would keep all pieces that it reads until the end. */
static bool file_read(struct image *i, uint64_t offset, uint64_t size, const uint8_t **bytes)
{
    if (i->fd < 0) {
        *bytes = i->bytes + offset;
        return true;
    }
    if (size > i->code_size) {
        free(i->code);
        i->code = malloc(size);
        i->code_size = i->code ? size : 0;
    }
    *bytes = i->code;
    return i->code && pread(i->fd, i->code, size, (off_t)offset) == (ssize_t)size;
}

/* struct unwind_code's: from the executable segment that holds it all. */
static bool code_read(void *context, uint64_t vaddr, uint64_t size, const uint8_t **bytes)
{
    struct image *i = context;
    for (size_t n = 0; n < i->segments; n++) {
        GElf_Phdr p;
        if (!gelf_getphdr(i->elf, (int)n, &p) || p.p_type != PT_LOAD || !(p.p_flags & PF_X))
            continue;
        uint64_t there = segment_bytes(i, &p), skip = vaddr - p.p_vaddr;
        if (vaddr >= p.p_vaddr && skip < there && size <= there - skip)
            return file_read(i, p.p_offset + skip, size, bytes);
    }
    return false;
}

static bool build_id_matches(const struct image *i, const uint8_t *expect, size_t size)
{
    for (size_t n = 0; n < i->segments; n++) {
        GElf_Phdr p;
        if (!gelf_getphdr(i->elf, (int)n, &p) || p.p_type != PT_NOTE)
            continue;
        Elf_Data *data =
            elf_getdata_rawchunk(i->elf, (int64_t)p.p_offset, (size_t)segment_bytes(i, &p),
                                 p.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
        GElf_Nhdr note;
        size_t name, description;
        for (size_t at = 0;
             data && (at = gelf_getnote(data, at, &note, &name, &description)) > 0;) {
            const uint8_t *bytes = data->d_buf;
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof "GNU" &&
                memcmp(bytes + name, "GNU", sizeof "GNU") == 0)
                return note.n_descsz == size && memcmp(bytes + description, expect, size) == 0;
        }
    }
    return false;
}

static bool compile(struct image *i, const uint8_t *build_id, size_t build_id_size, void **table,
                    size_t *size, struct err *e)
{
    struct unwind_section frames;
    if (!image_open(i, e) || !text_find(i, e))
        return false;
    if (build_id && !build_id_matches(i, build_id, build_id_size))
        return err_set(e, ERR_FORMAT,
                       "%s: its build-id is not that of the running program; "
                       "the file was replaced since the program started",
                       i->name);
    if (!frames_by_section(i, &frames) && !frames_by_segment(i, &frames))
        return err_set(e, ERR_FORMAT,
                       "%s: has no .eh_frame; build it with -fasynchronous-unwind-tables", i->name);
    const struct unwind_code code = {symbols_find(i), code_read, i};
    if (!unwind_compile(&frames, &code, i->text_lo, i->text_hi, table, size, e))
        return err_prefix(e, "%s", i->name);
    return true;
}

bool unwind_compile_file(const char *path, const uint8_t *expect_build_id, size_t build_id_size,
                         void **table, size_t *size, struct err *e)
{
    struct image image = {.name = path, .fd = -1};
    *table = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_set_errno(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_INTERNAL, errno,
                             "cannot read %s for its unwind information", path);
    image.fd = fd;
    off_t end = lseek(fd, 0, SEEK_END);
    image.size = end > 0 ? (uint64_t)end : 0;
    elf_version(EV_CURRENT);
    /* Not ELF_C_READ_MMAP: a file that shrinks while it is mapped would be a SIGBUS. */
    image.elf = elf_begin(fd, ELF_C_READ, NULL);
    bool ok = compile(&image, expect_build_id, build_id_size, table, size, e);
    elf_end(image.elf);
    free(image.code);
    close(fd);
    return ok;
}

bool unwind_compile_image(const void *elf, size_t elf_size, void **table, size_t *size,
                          struct err *e)
{
    struct image image = {.name = "the image in memory", .size = elf_size, .fd = -1, .bytes = elf};
    *table = NULL;
    elf_version(EV_CURRENT);
    /* libelf takes char * for an image that it can also write; it is only read here. */
    union {
        const void *given;
        char *wanted;
    } bytes = {.given = elf};
    image.elf = elf_memory(bytes.wanted, elf_size);
    bool ok = compile(&image, NULL, 0, table, size, e);
    elf_end(image.elf);
    return ok;
}
