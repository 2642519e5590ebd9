#include "modules/simulate_functions.h"

#include <fcntl.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sigsafe/key.h"
#include "symbols/fde_start.h"

enum { IMAGES_MOST = 1 << 16, PATH_MOST = 4096 };

struct file {
    uint32_t image;
    struct fde_starts starts; /* empty: nothing is known */
    struct file *next;
};

static struct file *all;

static const struct spool_image *image_of(struct penumbra_host *host, uint32_t number)
{
    spool_ref ref = __atomic_load_n(&spool_header(host->spool)->images, __ATOMIC_ACQUIRE);
    for (uint32_t n = 0; ref && n < IMAGES_MOST; n++) {
        const struct spool_image *image = spool_at(host->spool, ref, sizeof *image);
        if (!image || image->number == number)
            return image;
        ref = image->next;
    }
    return NULL;
}

/* The file stays open: the table is a part of it. */
static void open_file(struct penumbra_host *host, struct file *f)
{
    const struct spool_image *image = image_of(host, f->image);
    const struct spool_string *path =
        image ? spool_at(host->spool, image->path, sizeof *path) : NULL;
    char name[PATH_MOST];
    if (!path || path->length >= sizeof name ||
        !spool_at(host->spool, image->path, sizeof *path + path->length))
        return;
    snprintf(name, sizeof name, "%.*s", (int)path->length, path->bytes);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (elf)
        fde_starts_open(&f->starts, elf);
    close(fd);
}

static const struct file *file_of(struct penumbra_host *host, uint32_t image)
{
    for (struct file *f = all; f; f = f->next)
        if (f->image == image)
            return f;
    struct file *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    *f = (struct file){.image = image, .next = all};
    open_file(host, f);
    return all = f;
}

uint64_t simulate_function(struct penumbra_host *host, uint64_t key)
{
    uint32_t image = key_image(key);
    const struct file *f = image && image != KEY_IMAGE_PSEUDO ? file_of(host, image) : NULL;
    uint64_t start = f ? fde_starts_find(&f->starts, key_offset(key)) : 0;
    return start ? key_make(image, start) : 0;
}
