#include "report/diff.h"

#include <stdlib.h>

/* A frame's name where ';' separates frames and a line is one stack. */
static void put_name(struct buf *line, const char *name)
{
    for (; *name; name++) {
        unsigned char c = (unsigned char)*name;
        buf_put_u8(line, c == ';' ? ':' : c < 0x20 || c == 0x7f ? ' ' : c);
    }
}

/* frames: room for as many as there are rows. The root is in no stack. */
static void put_stack(struct buf *out, const struct diff *d, uint32_t row, uint32_t *frames)
{
    const struct diff_row *rows = d->contexts.list;
    const double *samples = rows[row].change[DIFF_SELF].samples;
    uint32_t count = 0;
    for (uint32_t at = row; at && at != VIEW_NONE; at = rows[at].parent)
        frames[count++] = at;
    if (!count)
        buf_puts(out, "[unknown]");
    while (count--) {
        put_name(out, d->names.functions[rows[frames[count]].function].name);
        buf_puts(out, count ? ";" : "");
    }
    buf_printf(out, " %.0f %.0f\n", samples[DIFF_BEFORE], samples[DIFF_AFTER]);
}

bool diff_folded(struct buf *out, const struct diff *d, struct err *e)
{
    uint32_t *frames = calloc((size_t)d->contexts.count + 1, sizeof *frames);
    for (uint32_t i = 0; frames && i < d->contexts.count; i++) {
        const double *samples = d->contexts.list[i].change[DIFF_SELF].samples;
        if (samples[DIFF_BEFORE] > 0 || samples[DIFF_AFTER] > 0)
            put_stack(out, d, i, frames);
    }
    bool ok = frames && buf_ok(out);
    free(frames);
    return ok || err_set(e, ERR_INTERNAL, "cannot fold the stacks: out of memory");
}
