#include "sigsafe/elf_probe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>

#include "sigsafe/preload.h"
#include "sigsafe/sys.h"

/* The kernel refuses program header tables above 64 kB (fs/binfmt_elf.c). */
#define PHDRS_MAX (65536 / sizeof(Elf64_Phdr))

static const char glibc_loader[] = "ld-linux-x86-64.so";

static long read_at_as(int fd, void *to, uint64_t size, uint64_t offset)
{
    return sys_call6_as(SYS_pread64, fd, (long)to, (long)size, (long)offset, 0, 0);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* As the kernel reads it (fs/binfmt_script.c): blanks, then the path up to a blank or the line's
 * end. No path at all is not a script for the kernel either. */
static enum elf_probe_kind probe_script(const char *head, long n, struct elf_probe *out)
{
    long i = 2, length = 0;
    while (i < n && is_blank(head[i]))
        i++;
    while (i < n && !is_blank(head[i]) && head[i] != '\n' && head[i] != '\0' &&
           length < ELF_PROBE_PATH_MAX - 1)
        out->interpreter[length++] = head[i++];
    out->interpreter[length] = '\0';
    return length ? ELF_PROBE_SCRIPT : ELF_PROBE_NOT_ELF;
}

/* The program headers, of which some are read at once. */
struct segments {
    int fd;
    const Elf64_Ehdr *header;
    unsigned from, count; /* of those in `part` */
    Elf64_Phdr part[8];
};

static const Elf64_Phdr *segment_as(struct segments *s, unsigned i)
{
    if (i - s->from >= s->count) {
        uint64_t left = s->header->e_phnum - i, most = sizeof s->part / sizeof *s->part;
        uint64_t at = s->header->e_phoff + i * sizeof *s->part;
        long n = read_at_as(s->fd, s->part, (left < most ? left : most) * sizeof *s->part, at);
        s->from = i;
        s->count = n > 0 ? (unsigned)((uint64_t)n / sizeof *s->part) : 0;
    }
    return i - s->from < s->count ? &s->part[i - s->from] : NULL;
}

/* Where in the file the `address` of the program is. */
static bool file_offset_as(struct segments *s, uint64_t address, uint64_t *offset)
{
    for (unsigned i = 0; i < s->header->e_phnum; i++) {
        const Elf64_Phdr *load = segment_as(s, i);
        if (!load || load->p_type != PT_LOAD || address - load->p_vaddr >= load->p_filesz)
            continue;
        *offset = load->p_offset + (address - load->p_vaddr);
        return true;
    }
    return false;
}

/* Where the name of the first entry DT_NEEDED is, which linkers put at the beginning. */
static bool first_needed_as(struct segments *s, uint64_t offset, uint64_t bytes, uint64_t *name)
{
    enum { READ = 16, MOST = 1024 };
    Elf64_Dyn entries[READ];
    uint64_t needed = UINT64_MAX, strings = 0;
    uint64_t count = bytes / sizeof *entries < MOST ? bytes / sizeof *entries : MOST;
    for (uint64_t i = 0; i < count && (needed == UINT64_MAX || !strings); i++) {
        const Elf64_Dyn *entry = &entries[i % READ];
        uint64_t size = (count - i < READ ? count - i : READ) * sizeof *entries;
        if (i % READ == 0 &&
            read_at_as(s->fd, entries, size, offset + i * sizeof *entries) != (long)size)
            return false;
        if (entry->d_tag == DT_NULL)
            break;
        if (entry->d_tag == DT_NEEDED && needed == UINT64_MAX)
            needed = entry->d_un.d_val;
        else if (entry->d_tag == DT_STRTAB)
            strings = entry->d_un.d_ptr;
    }
    return needed != UINT64_MAX && strings && file_offset_as(s, strings + needed, name);
}

/* ---- is it glibc's loader? ---- */

static bool names_glibc_loader(const char *path)
{
    const char *name = path;
    for (const char *p = path; *p; p++)
        if (*p == '/')
            name = p + 1;
    for (unsigned i = 0; i < sizeof glibc_loader - 1; i++)
        if (name[i] != glibc_loader[i])
            return false;
    return true;
}

/* Where the versions that a file defines are, and how many. */
static bool versions_defined_as(struct segments *s, uint64_t *offset, uint64_t *count)
{
    enum { MOST = 256 };
    uint64_t address = 0;
    *count = 0;
    for (unsigned i = 0; i < s->header->e_phnum; i++) {
        const Elf64_Phdr *segment = segment_as(s, i);
        if (!segment || segment->p_type != PT_DYNAMIC)
            continue;
        uint64_t at = segment->p_offset, end = at + segment->p_filesz;
        for (unsigned k = 0; k < MOST && end - at >= sizeof(Elf64_Dyn);
             k++, at += sizeof(Elf64_Dyn)) {
            Elf64_Dyn entry;
            if (read_at_as(s->fd, &entry, sizeof entry, at) != (long)sizeof entry ||
                entry.d_tag == DT_NULL)
                break;
            if (entry.d_tag == DT_VERDEF)
                address = entry.d_un.d_ptr;
            else if (entry.d_tag == DT_VERDEFNUM)
                *count = entry.d_un.d_val;
        }
        break;
    }
    return address && file_offset_as(s, address, offset);
}

/* Whatever it is called: of all loaders, only glibc's defines the version GLIBC_PRIVATE, for its
 * own libraries. */
static bool is_glibc_loader_as(struct segments *s)
{
    enum { GLIBC_PRIVATE_HASH = 0x0963cf85, MOST = 128 };
    uint64_t at, count;
    if (s->header->e_type != ET_DYN || !versions_defined_as(s, &at, &count))
        return false;
    for (uint64_t i = 0; i < count && i < MOST; i++) {
        Elf64_Verdef version;
        if (read_at_as(s->fd, &version, sizeof version, at) != (long)sizeof version)
            return false;
        if (version.vd_hash == GLIBC_PRIVATE_HASH)
            return true;
        if (!version.vd_next)
            return false;
        at += version.vd_next;
    }
    return false;
}

static bool header_read_as(int fd, Elf64_Ehdr *header)
{
    return read_at_as(fd, header, sizeof *header, 0) == (long)sizeof *header &&
           header->e_ident[EI_MAG0] == ELFMAG0 && header->e_ident[EI_MAG1] == ELFMAG1 &&
           header->e_ident[EI_MAG2] == ELFMAG2 && header->e_ident[EI_MAG3] == ELFMAG3 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_machine == EM_X86_64 &&
           header->e_phentsize == sizeof(Elf64_Phdr) && header->e_phnum <= PHDRS_MAX;
}

/* A loader that cannot be read is taken for what it is called. */
static bool path_is_glibc_loader_as(const char *path)
{
    Elf64_Ehdr header;
    struct segments s;
    long fd =
        sys_call6_as(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, 0, 0);
    if (fd < 0)
        return names_glibc_loader(path);
    s.fd = (int)fd;
    s.header = &header;
    s.from = s.count = 0;
    bool is = header_read_as((int)fd, &header) && is_glibc_loader_as(&s);
    sys_call3_as(SYS_close, fd, 0, 0);
    return is;
}

static enum elf_probe_kind probe_interpreter(int fd, const Elf64_Phdr *segment,
                                             struct elf_probe *out)
{
    uint64_t size = segment->p_filesz;
    if (size < 2)
        return ELF_PROBE_BROKEN;
    if (size > ELF_PROBE_PATH_MAX)
        size = ELF_PROBE_PATH_MAX;
    long n = read_at_as(fd, out->interpreter, size, segment->p_offset);
    if (n <= 0) {
        out->interpreter[0] = '\0';
        return ELF_PROBE_BROKEN;
    }
    out->interpreter[n - 1] = '\0';
    return path_is_glibc_loader_as(out->interpreter) ? ELF_PROBE_OK : ELF_PROBE_NOT_GLIBC;
}

/* out->first. Where it cannot be told there is none: the loader will say what is wrong. */
static void probe_first(struct segments *s, uint64_t dynamic, uint64_t bytes, struct elf_probe *out)
{
    uint64_t at;
    long n = 0, length = 0;
    if (first_needed_as(s, dynamic, bytes, &at))
        n = read_at_as(s->fd, out->first, sizeof out->first, at);
    while (length < n && out->first[length] && out->first[length] != ':' &&
           !is_blank(out->first[length]))
        length++;
    if (length >= n || out->first[length] || !preload_goes_first_as(out->first, (size_t)length))
        out->first[0] = '\0';
}

static enum elf_probe_kind probe_segments(int fd, const Elf64_Ehdr *header, struct elf_probe *out)
{
    struct segments s; /* no memory is cleared: compilers call memset for that */
    enum elf_probe_kind kind = ELF_PROBE_STATIC;
    uint64_t dynamic = 0, bytes = 0;
    s.fd = fd;
    s.header = header;
    s.from = s.count = 0;
    if (header->e_phentsize != sizeof(Elf64_Phdr) || !header->e_phnum ||
        header->e_phnum > PHDRS_MAX)
        return ELF_PROBE_BROKEN;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *segment = segment_as(&s, i);
        if (!segment)
            return ELF_PROBE_BROKEN;
        if (segment->p_type == PT_INTERP && kind == ELF_PROBE_STATIC) {
            kind = probe_interpreter(fd, segment, out);
        } else if (segment->p_type == PT_DYNAMIC) {
            dynamic = segment->p_offset;
            bytes = segment->p_filesz;
        }
    }
    if (kind == ELF_PROBE_OK)
        probe_first(&s, dynamic, bytes, out);
    if (kind == ELF_PROBE_STATIC && dynamic && is_glibc_loader_as(&s))
        kind = ELF_PROBE_LOADER;
    return kind;
}

static enum elf_probe_kind probe_head(int fd, struct elf_probe *out)
{
    union {
        char bytes[ELF_PROBE_PATH_MAX];
        Elf64_Ehdr elf;
    } head;
    long n = read_at_as(fd, head.bytes, sizeof head.bytes, 0);
    if (n < 0) {
        out->error = (int)-n;
        return ELF_PROBE_UNREADABLE;
    }
    if (n >= 2 && head.bytes[0] == '#' && head.bytes[1] == '!')
        return probe_script(head.bytes, n, out);
    if (n < SELFMAG || head.bytes[0] != ELFMAG0 || head.bytes[1] != ELFMAG1 ||
        head.bytes[2] != ELFMAG2 || head.bytes[3] != ELFMAG3) {
        for (long i = 0; i < n; i++)
            out->binary |= head.bytes[i] == '\0';
        return ELF_PROBE_NOT_ELF;
    }
    if (n < (long)sizeof head.elf)
        return ELF_PROBE_BROKEN;
    out->machine = head.elf.e_machine; /* at the same place in both classes */
    out->is64 = head.elf.e_ident[EI_CLASS] == ELFCLASS64;
    if (!out->is64 || head.elf.e_ident[EI_DATA] != ELFDATA2LSB || out->machine != EM_X86_64)
        return ELF_PROBE_WRONG_MACHINE;
    if (head.elf.e_type != ET_EXEC && head.elf.e_type != ET_DYN)
        return ELF_PROBE_BROKEN;
    return probe_segments(fd, &head.elf, out);
}

enum elf_probe_kind elf_probe_as(const char *path, struct elf_probe *out)
{
    out->error = 0;
    out->binary = false;
    out->machine = 0;
    out->is64 = false;
    out->interpreter[0] = '\0';
    out->first[0] = '\0';
    /* O_NONBLOCK: a named pipe must not hang us. */
    long fd = sys_call6_as(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0,
                           0, 0);
    if (fd < 0) {
        out->error = (int)-fd;
        out->kind = ELF_PROBE_UNREADABLE;
        return out->kind;
    }
    out->kind = probe_head((int)fd, out);
    sys_call3_as(SYS_close, fd, 0, 0);
    return out->kind;
}
