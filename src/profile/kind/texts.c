/* How a module writes values. */
#include <stdlib.h>

#include "profile/kind/kind.h"

static bool needed(const struct profile *p)
{
    return observed_values(p) != NULL;
}

static bool check(const struct profile *p, struct err *e)
{
    const struct profile_values *v = observed_values(p);
    for (uint32_t i = 0; i < v->text_count; i++)
        if (v->texts[i].kind >= v->kind_count ||
            !hotlist_space_good(v->texts[i].value.space, p->image_count))
            return err_set(e, ERR_INTERNAL,
                           "the profile cannot be written: a text is of no kind or image");
    return true;
}

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile_values *v = observed_values(x->p);
    buf_put_uleb(b, v->text_count);
    for (uint32_t i = 0; i < v->text_count; i++) {
        buf_put_uleb(b, v->texts[i].kind);
        buf_put_uleb(b, v->texts[i].value.space);
        buf_put_uleb(b, v->texts[i].value.bits);
        buf_put_string(b, v->texts[i].text);
    }
}

static void get(struct decoder *d, struct cursor *c)
{
    struct profile_values *v = observed_values(d->p);
    uint32_t n = cursor_count(c, 4, "a number of texts that fits the section");
    if (n && !v->kind_count)
        cursor_fail(c, "no text, as there is no kind of value");
    for (uint32_t i = 0; i < n && !c->failed; i++) {
        uint32_t kind = (uint32_t)cursor_uleb(c, v->kind_count - 1, "the index of a kind of value");
        uint32_t space =
            (uint32_t)cursor_uleb(c, HOTLIST_IMAGE + d->p->image_count - 1, "the space of a value");
        uint64_t bits = read_u64(c, "a value");
        char *text = cursor_string(c, "how a value is written");
        struct profile_text *at = text ? profile_values_add_text(v, text) : NULL;
        free(text);
        if (at) {
            at->kind = kind;
            at->value = (struct hotlist_value){.bits = bits, .space = space};
        } else {
            read_no_memory(c);
        }
    }
}

const struct section_kind kind_texts = {
    .type = {34, "texts", 0},
    .within = 32,
    .inseparable = true,
    .about = "with 32: how a module writes values",
    .needed = needed,
    .check = check,
    .put = put,
    .get = get,
};
