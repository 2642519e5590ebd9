#include "guest/image.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>

#include "sigsafe/sys.h"

enum { PATH_BYTES = 1024 };

struct file_identity {
    uint64_t dev, ino, size;
    int64_t mtime_ns;
};

static uint64_t string_length(const char *s)
{
    uint64_t n = 0;
    while (s[n] && n < PATH_BYTES)
        n++;
    return n;
}

static bool starts_with(const char *s, const char *prefix)
{
    while (*prefix)
        if (*s++ != *prefix++)
            return false;
    return true;
}

/* The vdso has no file; anything else the kernel can name has. */
static void file_look(const char *path, struct file_identity *id)
{
    struct stat st;
    *id = (struct file_identity){0, 0, 0, 0};
    if (!*path || sys_call6_as(SYS_newfstatat, AT_FDCWD, (long)path, (long)&st, 0, 0, 0) < 0)
        return;
    id->dev = st.st_dev;
    id->ino = st.st_ino;
    id->size = (uint64_t)st.st_size;
    id->mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

/* GNU build-id note (type 3, name "GNU") among the notes of one PT_NOTE segment. */
static void build_id_read(const uint8_t *notes, uint64_t size, struct spool_image *out)
{
    uint64_t at = 0;
    while (size - at >= sizeof(Elf64_Nhdr)) {
        const Elf64_Nhdr *note = (const Elf64_Nhdr *)(const void *)(notes + at);
        uint64_t name = at + sizeof *note;
        uint64_t descriptor = name + ((uint64_t)note->n_namesz + 3) / 4 * 4;
        uint64_t end = descriptor + ((uint64_t)note->n_descsz + 3) / 4 * 4;
        if (end > size)
            return;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && notes[name] == 'G' &&
            note->n_descsz <= SPOOL_BUILD_ID_MAX) {
            out->build_id_size = note->n_descsz;
            for (uint32_t i = 0; i < note->n_descsz; i++)
                out->build_id[i] = notes[descriptor + i];
            return;
        }
        at = end;
    }
}

static bool same_build(const struct spool_image *a, const struct spool_image *b)
{
    if (a->build_id_size != b->build_id_size || a->first_vaddr != b->first_vaddr ||
        a->last_vaddr != b->last_vaddr)
        return false;
    for (uint32_t i = 0; i < a->build_id_size; i++)
        if (a->build_id[i] != b->build_id[i])
            return false;
    return true;
}

static bool same_image(const struct spool_image *a, const struct spool_image *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->file_size == b->file_size &&
           a->mtime_ns == b->mtime_ns && same_build(a, b);
}

/* The session's record of this image: images are shared by all processes, so look for it first. Of
 * a new one the collector is told: it makes its tables, and holds its file. Two processes may both
 * add one at the same time: readers merge equal images. */
static struct spool_image *record_find_or_add(const struct spool_image *wanted, const char *path)
{
    struct spool_header *h = spool_header(&guest.spool);
    spool_ref ref = __atomic_load_n(&h->images, __ATOMIC_ACQUIRE);
    struct spool_image *record;
    for (uint32_t n = 0; n <= KEY_IMAGE_MAX; n++) {
        record = spool_at(&guest.spool, ref, sizeof *record);
        if (!record)
            break;
        if (same_image(record, wanted))
            return record;
        ref = record->next;
    }
    if (__atomic_load_n(&h->image_count, __ATOMIC_RELAXED) >= KEY_IMAGE_MAX)
        return NULL;
    record = spool_alloc_as(&guest.spool, sizeof *record);
    if (!record)
        return NULL;
    *record = *wanted;
    record->path = spool_string_as(&guest.spool, path, string_length(path));
    record->number = __atomic_add_fetch(&h->image_count, 1, __ATOMIC_RELAXED);
    spool_push_as(&guest.spool, &h->images, record);
    spool_ring_as(&guest.spool);
    return record;
}

/* Addresses, unwind information and build-id from the program headers. */
static bool segments_read(const struct image_source *source, struct unwind_image *image,
                          struct spool_image *record)
{
    uint64_t first = UINT64_MAX, last = 0, hdr = 0;
    bool code = false;
    for (uint32_t i = 0; i < source->phdr_count; i++) {
        const Elf64_Phdr *p = &source->phdr[i];
        if (p->p_type == PT_LOAD) {
            first = p->p_vaddr < first ? p->p_vaddr : first;
            last = p->p_vaddr + p->p_memsz > last ? p->p_vaddr + p->p_memsz : last;
            code |= (p->p_flags & PF_X) != 0;
        } else if (p->p_type == PT_GNU_EH_FRAME) {
            hdr = p->p_vaddr;
            image->eh_frame_hdr = (const uint8_t *)(source->bias + hdr);
            image->eh_frame_hdr_size = p->p_memsz;
        } else if (p->p_type == PT_NOTE && !record->build_id_size) {
            build_id_read((const uint8_t *)(source->bias + p->p_vaddr), p->p_memsz, record);
        }
    }
    image->bias = source->bias;
    image->lo = source->bias + first;
    image->hi = source->bias + last;
    record->first_vaddr = first;
    record->last_vaddr = last;
    for (uint32_t i = 0; i < source->phdr_count; i++) {
        const Elf64_Phdr *p = &source->phdr[i];
        if (p->p_type == PT_LOAD && (p->p_flags & PF_R) && hdr >= p->p_vaddr &&
            hdr < p->p_vaddr + p->p_filesz) {
            image->readable_lo = source->bias + p->p_vaddr;
            image->readable_hi = source->bias + p->p_vaddr + p->p_filesz;
        }
    }
    return code && first < last;
}

static bool contains(const struct unwind_image *image, const void *address)
{
    return (uint64_t)address >= image->lo && (uint64_t)address < image->hi;
}

bool image_known(const struct image_source *source, const struct unwind_index *index,
                 struct unwind_image *image)
{
    struct spool_image record = {0};
    *image = (struct unwind_image){0};
    if (!index || !segments_read(source, image, &record))
        return false;
    const struct unwind_image *known = unwind_index_find_as(index, image->lo);
    if (!known || known->lo != image->lo || !same_build(image_record(known), &record))
        return false;
    *image = *known;
    return true;
}

static bool same_string(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* What is executed is the program, but for `ld.so PROGRAM`. */
static void main_path_as(uint64_t lo, char path[PATH_BYTES])
{
    char executed[PATH_BYTES];
    long n =
        sys_call3_as(SYS_readlink, (long)"/proc/thread-self/exe", (long)executed, PATH_BYTES - 1);
    executed[n > 0 ? n : 0] = 0;
    image_path_undelete_as(executed);
    if (!guest.executed && image_path_as(lo, path, PATH_BYTES) && !same_string(path, executed)) {
        guest_process_rename_as(executed, path);
        return;
    }
    for (long i = 0; i <= (n > 0 ? n : 0); i++)
        path[i] = executed[i];
}

bool image_describe_as(const struct image_source *source, struct unwind_image *image)
{
    struct spool_image record = {0};
    struct file_identity id;
    char self[PATH_BYTES];
    const char *path = source->path;
    *image = (struct unwind_image){0};
    if (!segments_read(source, image, &record))
        return false;
    if (!*path) {
        main_path_as(image->lo, self);
        path = self;
        record.flags |= IMAGE_MAIN;
    } else if (starts_with(path, "linux-vdso")) {
        path = "[vdso]";
        record.flags |= IMAGE_VDSO;
    }
    /* Relative to a folder that may not be the current one any more. */
    if (*path != '/' && *path != '[' && image_path_as(image->lo, self, sizeof self))
        path = self;
    /* A guest that is linked into the program is a part of it. */
    image->hidden =
        !(record.flags & IMAGE_MAIN) && contains(image, (const void *)image_describe_as);
    if (image->hidden)
        record.flags |= IMAGE_RUNTIME;
    file_look(record.flags & IMAGE_VDSO ? "" : path, &id);
    record.dev = id.dev;
    record.ino = id.ino;
    record.file_size = id.size;
    record.mtime_ns = id.mtime_ns;
    struct spool_image *shared = record_find_or_add(&record, path);
    if (!shared)
        return false;
    image->number = shared->number;
    image->table_ref = &shared->table;
    image->table_base = guest.spool.base;
    image->table_limit = guest.spool.mapped;
    return true;
}
