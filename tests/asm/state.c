#include "piece.h"

#include <string.h>

uint64_t roll(struct dice *d)
{
    uint64_t z = d->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Addresses in and around the arena and the slot, and numbers at which something happens. */
static uint64_t value(struct dice *d, uint64_t code)
{
    uint64_t r = roll(d), data = machine_data(code);
    switch (r >> 32 & 31) {
    case 0: case 1: case 2: case 3: case 4: case 5: case 6: case 7:
        return data + 1024 + (r & 0xfff & ~63u);
    case 8: case 9: case 10: case 11:
        return data + 1024 + (r & 0xfff);
    case 12: case 13:
        return data + DATA - (r & 63); /* across the guard */
    case 14:
        return data + (r & 63) - 32;
    case 15: case 16:
        return code + 44 + (r & 14); /* ud2 */
    case 17:
        return machine_stack(code) + (r & 0xff8);
    case 18: case 19: case 20:
        return r & 63;
    case 21:
        return 0;
    case 22:
        return ~(r & 63);
    case 23:
        return UINT64_C(1) << (r & 63);
    case 24:
        return r & 0xffffffff;
    case 25:
        return r | UINT64_C(1) << 63;
    case 26:
        return (uint64_t)(int64_t)(int32_t)r;
    case 27:
        return UINT64_C(0x3ff0000000000000) | r << 40; /* near 1.0 */
    case 28:
        return UINT64_C(0x3f800000bf800000) ^ (r & 0x1ff);
    default:
        return roll(d);
    }
}

static void words_fill(struct dice *d, uint64_t code, void *at, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i += 8) {
        uint64_t v = value(d, code);
        memcpy((uint8_t *)at + i, &v, bytes - i < 8 ? bytes - i : 8);
    }
}

static void vectors_make(struct dice *d, uint64_t code, struct vectors *v)
{
    memset(v, 0, sizeof *v);
    words_fill(d, code, v->bytes + 160, 256);
    for (unsigned i = 0; i < 8; i++)
        words_fill(d, code, v->bytes + 32 + 16 * i, 10);
    for (unsigned i = 2; i < 8; i++)
        if (xsave_layout.size[i])
            words_fill(d, code, v->bytes + xsave_layout.at[i], xsave_layout.size[i]);
    uint64_t r = roll(d);
    uint16_t fcw = (uint16_t)(0x40 | (r & 0xf00) | (r & 0x70000 ? 0x3f : r >> 20 & 0x3f));
    uint16_t fsw = (uint16_t)(r >> 32 & 0x7f7f);
    uint32_t mxcsr = (uint32_t)((r >> 48 & 0xe07f) | (r & 0x7000000 ? 0x1f80 : r >> 8 & 0x1f80));
    memcpy(v->bytes, &fcw, 2);
    memcpy(v->bytes + 2, &fsw, 2);
    r = roll(d);
    v->bytes[4] = (uint8_t)r;
    v->bytes[6] = (uint8_t)(r >> 8);
    v->bytes[7] = (uint8_t)(r >> 16 & 7);
    memcpy(v->bytes + 24, &mxcsr, 4);
    uint64_t present = xsave_layout.features;
    if (chance(d, 8))
        present &= roll(d);
    memcpy(v->bytes + 512, &present, 8);
}

void state_make(const struct piece *piece, uint64_t code, struct state *s, uint8_t *data,
                uint8_t *stack)
{
    struct dice d = { piece->seed };
    vectors_make(&d, code, &s->vectors);
    for (unsigned i = 0; i < 16; i++)
        s->gpr[i] = value(&d, code);
    uint64_t r = roll(&d);
    if (r % 32) {
        s->gpr[4] = machine_stack(code) + STACK / 2 + (r >> 8 & 0xff0);
        if (r >> 32 & 1)
            s->gpr[4] += r >> 40 & 8;
        if (!(r >> 33 & 15))
            s->gpr[4] += r >> 40 & 7;
    }
    s->rip = code;
    s->rflags = 0x202 | (r >> 16 & 0xcd5); /* status flags and DF */
    if (!(r >> 50 & 15))
        s->rflags |= r >> 20 & 0x244000; /* NT, AC, ID */
    words_fill(&d, code, data, DATA);
    words_fill(&d, code, stack, STACK);
}
