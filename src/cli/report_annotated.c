#include "cli/report_annotated.h"

#include <stdlib.h>

enum { LINES_MOST = 5000, ONE_IN = 100 };

void annotated_make(struct annotated *a, const struct profile *p, const struct symbols *symbols,
                    const struct symbols_options *options, const char *metric)
{
    const struct view_options physical = {.metric = metric, .no_inline = true};
    struct err ignored = { 0 };
    uint32_t count = 0;
    *a = (struct annotated){ .count = 0 };
    struct view *v = view_build(p, symbols, &physical, &ignored);
    uint32_t *order = v ? view_order(v, &count, &ignored) : NULL;
    for (uint32_t i = 0; order && i < count && i < ANNOTATED_MOST; i++) {
        const struct view_function *f = &v->functions[order[i]];
        if (f->self < v->samples / ONE_IN || !f->self)
            break;
        ignored = (struct err){ 0 };
        struct annotation *one =
            f->image < p->image_count ? annotate_place(v, f->image, f->start, options, &ignored)
                                      : NULL;
        if (one && !one->cut && one->line_count <= LINES_MOST)
            a->list[a->count++] = one;
        else
            annotation_free(one);
    }
    free(order);
    a->view = v;
}

void annotated_free(struct annotated *a)
{
    for (uint32_t i = 0; i < a->count; i++)
        annotation_free(a->list[i]);
    view_free(a->view);
}
