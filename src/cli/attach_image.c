#include "cli/attach_image.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

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
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
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

const struct attach_map *attach_maps_at(const struct attach_maps *maps, uint64_t address)
{
    for (size_t i = 0; i < maps->count; i++)
        if (address >= maps->list[i].lo && address < maps->list[i].hi)
            return &maps->list[i];
    return NULL;
}

const struct attach_map *attach_maps_named(const struct attach_maps *maps, const char *prefix)
{
    for (size_t i = 0; i < maps->count; i++)
        if (maps->list[i].inode && maps->list[i].offset == 0 &&
            !strncmp(maps->list[i].name, prefix, strlen(prefix)))
            return &maps->list[i];
    return NULL;
}

bool attach_read(int mem, uint64_t address, void *to, size_t size)
{
    return pread(mem, to, size, (off_t)address) == (ssize_t)size;
}

bool attach_write(int mem, uint64_t address, const void *from, size_t size)
{
    return pwrite(mem, from, size, (off_t)address) == (ssize_t)size;
}

struct dynamic {
    uint64_t bias, symbols, strings, hash;
};

/* The loader of glibc replaces the addresses in the dynamic section by those at run time; others
 * leave them as they are in the file. */
static uint64_t dynamic_address(uint64_t value, uint64_t bias)
{
    return value < bias ? value + bias : value;
}

static bool dynamic_read(int mem, uint64_t base, struct dynamic *d)
{
    Elf64_Ehdr header;
    Elf64_Phdr program[PROGRAM_HEADERS_MAX];
    Elf64_Dyn entry;
    uint64_t at = 0, size = 0;
    bool biased = false;
    if (!attach_read(mem, base, &header, sizeof header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phnum > PROGRAM_HEADERS_MAX ||
        !attach_read(mem, base + header.e_phoff, program, header.e_phnum * sizeof *program))
        return false;
    *d = (struct dynamic){0};
    for (unsigned i = 0; i < header.e_phnum; i++) {
        if (program[i].p_type == PT_LOAD && program[i].p_offset == 0 && !biased) {
            d->bias = base - program[i].p_vaddr;
            biased = true;
        }
        if (program[i].p_type == PT_DYNAMIC) {
            at = program[i].p_vaddr;
            size = program[i].p_memsz;
        }
    }
    for (unsigned i = 0; at && biased && i < size / sizeof entry && i < DYNAMIC_MAX; i++) {
        if (!attach_read(mem, d->bias + at + i * sizeof entry, &entry, sizeof entry))
            return false;
        uint64_t *to = entry.d_tag == DT_SYMTAB     ? &d->symbols
                       : entry.d_tag == DT_STRTAB   ? &d->strings
                       : entry.d_tag == DT_GNU_HASH ? &d->hash
                                                    : NULL;
        if (to)
            *to = dynamic_address(entry.d_un.d_ptr, d->bias);
        if (entry.d_tag == DT_NULL)
            break;
    }
    return d->symbols && d->strings && d->hash;
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t h = 5381;
    for (; *name; name++)
        h = h * 33 + (uint8_t)*name;
    return h;
}

/* The function of symbol `index` if that is its name and it is defined here. */
static uint64_t symbol_match(int mem, const struct dynamic *d, uint32_t index, const char *name)
{
    Elf64_Sym symbol;
    char found[64] = "";
    size_t length = strlen(name) + 1;
    if (length > sizeof found ||
        !attach_read(mem, d->symbols + index * sizeof symbol, &symbol, sizeof symbol) ||
        !symbol.st_shndx || !symbol.st_value ||
        !attach_read(mem, d->strings + symbol.st_name, found, length) ||
        memcmp(found, name, length) != 0)
        return 0;
    return d->bias + symbol.st_value;
}

uint64_t attach_symbol(int mem, uint64_t base, const char *name)
{
    struct dynamic d;
    struct { uint32_t buckets, first, bloom_words, bloom_shift; } head;
    uint32_t index, chain, wanted = gnu_hash(name);
    if (!dynamic_read(mem, base, &d) || !attach_read(mem, d.hash, &head, sizeof head) ||
        !head.buckets)
        return 0;
    uint64_t buckets = d.hash + sizeof head + (uint64_t)head.bloom_words * 8;
    uint64_t chains = buckets + (uint64_t)head.buckets * 4;
    if (!attach_read(mem, buckets + (uint64_t)(wanted % head.buckets) * 4, &index, 4) ||
        index < head.first)
        return 0;
    for (unsigned n = 0; n < CHAIN_MAX; n++, index++) {
        if (!attach_read(mem, chains + (uint64_t)(index - head.first) * 4, &chain, 4))
            return 0;
        uint64_t found = (chain | 1) == (wanted | 1) ? symbol_match(mem, &d, index, name) : 0;
        if (found || (chain & 1))
            return found;
    }
    return 0;
}
