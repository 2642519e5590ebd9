#include "synthetic.h"

#include <string.h>

static void put(struct synthetic *s, const void *bytes, size_t size)
{
    memcpy(s->bytes + s->size, bytes, size);
    s->size += (uint32_t)size;
}

static void put_u8(struct synthetic *s, uint8_t value)
{
    put(s, &value, 1);
}

static void put_u32(struct synthetic *s, uint32_t value)
{
    put(s, &value, 4);
}

static void finish_record(struct synthetic *s, uint32_t begin)
{
    while (s->size % 8 != 0)
        put_u8(s, 0); /* DW_CFA_nop */
    uint32_t length = s->size - begin - 4;
    memcpy(s->bytes + begin, &length, 4);
    memset(s->bytes + s->size, 0, 4); /* the terminator, until something follows */
}

void synthetic_start(struct synthetic *s, const char *augmentation, const uint8_t *program,
                     size_t size)
{
    memset(s, 0, sizeof *s);
    /* version 1; .eh_frame pcrel sdata4; count udata4; table absptr (8 bytes each) */
    memcpy(s->bytes, "\x01\x1b\x03\x00", 4);
    int32_t distance = SYNTHETIC_FRAMES - 4;
    memcpy(s->bytes + 4, &distance, 4);
    s->size = SYNTHETIC_FRAMES;
    put_u32(s, 0);
    put_u32(s, 0); /* CIE */
    put_u8(s, 1);
    put(s, augmentation, strlen(augmentation) + 1);
    put_u8(s, 1);    /* code alignment */
    put_u8(s, 0x78); /* data alignment -8 */
    put_u8(s, UNWIND_RIP);
    if (augmentation[0] == 'z') {
        put_u8(s, strchr(augmentation, 'R') ? 1 : 0);
        if (strchr(augmentation, 'R'))
            put_u8(s, 0); /* DW_EH_PE_absptr */
    }
    put(s, program, size);
    finish_record(s, SYNTHETIC_FRAMES);
}

void synthetic_fde(struct synthetic *s, uint64_t lo, uint64_t size, const uint8_t *program,
                   size_t program_size)
{
    uint32_t begin = s->size;
    uint64_t entry[2] = {lo, (uint64_t)(s->bytes + begin)};
    put_u32(s, 0);
    put_u32(s, begin + 4 - SYNTHETIC_FRAMES);
    put(s, &lo, 8);
    put(s, &size, 8);
    if (s->bytes[SYNTHETIC_FRAMES + 9] == 'z')
        put_u8(s, 0);
    put(s, program, program_size);
    finish_record(s, begin);
    memcpy(s->bytes + 12 + 16 * s->fdes, entry, 16);
    s->fdes++;
    memcpy(s->bytes + 8, &s->fdes, 4);
}

struct cfi_space synthetic_space(const struct synthetic *s)
{
    return (struct cfi_space){s->bytes, sizeof s->bytes, (uint64_t)s->bytes};
}

struct unwind_image synthetic_image(const struct synthetic *s, uint64_t lo, uint64_t hi)
{
    return (struct unwind_image){.lo = lo,
                                 .hi = hi,
                                 .bias = lo,
                                 .eh_frame_hdr = s->bytes,
                                 .eh_frame_hdr_size = SYNTHETIC_FRAMES,
                                 .readable_lo = (uint64_t)s->bytes,
                                 .readable_hi = (uint64_t)s->bytes + sizeof s->bytes};
}
