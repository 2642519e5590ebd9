#include "symbols/unpack.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/* All sections together; and no zstd frame can hold more than this a byte. */
#define UNPACKED_MOST (UINT64_C(16) << 30)
#define RATIO_MOST UINT64_C(32768)

enum { ALIGN = 64 };

/* The copy, and where its next section goes. */
struct copy {
    int from, to;
    uint64_t end, unpacked;
};

static bool read_all(int fd, void *to, uint64_t size, uint64_t offset)
{
    uint8_t *at = to;
    while (size) {
        ssize_t n = pread(fd, at, size, (off_t)offset);
        if (n <= 0)
            return false;
        at += n;
        offset += (uint64_t)n;
        size -= (uint64_t)n;
    }
    return true;
}

static bool write_all(int fd, const void *from, uint64_t size, uint64_t offset)
{
    const uint8_t *at = from;
    while (size) {
        ssize_t n = pwrite(fd, at, size, (off_t)offset);
        if (n <= 0)
            return false;
        at += n;
        offset += (uint64_t)n;
        size -= (uint64_t)n;
    }
    return true;
}

static bool is_packed(int fd, const Elf64_Shdr *section, Elf64_Chdr *how)
{
    return section->sh_flags & SHF_COMPRESSED && section->sh_type != SHT_NOBITS &&
           section->sh_size > sizeof *how && read_all(fd, how, sizeof *how, section->sh_offset) &&
           how->ch_type == ELFCOMPRESS_ZSTD;
}

/* The whole section headers, or NULL: no 64-bit ELF file that has some. */
static Elf64_Shdr *headers_read(int fd, Elf64_Ehdr *elf, uint64_t size)
{
    if (!read_all(fd, elf, sizeof *elf, 0) || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
        elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_ident[EI_DATA] != ELFDATA2LSB ||
        elf->e_shentsize != sizeof(Elf64_Shdr) || !elf->e_shnum || elf->e_shoff > size ||
        (size - elf->e_shoff) / sizeof(Elf64_Shdr) < elf->e_shnum)
        return NULL;
    Elf64_Shdr *headers = calloc(elf->e_shnum, sizeof *headers);
    if (headers && read_all(fd, headers, elf->e_shnum * sizeof *headers, elf->e_shoff))
        return headers;
    free(headers);
    return NULL;
}

static bool copy_file(struct copy *c, uint64_t size)
{
    enum { CHUNK = 1 << 20 };
    uint8_t *chunk = malloc(CHUNK);
    bool ok = chunk;
    for (uint64_t at = 0; ok && at < size; at += CHUNK) {
        uint64_t n = size - at < CHUNK ? size - at : CHUNK;
        ok = read_all(c->from, chunk, n, at) && write_all(c->to, chunk, n, at);
    }
    free(chunk);
    c->end = (size + ALIGN - 1) / ALIGN * ALIGN;
    return ok;
}

/* Appends the section's contents, and makes its header say where they are. */
static bool section_unpack(struct copy *c, Elf64_Shdr *section, const Elf64_Chdr *how)
{
    uint64_t packed = section->sh_size - sizeof *how, size = how->ch_size;
    if (size / RATIO_MOST > packed || size > UNPACKED_MOST - c->unpacked)
        return false;
    uint8_t *from = malloc(packed), *to = malloc(size ? size : 1);
    bool ok = from && to && read_all(c->from, from, packed, section->sh_offset + sizeof *how) &&
              ZSTD_decompress(to, size, from, packed) == size && write_all(c->to, to, size, c->end);
    free(from);
    free(to);
    if (!ok)
        return false;
    section->sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
    section->sh_offset = c->end;
    section->sh_size = size;
    section->sh_addralign = how->ch_addralign;
    c->unpacked += size;
    c->end += (size + ALIGN - 1) / ALIGN * ALIGN;
    return true;
}

static int unpack_all(int fd, const Elf64_Ehdr *elf, Elf64_Shdr *headers, uint64_t size)
{
    struct copy c = {.from = fd, .to = -1};
    bool ok = true;
    for (unsigned i = 0; ok && i < elf->e_shnum; i++) {
        Elf64_Chdr how;
        if (headers[i].sh_offset > size || !is_packed(fd, &headers[i], &how))
            continue;
        if (c.to < 0)
            c.to = memfd_create("unpacked", MFD_CLOEXEC);
        /* What cannot be unpacked stays as it is: elfutils says the same of it as without us. */
        ok = c.to >= 0 && (c.end || copy_file(&c, size));
        if (ok)
            section_unpack(&c, &headers[i], &how);
    }
    if (c.to >= 0 && ok &&
        write_all(c.to, headers, elf->e_shnum * sizeof *headers, elf->e_shoff))
        return c.to;
    if (c.to >= 0)
        close(c.to);
    return -1;
}

int unpack_debug(int fd)
{
    struct stat st;
    Elf64_Ehdr elf;
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
        return fd;
    Elf64_Shdr *headers = headers_read(fd, &elf, (uint64_t)st.st_size);
    int unpacked = headers ? unpack_all(fd, &elf, headers, (uint64_t)st.st_size) : -1;
    free(headers);
    if (unpacked < 0)
        return fd;
    close(fd);
    return unpacked;
}
