/* Executables and libraries. */
#include <string.h>

#include "profile/kind/kind.h"

static void put(struct buf *b, const struct encoder *x)
{
    buf_put_uleb(b, x->p->image_count);
    for (uint32_t i = 0; i < x->p->image_count; i++) {
        const struct profile_image *m = &x->p->images[i];
        buf_put_string(b, m->path);
        buf_put_uleb(b, m->build_id_size);
        buf_put(b, m->build_id, m->build_id_size);
        buf_put_uleb(b, m->flags);
        buf_put_uleb(b, m->file_size);
        buf_put_sleb(b, m->mtime_ns);
        buf_put_uleb(b, m->first_vaddr);
        buf_put_uleb(b, m->last_vaddr);
    }
}

static bool check(const struct profile *p, struct err *e)
{
    for (uint32_t i = 0; i < p->image_count; i++)
        if (p->images[i].build_id_size > PROFILE_BUILD_ID_MAX)
            return err_set(e, ERR_INTERNAL,
                           "the profile cannot be written: the build-id of image %u "
                           "is too long",
                           i);
    return true;
}

static void get(struct decoder *d, struct cursor *c)
{
    struct profile *p = d->p;
    uint32_t count = cursor_count(c, 7, "a number of images that fits the section");
    p->images = read_array(c, count, sizeof *p->images);
    for (uint32_t i = 0; i < count && !c->failed; i++) {
        struct profile_image *m = &p->images[p->image_count++];
        m->path = cursor_string(c, "the path of an image");
        m->build_id_size =
            (uint32_t)cursor_uleb(c, PROFILE_BUILD_ID_MAX, "the size of a build-id, up to 32");
        const uint8_t *id = cursor_bytes(c, m->build_id_size, "a build-id");
        if (id)
            memcpy(m->build_id, id, m->build_id_size);
        m->flags = read_u32(c, "an image's flags");
        m->file_size = read_u64(c, "a file size");
        m->mtime_ns = cursor_sleb(c, "a file's time");
        m->first_vaddr = read_u64(c, "an image's first address");
        m->last_vaddr = read_u64(c, "an image's last address");
    }
}

static bool same(const struct profile_image *a, const struct profile_image *b)
{
    if (a->build_id_size || b->build_id_size)
        return a->build_id_size == b->build_id_size &&
               memcmp(a->build_id, b->build_id, a->build_id_size) == 0;
    return a->file_size == b->file_size && a->mtime_ns == b->mtime_ns &&
           strcmp(a->path, b->path) == 0;
}

static bool merge(struct merger *m)
{
    struct profile *into = m->into;
    const struct profile *from = m->from;
    uint32_t old = into->image_count;
    struct profile_image *images =
        extend_array(into->images, old, from->image_count, sizeof *images);
    if (!images)
        return false;
    into->images = images;
    for (uint32_t i = 0; i < from->image_count; i++) {
        uint32_t k = 0;
        while (k < old && !same(&images[k], &from->images[i]))
            k++;
        m->image_of[i] = k < old ? k : into->image_count;
        if (k < old)
            continue;
        struct profile_image *image = &images[into->image_count];
        *image = from->images[i];
        image->path = strdup(from->images[i].path);
        if (!image->path)
            return false;
        into->image_count++;
    }
    return true;
}

const struct section_kind kind_images = {
    .type = {3, "images", SECTION_REQUIRED},
    .about = "executables and libraries",
    .check = check,
    .put = put,
    .get = get,
    .merge = merge,
};
