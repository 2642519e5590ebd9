#include "interpret/internal.h"

static bool is_constant(struct interpret_origin a)
{
    return a.known && a.base == INTERPRET_NOWHERE && a.index == INTERPRET_NOWHERE;
}

/* A sum wraps around as the processor's does. */
static int64_t sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

struct interpret_origin origin_plus(struct interpret_origin a, int64_t plus)
{
    a.plus = sum(a.plus, plus);
    return a.known ? a : interpret_no_origin;
}

struct interpret_origin origin_add(struct interpret_origin a, struct interpret_origin b)
{
    if (!a.known || !b.known)
        return interpret_no_origin;
    if (is_constant(a))
        return origin_plus(b, a.plus);
    if (is_constant(b))
        return origin_plus(a, b.plus);
    if (a.index == INTERPRET_NOWHERE && b.index == INTERPRET_NOWHERE)
        return (struct interpret_origin){a.base, b.base, 1, true, sum(a.plus, b.plus)};
    if (a.index == INTERPRET_NOWHERE && b.base == INTERPRET_NOWHERE)
        return (struct interpret_origin){a.base, b.index, b.scale, true, sum(a.plus, b.plus)};
    if (b.index == INTERPRET_NOWHERE && a.base == INTERPRET_NOWHERE)
        return (struct interpret_origin){b.base, a.index, a.scale, true, sum(a.plus, b.plus)};
    return interpret_no_origin;
}

struct interpret_origin origin_scale(struct interpret_origin a, unsigned scale)
{
    bool fits = a.known && (a.base == INTERPRET_NOWHERE || a.index == INTERPRET_NOWHERE) &&
                (a.index == INTERPRET_NOWHERE || a.scale * scale <= 8) && scale <= 8;
    if (!fits)
        return interpret_no_origin;
    if (scale == 1)
        return a;
    a.plus = (int64_t)((uint64_t)a.plus * scale);
    if (a.index == INTERPRET_NOWHERE) {
        a.index = a.base;
        a.base = INTERPRET_NOWHERE;
        a.scale = (uint8_t)scale;
    } else {
        a.scale = (uint8_t)(a.scale * scale);
    }
    return a;
}

static bool same(const struct interpret_origin *a, const struct interpret_origin *b)
{
    return a->base == b->base && a->index == b->index && a->scale == b->scale && a->plus == b->plus;
}

struct interpret_origin origin_of_word(struct interpret_state *s, struct interpret_origin at,
                                       unsigned bytes, bool extend_sign)
{
    unsigned i = 0;
    if (!at.known || bytes > 8 || bytes & (bytes - 1))
        return interpret_no_origin;
    while (i < s->wants && !(same(&s->want[i].at, &at) && s->want[i].bytes == bytes &&
                             s->want[i].extend_sign == extend_sign))
        i++;
    if (i == INTERPRET_WANTS)
        return interpret_no_origin;
    if (i == s->wants)
        s->want[s->wants++] = (struct interpret_want){at, (uint8_t)bytes, extend_sign};
    return (struct interpret_origin){(uint8_t)(INTERPRET_WORD + i), INTERPRET_NOWHERE, 1, true, 0};
}

/* The word that it is, and nothing else; NULL. */
static const struct interpret_want *word_of(const struct interpret_state *s,
                                            const struct interpret_origin *of)
{
    bool is = of->known && of->base >= INTERPRET_WORD && of->base != INTERPRET_NOWHERE &&
              of->index == INTERPRET_NOWHERE && !of->plus;
    return is ? &s->want[of->base - INTERPRET_WORD] : NULL;
}

struct interpret_origin origin_signed(struct interpret_state *s, struct interpret_origin of,
                                      unsigned bytes)
{
    const struct interpret_want *w = word_of(s, &of);
    if (!w || w->bytes != bytes)
        return interpret_no_origin;
    return origin_of_word(s, w->at, bytes, true);
}

struct interpret_origin origin_cut(const struct interpret_state *s, struct interpret_origin of,
                                   unsigned bytes)
{
    const struct interpret_want *w = word_of(s, &of);
    if (bytes == 8)
        return of;
    return w && !w->extend_sign && w->bytes <= bytes ? of : interpret_no_origin;
}
