/* The distinct frames of all trees. */
#include "profile/kind/kind.h"

/* Three columns, each in the frames' sorted order. */
static void put(struct buf *b, const struct encoder *x)
{
    const struct frames *f = &x->frames;
    uint32_t image = 0;
    uint64_t offset = 0;
    buf_put_uleb(b, f->count);
    for (uint32_t i = 0; i < f->count; i++) {
        buf_put_uleb(b, f->sorted[i].image - image);
        image = f->sorted[i].image;
    }
    for (uint32_t i = 0; i < f->count; i++) {
        bool same = i && f->sorted[i].image == f->sorted[i - 1].image;
        buf_put_uleb(b, f->sorted[i].offset - (same ? offset : 0));
        offset = f->sorted[i].offset;
    }
    for (uint32_t i = 0; i < f->count; i++)
        buf_put_u8(b, (uint8_t)f->sorted[i].guessed);
}

static void get(struct decoder *d, struct cursor *c)
{
    uint32_t count = cursor_count(c, 3, "a number of frames that fits the section");
    uint64_t image_max = (uint64_t)d->p->image_count + FRAME_IMAGE_FIRST - 1;
    struct frame *f = d->frames = read_array(c, count, sizeof *f);
    uint64_t image = 0, offset = 0;
    for (uint32_t i = 0; i < count && !c->failed; i++) {
        image += cursor_uleb(c, image_max - image, "the step to the image of a frame");
        f[i].image = (uint32_t)image;
    }
    for (uint32_t i = 0; i < count && !c->failed; i++) {
        if (i && f[i].image != f[i - 1].image)
            offset = 0;
        offset += cursor_uleb(c, UINT64_MAX - offset, "the step to the offset of a frame");
        f[i].offset = offset;
    }
    for (uint32_t i = 0; i < count && !c->failed; i++)
        f[i].guessed = (uint32_t)cursor_uleb(c, 1, "0 or 1: whether a frame was guessed");
    d->frame_count = count;
}

const struct section_kind kind_frames = {
    .type = {5, "frames", SECTION_REQUIRED},
    .about = "the distinct frames of all trees, sorted",
    .put = put,
    .get = get,
};
