#include "collector/attach/attach_image.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collector/attach/attach_thread.h"

enum { PROGRAM_HEADERS_MAX = 64, DYNAMIC_MAX = 256, CHAIN_MAX = 65536 };

static bool parse_line(const char *line, struct attach_map *m)
{
    char permissions[5] = "";
    unsigned major, minor;
    int at = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &m->lo, &m->hi,
               permissions, &m->offset, &major, &minor, &m->inode, &at) < 7)
        return false;
    m->device = makedev(major, minor);
    m->executable = permissions[2] == 'x';
    m->writable = permissions[1] == 'w';
    const char *path = at ? line + at : "";
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    snprintf(m->name, sizeof m->name, "%.*s", (int)strcspn(name, "\n"), name);
    return true;
}

bool attach_maps_read(pid_t pid, struct attach_maps *maps)
{
    char path[64], *line = NULL;
    size_t size = 0, capacity = 0;
    bool ok = true;
    *maps = (struct attach_maps){0};
    snprintf(path, sizeof path, "/proc/%d/maps", attach_view(pid));
    FILE *f = fopen(path, "re");
    while (f && ok && getline(&line, &size, f) > 0) {
        if (maps->count == capacity) {
            capacity = capacity ? capacity * 2 : 256;
            struct attach_map *list = realloc(maps->list, capacity * sizeof *list);
            ok = list != NULL;
            maps->list = ok ? list : maps->list;
        }
        if (ok && parse_line(line, &maps->list[maps->count]))
            maps->count++;
    }
    free(line);
    if (f)
        fclose(f);
    if (ok && maps->count)
        return true;
    attach_maps_free(maps);
    return false;
}

void attach_maps_free(struct attach_maps *maps)
{
    free(maps->list);
    *maps = (struct attach_maps){0};
}

/* The kernel lists them by address. */
const struct attach_map *attach_maps_at(const struct attach_maps *maps, uint64_t address)
{
    size_t lo = 0, hi = maps->count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        const struct attach_map *m = &maps->list[middle];
        if (address >= m->lo && address < m->hi)
            return m;
        if (address < m->lo)
            hi = middle;
        else
            lo = middle + 1;
    }
    return NULL;
}

bool attach_maps_same_file(const struct attach_map *a, const struct attach_map *b)
{
    return a->inode && a->inode == b->inode && a->device == b->device;
}

bool attach_map_is_named(const struct attach_map *m, const char *const prefixes[2])
{
    return m->inode && (!strncmp(m->name, prefixes[0], strlen(prefixes[0])) ||
                        !strncmp(m->name, prefixes[1], strlen(prefixes[1])));
}

bool attach_read(int mem, uint64_t address, void *to, size_t size)
{
    return pread(mem, to, size, (off_t)address) == (ssize_t)size;
}

bool attach_write(int mem, uint64_t address, const void *from, size_t size)
{
    return pwrite(mem, from, size, (off_t)address) == (ssize_t)size;
}

/* The loader of glibc replaces the addresses in the dynamic section by those at run time; others
 * leave them as they are in the file. */
static uint64_t dynamic_address(uint64_t value, uint64_t bias)
{
    return value < bias ? value + bias : value;
}

static bool dynamic_read(int mem, struct attach_image *image, uint64_t size)
{
    Elf64_Dyn entry;
    for (unsigned i = 0; i < size / sizeof entry && i < DYNAMIC_MAX; i++) {
        if (!attach_read(mem, image->dynamic + i * sizeof entry, &entry, sizeof entry))
            return false;
        uint64_t *to = entry.d_tag == DT_SYMTAB     ? &image->symbols
                       : entry.d_tag == DT_STRTAB   ? &image->strings
                       : entry.d_tag == DT_GNU_HASH ? &image->hash
                                                    : NULL;
        if (to)
            *to = dynamic_address(entry.d_un.d_ptr, image->bias);
        if (entry.d_tag == DT_NULL)
            break;
    }
    return image->symbols && image->strings && image->hash;
}

/* The mapping in which an executable segment begins, if the segment is mapped there. */
static const struct attach_map *segment_map(const struct attach_maps *maps, uint64_t bias,
                                            const Elf64_Phdr *segment,
                                            const struct attach_map *first)
{
    uint64_t address = bias + segment->p_vaddr;
    const struct attach_map *m = attach_maps_at(maps, address);
    bool mapped = m && m->executable && attach_maps_same_file(m, first) &&
                  m->offset + (address - m->lo) == segment->p_offset;
    return mapped ? m : NULL;
}

bool attach_image_at(struct attach_image *image, const struct attach_maps *maps, int mem,
                     const struct attach_map *first)
{
    Elf64_Ehdr header;
    Elf64_Phdr program[PROGRAM_HEADERS_MAX];
    const Elf64_Phdr *begin = NULL, *code = NULL, *dynamic = NULL;
    if (!attach_read(mem, first->lo, &header, sizeof header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phnum > PROGRAM_HEADERS_MAX ||
        !attach_read(mem, first->lo + header.e_phoff, program, header.e_phnum * sizeof *program))
        return false;
    for (const Elf64_Phdr *p = program; p < program + header.e_phnum; p++) {
        if (!begin && p->p_type == PT_LOAD && p->p_offset == 0)
            begin = p;
        if (!code && p->p_type == PT_LOAD && (p->p_flags & PF_X))
            code = p;
        if (p->p_type == PT_DYNAMIC)
            dynamic = p;
    }
    if (!begin || !code || !dynamic)
        return false;
    *image = (struct attach_image){.bias = first->lo - begin->p_vaddr};
    image->dynamic = image->bias + dynamic->p_vaddr;
    image->code = segment_map(maps, image->bias, code, first);
    return image->code && dynamic_read(mem, image, dynamic->p_memsz);
}

bool attach_image_around(struct attach_image *image, const struct attach_maps *maps, int mem,
                         const struct attach_map *m)
{
    const struct attach_map *first = m;
    while (first > maps->list && !(first->offset == 0 && attach_maps_same_file(first, m)))
        first--;
    return attach_maps_same_file(first, m) && first->offset == 0 &&
           attach_image_at(image, maps, mem, first);
}

bool attach_image_has_code(const struct attach_image *image, const struct attach_map *m)
{
    return m->executable && attach_maps_same_file(m, image->code) &&
           m->lo - m->offset == image->code->lo - image->code->offset;
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t h = 5381;
    for (; *name; name++)
        h = h * 33 + (uint8_t)*name;
    return h;
}

/* The address of symbol `index` if that is its name and it is defined here. */
static uint64_t symbol_match(int mem, const struct attach_image *image, uint32_t index,
                             const char *name)
{
    Elf64_Sym symbol;
    char found[64] = "";
    size_t length = strlen(name) + 1;
    if (length > sizeof found ||
        !attach_read(mem, image->symbols + index * sizeof symbol, &symbol, sizeof symbol) ||
        !symbol.st_shndx || !symbol.st_value ||
        !attach_read(mem, image->strings + symbol.st_name, found, length) ||
        memcmp(found, name, length) != 0)
        return 0;
    return image->bias + symbol.st_value;
}

uint64_t attach_symbol(int mem, const struct attach_image *image, const char *name)
{
    struct { uint32_t buckets, first, bloom_words, bloom_shift; } head;
    uint32_t index, chain, wanted = gnu_hash(name);
    if (!attach_read(mem, image->hash, &head, sizeof head) || !head.buckets)
        return 0;
    uint64_t buckets = image->hash + sizeof head + (uint64_t)head.bloom_words * 8;
    uint64_t chains = buckets + (uint64_t)head.buckets * 4;
    if (!attach_read(mem, buckets + (uint64_t)(wanted % head.buckets) * 4, &index, 4) ||
        index < head.first)
        return 0;
    for (unsigned n = 0; n < CHAIN_MAX; n++, index++) {
        if (!attach_read(mem, chains + (uint64_t)(index - head.first) * 4, &chain, 4))
            return 0;
        uint64_t found = (chain | 1) == (wanted | 1) ? symbol_match(mem, image, index, name) : 0;
        if (found || (chain & 1))
            return found;
    }
    return 0;
}

uint64_t attach_function(int mem, const struct attach_image *image, const struct attach_maps *maps,
                         const char *name)
{
    uint64_t address = attach_symbol(mem, image, name);
    const struct attach_map *m = attach_maps_at(maps, address);
    return m && m->executable ? address : 0;
}
