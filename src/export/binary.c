#include "export/binary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/saturate.h"

static void add(uint64_t *sum, uint64_t count)
{
    *sum = add_saturated(*sum, count);
}

/* Weighted samples, executions of blocks and transfers that are known of each image. */
static uint64_t *count_images(const struct profile *p)
{
    uint64_t *counts = calloc((size_t)p->image_count + 1, sizeof *counts);
    const struct profile_counts *c = observed_code(p);
    for (uint32_t i = 0; counts && c && i < c->block_count; i++)
        if (c->blocks[i].image < p->image_count)
            add(&counts[c->blocks[i].image], c->blocks[i].count);
    for (uint32_t i = 0; counts && c && i < c->edge_count; i++)
        if (c->edges[i].to_image < p->image_count)
            add(&counts[c->edges[i].to_image], c->edges[i].count);
    for (uint32_t t = 0; counts && t < p->thread_count; t++)
        for (uint32_t i = 0; i < p->threads[t].node_count; i++) {
            const struct profile_node *node = &p->threads[t].nodes[i];
            if (node->image < p->image_count)
                add(&counts[node->image], node->self);
        }
    return counts;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool same_build(const struct profile_image *a, const struct profile_image *b)
{
    if (a->build_id_size || b->build_id_size)
        return a->build_id_size == b->build_id_size &&
               memcmp(a->build_id, b->build_id, a->build_id_size) == 0;
    return a->file_size == b->file_size && strcmp(a->path, b->path) == 0;
}

/* The code of `file` if it is of the image's build. */
static struct code *open_as(const struct profile_image *image, const char *file)
{
    struct err ignored = { 0 };
    const struct symbols_options options = { .detail = SYMBOLS_LINES };
    struct profile_image other = *image;
    other.path = (char *)file;
    return code_open(&other, &options, &ignored);
}

static bool is_comparable(const struct profile_image *image)
{
    return !(image->flags & (PROFILE_IMAGE_VDSO | PROFILE_IMAGE_RUNTIME)) &&
           (image->build_id_size || image->file_size);
}

static bool refuse(const struct profile *p, const char *file, struct err *e)
{
    struct buf text = { 0 };
    for (uint32_t i = 0; i < p->image_count; i++) {
        const struct profile_image *image = &p->images[i];
        if (strcmp(base_name(image->path), base_name(file)) != 0)
            continue;
        buf_printf(&text, "%s is another build of %s than the recorded one", file, image->path);
        if (image->build_id_size) {
            buf_puts(&text, ", whose build-id is ");
            profile_build_id_put(image, &text);
        }
        buf_puts(&text, ": record this build, or name a file of that one by --image");
        break;
    }
    if (!text.size) {
        buf_printf(&text, "%s is of no build in the profile, which has", file);
        for (uint32_t i = 0; i < p->image_count && text.size < 400; i++)
            if (is_comparable(&p->images[i]))
                buf_printf(&text, " %s", p->images[i].path);
    }
    buf_put_u8(&text, 0);
    err_set(e, ERR_USAGE, "%s", buf_ok(&text) ? (const char *)text.data : file);
    buf_free(&text);
    return false;
}

static bool refuse_file(const struct profile *p, const char *file, struct err *e)
{
    if (access(file, R_OK) != 0)
        return err_set_errno(e, ERR_NOT_FOUND, errno, "cannot read the program or library %s",
                             file);
    return refuse(p, file, e);
}

static bool open_file(struct binary *b, const char *file, struct err *e)
{
    const struct profile *p = b->profile;
    for (uint32_t i = 0; i < p->image_count && !b->code; i++) {
        b->code = is_comparable(&p->images[i]) ? open_as(&p->images[i], file) : NULL;
        b->image = i;
    }
    return b->code || refuse_file(p, file, e);
}

static bool open_main(struct binary *b, struct buf *remarks, struct err *e)
{
    const struct profile *p = b->profile;
    uint64_t *counts = count_images(p);
    uint32_t best = p->image_count;
    if (!counts)
        return err_set(e, ERR_INTERNAL, "cannot choose a program: out of memory");
    for (uint32_t i = 0; i < p->image_count; i++)
        if (p->images[i].flags & PROFILE_IMAGE_MAIN &&
            (best == p->image_count || counts[i] > counts[best]))
            best = i;
    for (uint32_t i = 0; i < p->image_count; i++)
        if (p->images[i].flags & PROFILE_IMAGE_MAIN && counts[i] &&
            !same_build(&p->images[i], &p->images[best]))
            buf_printf(remarks, "the profile is also of %s: --image chooses it\n",
                       p->images[i].path);
    free(counts);
    if (best == p->image_count)
        return err_set(e, ERR_USAGE, "the profile does not say which is the main program: "
                       "--image FILE chooses one");
    b->image = best;
    b->code = open_as(&p->images[best], p->images[best].path);
    return b->code || refuse_file(p, p->images[best].path, e);
}

bool binary_open(struct binary *b, const struct profile *p, const char *file, struct buf *remarks,
                 struct err *e)
{
    *b = (struct binary){ .profile = p };
    b->is = calloc((size_t)p->image_count + 1, sizeof *b->is);
    if (!b->is)
        return err_set(e, ERR_INTERNAL, "cannot choose a program: out of memory");
    if (!(file ? open_file(b, file, e) : open_main(b, remarks, e))) {
        binary_close(b);
        return false;
    }
    for (uint32_t i = 0; i < p->image_count; i++)
        b->is[i] = same_build(&p->images[i], &p->images[b->image]);
    if (!p->images[b->image].build_id_size)
        buf_printf(remarks, "%s has no build-id (link it with --build-id): only its size tells "
                   "that it is the recorded one\n", file ? file : p->images[b->image].path);
    return true;
}

void binary_close(struct binary *b)
{
    code_close(b->code);
    free(b->is);
    *b = (struct binary){ 0 };
}
