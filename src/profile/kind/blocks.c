/* Executions of basic blocks. */
#include "profile/kind/kind.h"

PROFILE_PLACE_FIRST(struct profile_block);

static bool needed(const struct profile *p)
{
    return observed_code(p) != NULL;
}

/* Order is checked as far as differences would be negative. */
static bool check(const struct profile *p, struct err *e)
{
    const struct profile_counts *k = observed_code(p);
    for (uint32_t i = 0; i < k->block_count; i++)
        if (!places_good(p, &k->blocks[i], i ? &k->blocks[i - 1] : NULL))
            return err_set(e, ERR_INTERNAL,
                           "the profile cannot be written: a block is of no image or "
                           "process, or out of order");
    return true;
}

/* Columns, as in section frames: equal neighbours make equal bytes. */
static void put(struct buf *b, const struct encoder *x)
{
    const struct profile_block *at = observed_code(x->p)->blocks;
    uint32_t n = observed_code(x->p)->block_count;
    buf_put_uleb(b, n);
    write_places(b, at, n, sizeof *at);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].bytes);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].instructions);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].count);
}

static void get(struct decoder *d, struct cursor *c)
{
    struct profile_counts *k = observed_code(d->p);
    uint32_t n = cursor_count(c, 6, "a number of blocks that fits the section");
    struct profile_block *at = k->blocks = read_array(c, n, sizeof *at);
    if (!at)
        return;
    read_places(d, c, at, n, sizeof *at);
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].bytes = read_u32(c, "the size of a block");
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].instructions = read_u32(c, "the instructions of a block");
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].count = read_u64(c, "the executions of a block");
    k->block_count = c->failed ? 0 : n;
}

const struct section_kind kind_blocks = {
    .type = {25, "blocks", 0},
    .within = 24,
    .inseparable = true,
    .about = "with 24: executions of basic blocks",
    .needed = needed,
    .check = check,
    .put = put,
    .get = get,
};
