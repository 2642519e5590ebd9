#include "collector/machine/machine_image.h"

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "sigsafe/key.h"
#include "unwind/compile.h"

#define VDSO "[vdso]"

/* ---- which there are ---- */

static bool has_file(const char *path)
{
    return path[0] == '/' && path[1] != '/';
}

struct machine_image *machine_image_of(struct machine_images *all, uint64_t dev, uint64_t ino,
                                       const char *path)
{
    bool vdso = !strcmp(path, VDSO);
    if (!vdso && (!ino || !has_file(path)))
        return NULL;
    if (vdso)
        dev = ino = 0;
    struct machine_image **at = &all->by_file[(dev * 31 + ino) % MACHINE_IMAGE_HASH];
    for (struct machine_image *i = *at; i; i = i->next)
        if (i->dev == dev && i->ino == ino)
            return i;
    struct machine_image *image = calloc(1, sizeof *image);
    if (!image)
        return NULL;
    *image = (struct machine_image){.next = *at, .dev = dev, .ino = ino, .path = strdup(path),
                                    .fd = -1};
    if (!image->path) {
        free(image);
        return NULL;
    }
    *at = image;
    all->known++;
    return image;
}

void machine_images_free(struct machine_images *all)
{
    for (unsigned h = 0; h < MACHINE_IMAGE_HASH; h++)
        while (all->by_file[h]) {
            struct machine_image *image = all->by_file[h];
            all->by_file[h] = image->next;
            free(image->path);
            free(image->table);
            free(image->frames.copy);
            free(image);
        }
    free(all->by_number);
}

struct machine_image *machine_image_numbered(const struct machine_images *all, uint32_t number)
{
    return number && number <= all->count ? all->by_number[number - 1] : NULL;
}

/* ---- their files ---- */

/* The device numbers that mappings and stat() tell differ on some file systems (btrfs, overlayfs);
 * so inode and path have to do where map_files cannot be used. */
static int checked(int fd, const struct machine_image *image)
{
    struct stat st;
    if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_ino != image->ino)) {
        close(fd);
        return -1;
    }
    return fd;
}

static int file_open(const struct machine_image *image, int32_t pid, const struct machine_map *map)
{
    char path[96];
    snprintf(path, sizeof path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, map->lo, map->hi);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        fd = checked(record_files_inside(pid, image->path, O_RDONLY | O_NONBLOCK), image);
    if (fd < 0)
        fd = checked(open(image->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), image);
    return fd;
}

static void build_id_read(Elf *elf, const GElf_Phdr *p, struct spool_image *to)
{
    Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)p->p_offset, p->p_filesz,
                                          p->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    GElf_Nhdr note;
    size_t name, description;
    for (size_t at = 0; data && (at = gelf_getnote(data, at, &note, &name, &description)) > 0;) {
        const uint8_t *bytes = data->d_buf;
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof "GNU" ||
            memcmp(bytes + name, "GNU", sizeof "GNU") != 0 || note.n_descsz > SPOOL_BUILD_ID_MAX)
            continue;
        to->build_id_size = note.n_descsz;
        memcpy(to->build_id, bytes + description, note.n_descsz);
        return;
    }
}

static void segment_add(struct machine_image *image, const GElf_Phdr *p, struct spool_image *to)
{
    if (!to->last_vaddr || p->p_vaddr < to->first_vaddr)
        to->first_vaddr = p->p_vaddr;
    if (p->p_vaddr + p->p_memsz > to->last_vaddr)
        to->last_vaddr = p->p_vaddr + p->p_memsz;
    if (!(p->p_flags & PF_X) || image->segments == MACHINE_IMAGE_SEGMENTS)
        return;
    unsigned i = image->segments++;
    image->segment[i].vaddr = p->p_vaddr;
    image->segment[i].offset = p->p_offset;
    image->segment[i].size = p->p_filesz;
}

/* Which of its segments holds what the header of frames is the index of. */
static void frames_find(struct machine_image *image, Elf *elf, size_t count)
{
    GElf_Phdr p;
    for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &p); i++) {
        if (p.p_type != PT_LOAD || image->frames.hdr < p.p_vaddr ||
            image->frames.hdr - p.p_vaddr >= p.p_filesz)
            continue;
        image->frames.vaddr = p.p_vaddr;
        image->frames.offset = p.p_offset;
        image->frames.size = p.p_filesz;
    }
}

/* What its program headers say. False: it is no ELF file with code. */
static bool headers_read(struct machine_image *image, Elf *elf, struct spool_image *to)
{
    size_t count;
    GElf_Ehdr head;
    GElf_Phdr p;
    if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &head) ||
        elf_getphdrnum(elf, &count))
        return false;
    image->wide = head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_machine == EM_X86_64;
    for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &p); i++) {
        if (p.p_type == PT_LOAD)
            segment_add(image, &p, to);
        if (p.p_type == PT_NOTE && !to->build_id_size)
            build_id_read(elf, &p, to);
        if (p.p_type == PT_GNU_EH_FRAME) {
            image->frames.hdr = p.p_vaddr;
            image->frames.hdr_size = p.p_memsz;
        }
    }
    frames_find(image, elf, count);
    return image->segments != 0;
}

/* Its record in the spool, complete. */
static bool publish(struct machine_images *all, struct machine_image *image,
                    const struct spool_image *like)
{
    struct spool_header *h = spool_header(all->spool);
    struct spool_image *record = spool_alloc_as(all->spool, sizeof *record);
    if (!record || h->image_count >= KEY_IMAGE_MAX || h->image_count != all->count ||
        !ARRAY_ROOM(all->by_number, all->count, all->capacity))
        return false;
    all->by_number[all->count++] = image;
    *record = *like;
    record->path = spool_string_as(all->spool, image->path, strlen(image->path));
    record->number = ++h->image_count;
    spool_push_as(all->spool, &h->images, record);
    image->number = record->number;
    return record->path != 0;
}

static bool file_find(struct machine_images *all, struct machine_image *image, int32_t pid,
                      const struct machine_map *map)
{
    struct stat st;
    struct spool_image like = {.dev = image->dev, .ino = image->ino};
    int fd = file_open(image, pid, map);
    if (fd < 0 || fstat(fd, &st)) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    like.file_size = (uint64_t)st.st_size;
    like.mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    bool ok = headers_read(image, elf, &like) && publish(all, image, &like);
    elf_end(elf);
    const struct held_image held = {.dev = image->dev, .ino = image->ino,
                                    .file_size = like.file_size, .mtime_ns = like.mtime_ns,
                                    .fd = fd};
    image->fd = ok && record_files_hold(all->files, &held, pid) ? fd : -1;
    if (image->fd < 0)
        close(fd);
    return ok;
}

/* Records of both spools have the same numbers, so that keys and tables of images stay good. */
bool machine_images_move(struct machine_images *all, const struct spool *to)
{
    const struct spool *from = all->spool;
    const struct spool_image **old = calloc((size_t)all->count + 1, sizeof *old), *record;
    spool_ref next = spool_header(from)->images;
    for (; old && (record = spool_at(from, next, sizeof *record)); next = record->next)
        if (record->number && record->number <= all->count)
            old[record->number - 1] = record;
    bool ok = old;
    uint32_t count = all->count;
    all->spool = to;
    all->count = 0;
    for (uint32_t i = 0; ok && i < count; i++)
        ok = old[i] && publish(all, all->by_number[i], old[i]);
    free(old);
    return ok;
}

/* ---- the vdso: the same in all 64-bit processes, ours included ---- */

static size_t vdso_size(void)
{
    size_t lo, hi, size = 0, at = (size_t)getauxval(AT_SYSINFO_EHDR);
    char line[512];
    FILE *f = fopen("/proc/self/maps", "re");
    while (f && at && !size && fgets(line, sizeof line, f))
        if (sscanf(line, "%zx-%zx", &lo, &hi) == 2 && lo == at)
            size = hi - lo;
    if (f)
        fclose(f);
    return size;
}

static void *vdso_copy(size_t *size)
{
    const void *at = (const void *)getauxval(AT_SYSINFO_EHDR); // NOLINT(performance-no-int-to-ptr)
    *size = vdso_size();
    void *copy = *size ? malloc(*size) : NULL;
    if (copy)
        memcpy(copy, at, *size);
    return copy;
}

static bool vdso_find(struct machine_images *all, struct machine_image *image)
{
    size_t size;
    struct spool_image like = {.flags = IMAGE_VDSO};
    char *copy = vdso_copy(&size);
    elf_version(EV_CURRENT);
    Elf *elf = copy ? elf_memory(copy, size) : NULL;
    bool ok = headers_read(image, elf, &like) && publish(all, image, &like);
    elf_end(elf);
    free(copy);
    return ok;
}

bool machine_image_find(struct machine_images *all, struct machine_image *image, int32_t pid,
                        const struct machine_map *map)
{
    if (!image->tried) {
        image->tried = true;
        bool is_vdso = !strcmp(image->path, VDSO);
        if (!(is_vdso ? vdso_find(all, image) : file_find(all, image, pid, map)))
            all->unknown++;
    }
    return image->number != 0;
}

bool machine_image_bias(const struct machine_image *image, const struct machine_map *map,
                        uint64_t *bias)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    for (unsigned i = 0; i < image->segments; i++) {
        uint64_t first = image->segment[i].offset & ~(page - 1);
        uint64_t end = image->segment[i].offset + image->segment[i].size;
        if (map->offset < first || map->offset >= end)
            continue;
        *bias = map->lo - (image->segment[i].vaddr + map->offset - image->segment[i].offset);
        return true;
    }
    return false;
}

/* ---- their frames and tables ---- */

/* Bytes of the file, or of the vdso. */
struct source {
    int fd;
    bool opened;
    uint8_t *vdso; /* NULL: it is a file */
    size_t vdso_size;
};

static bool source_open(struct source *s, const struct machine_image *image, int32_t pid,
                        const struct machine_map *map)
{
    *s = (struct source){.fd = image->fd};
    if (!image->ino)
        s->vdso = vdso_copy(&s->vdso_size);
    else if (s->fd < 0)
        s->opened = (s->fd = file_open(image, pid, map)) >= 0;
    return s->vdso || s->fd >= 0;
}

static void source_close(struct source *s)
{
    free(s->vdso);
    if (s->opened)
        close(s->fd);
}

static bool source_read(const struct source *s, uint64_t offset, void *to, uint64_t size)
{
    if (!s->vdso)
        return pread(s->fd, to, size, (off_t)offset) == (ssize_t)size;
    if (offset > s->vdso_size || size > s->vdso_size - offset)
        return false;
    memcpy(to, s->vdso + offset, size);
    return true;
}

/* Linkers put read-only data in front of both. .eh_frame_hdr begins with version 1, and the
 * encoding of the distance to .eh_frame, which follows after two more bytes. */
static void frames_narrow(struct machine_image *image, const struct source *s)
{
    enum { VERSION = 1, PCREL_SDATA4 = 0x1b };
    uint8_t head[4];
    int32_t distance;
    uint64_t hdr = image->frames.hdr, at = image->frames.offset + (hdr - image->frames.vaddr);
    if (!source_read(s, at, head, sizeof head) || head[0] != VERSION || head[1] != PCREL_SDATA4 ||
        !source_read(s, at + sizeof head, &distance, sizeof distance))
        return;
    uint64_t frames = hdr + sizeof head + (uint64_t)(int64_t)distance;
    uint64_t skip = (frames < hdr ? frames : hdr) - image->frames.vaddr;
    if (skip >= image->frames.size)
        return;
    image->frames.vaddr += skip;
    image->frames.offset += skip;
    image->frames.size -= skip;
}

static void frames_read(struct machine_images *all, struct machine_image *image,
                        const struct source *s)
{
    if (!image->frames.size)
        return;
    frames_narrow(image, s);
    uint64_t size = image->frames.size;
    uint8_t *copy = size <= MACHINE_FRAMES_MOST ? malloc(size) : NULL;
    if (!copy || !source_read(s, image->frames.offset, copy, size)) {
        free(copy);
        return;
    }
    image->frames.copy = copy;
    all->table_bytes += size;
    all->changes++;
}

/* False: its frames are crossed by what its code does. */
static bool compile(const struct source *s, void **table, size_t *size)
{
    struct err ignored = {0};
    char path[64];
    if (s->vdso)
        return unwind_compile_image(s->vdso, s->vdso_size, table, size, &ignored);
    snprintf(path, sizeof path, "/proc/self/fd/%d", s->fd);
    return unwind_compile_file(path, NULL, 0, table, size, &ignored);
}

static void table_make(struct machine_images *all, struct machine_image *image,
                       const struct source *s)
{
    void *table = NULL;
    size_t size = 0;
    image->table_tried = true;
    if (!compile(s, &table, &size))
        return;
    /* A reference of 0 means none: the table begins one unit further. */
    image->table_size = (size + MACHINE_TABLE_UNIT - 1) / MACHINE_TABLE_UNIT * MACHINE_TABLE_UNIT +
                        MACHINE_TABLE_UNIT;
    image->table = aligned_alloc(MACHINE_TABLE_UNIT, image->table_size);
    if (image->table) {
        memcpy(image->table + MACHINE_TABLE_UNIT, table, size);
        image->table_ref = 1;
        all->table_bytes += image->table_size;
        all->changes++;
    }
    free(table);
}

bool machine_image_walked(struct machine_image *image, bool unsure)
{
    if (!image->wide || image->table_tried)
        return false;
    image->interpreted++;
    return !image->frames.tried || (unsure && image->frames.size < MACHINE_SMALL_BYTES) ||
           image->interpreted > image->frames.size / MACHINE_FRAME_BYTES;
}

void machine_image_prepare(struct machine_images *all, struct machine_image *image, int32_t pid,
                           const struct machine_map *map)
{
    struct source s;
    bool has_room = all->table_bytes < all->tables_most;
    all->too_many += !has_room;
    if (!has_room || !source_open(&s, image, pid, map)) {
        image->frames.tried = image->table_tried = true;
        return;
    }
    if (!image->frames.tried)
        frames_read(all, image, &s);
    if (image->frames.tried || !image->frames.copy)
        table_make(all, image, &s);
    image->frames.tried = true;
    source_close(&s);
}
