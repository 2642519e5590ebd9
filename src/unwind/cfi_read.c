/* CIEs, FDEs and the search table: the containers. cfi_run.c has the programs in them. */
#include "unwind/cfi.h"

/* DW_EH_PE_*: LSB 5.0 core, 10.5.1. */
enum {
    PE_ABSPTR = 0x00, PE_ULEB = 0x01, PE_UDATA2 = 0x02, PE_UDATA4 = 0x03, PE_UDATA8 = 0x04,
    PE_SLEB = 0x09, PE_SDATA2 = 0x0a, PE_SDATA4 = 0x0b, PE_SDATA8 = 0x0c, PE_FORMAT = 0x0f,
    PE_PCREL = 0x10, PE_DATAREL = 0x30, PE_BASE = 0x70, PE_INDIRECT = 0x80, PE_OMIT = 0xff,
};

enum {
    LINEAR_SEARCH_MAX = 16384, /* records looked at where there is no search table */
    CIE_MAX = 4096, /* bytes; real ones have 20 to 40. Each of its FDEs reads it, so it is
                       bounded */
};

static struct cursor cursor_at(const struct cfi_space *space, uint64_t offset, uint64_t end)
{
    struct cursor c = {space->data, space->data, true};
    if (offset <= end && end <= space->size) {
        c.at = space->data + offset;
        c.end = space->data + end;
        c.bad = false;
    }
    return c;
}

static uint64_t cursor_address(const struct cfi_space *space, const struct cursor *c)
{
    return space->address + (uint64_t)(c->at - space->data);
}

uint64_t cfi_pointer_as(const struct cfi_space *space, struct cursor *c, uint8_t encoding,
                        uint64_t data_base)
{
    uint64_t base = 0, value;
    switch (encoding & PE_BASE) {
    case 0: break;
    case PE_PCREL: base = cursor_address(space, c); break;
    case PE_DATAREL:
        base = data_base;
        if (base != 0)
            break;
        /* fall through */
    default: c->bad = true; return 0;
    }
    switch (encoding & PE_FORMAT) {
    case PE_ABSPTR:
    case PE_UDATA8:
    case PE_SDATA8: value = cursor_fixed(c, 8); break;
    case PE_ULEB: value = cursor_uleb(c); break;
    case PE_SLEB: value = (uint64_t)cursor_sleb(c); break;
    case PE_UDATA2: value = cursor_fixed(c, 2); break;
    case PE_SDATA2: value = (uint64_t)(int16_t)cursor_fixed(c, 2); break;
    case PE_UDATA4: value = cursor_fixed(c, 4); break;
    case PE_SDATA4: value = (uint64_t)(int32_t)cursor_fixed(c, 4); break;
    default: c->bad = true; return 0;
    }
    return base + value;
}

enum cfi_record cfi_record_as(const struct cfi_space *space, uint64_t offset, uint64_t *next)
{
    *next = 0;
    struct cursor c = cursor_at(space, offset, space->size);
    if (!c.bad && c.at == c.end)
        return RECORD_END;
    uint64_t length = cursor_fixed(&c, 4);
    bool extended = length == 0xffffffff;
    if (extended)
        length = cursor_fixed(&c, 8);
    if (!c.bad && length == 0)
        return RECORD_END;
    if (c.bad || length > cursor_left(&c))
        return RECORD_BAD;
    *next = (uint64_t)(c.at - space->data) + length;
    if (extended || length < 4) /* no toolchain writes 64-bit .eh_frame records */
        return RECORD_BAD;
    return cursor_fixed(&c, 4) == 0 ? RECORD_CIE : RECORD_FDE;
}

/* The augmentation string and data. False: something that changes the meaning of the rest and is
 * not known. */
static bool augmentation_read(const struct cfi_space *space, struct cursor *c,
                              const uint8_t *string, struct cfi_cie *cie)
{
    if (*string == 0)
        return true;
    if (*string != 'z')
        return false;
    cie->augmented = true;
    uint64_t size = cursor_uleb(c);
    if (c->bad || size > cursor_left(c))
        return false;
    struct cursor data = {c->at, c->at + size, false};
    cursor_skip(c, size);
    while (*++string) {
        if (*string == 'L') {
            cursor_u8(&data); /* the encoding of the LSDA pointer, which we skip by length */
        } else if (*string == 'P') {
            uint8_t encoding = cursor_u8(&data);
            cfi_pointer_as(space, &data, encoding & PE_FORMAT, 0);
        } else if (*string == 'R') {
            cie->encoding = cursor_u8(&data);
        } else if (*string == 'S') {
            cie->signal = true;
        } else {
            return false;
        }
    }
    return !data.bad;
}

static bool cie_read(const struct cfi_space *space, uint64_t offset, struct cfi_cie *cie)
{
    uint64_t next;
    cie->offset = CFI_NO_OFFSET;
    if (cfi_record_as(space, offset, &next) != RECORD_CIE || next - offset > CIE_MAX)
        return false;
    struct cursor c = cursor_at(space, offset + 8, next);
    uint8_t version = cursor_u8(&c);
    if (version != 1 && version != 3)
        return false;
    const uint8_t *string = c.at;
    while (cursor_u8(&c) != 0)
        ;
    cie->code_align = cursor_uleb(&c);
    cie->data_align = cursor_sleb(&c);
    uint64_t return_register = version == 1 ? cursor_u8(&c) : cursor_uleb(&c);
    cie->encoding = PE_ABSPTR;
    cie->augmented = false;
    cie->signal = false;
    if (c.bad || return_register != UNWIND_RIP || !augmentation_read(space, &c, string, cie) ||
        c.bad || cie->encoding == PE_OMIT || (cie->encoding & PE_INDIRECT))
        return false;
    cie->program = c;
    cie->offset = (int64_t)offset;
    return true;
}

bool cfi_fde_read_as(const struct cfi_space *space, uint64_t offset, struct cfi_fde *fde)
{
    uint64_t next;
    if (cfi_record_as(space, offset, &next) != RECORD_FDE)
        return false;
    struct cursor c = cursor_at(space, offset + 4, next);
    uint64_t back = cursor_fixed(&c, 4); /* from this field to the CIE */
    if (back > offset + 4)
        return false;
    uint64_t cie = offset + 4 - back;
    if (fde->cie.offset != (int64_t)cie && !cie_read(space, cie, &fde->cie))
        return false;
    fde->lo = cfi_pointer_as(space, &c, fde->cie.encoding, 0);
    uint64_t size = cfi_pointer_as(space, &c, fde->cie.encoding & PE_FORMAT, 0);
    if (fde->cie.augmented)
        cursor_skip(&c, cursor_uleb(&c));
    fde->hi = fde->lo + size;
    fde->program = c;
    return !c.bad && fde->hi >= fde->lo;
}

/* .eh_frame_hdr (LSB 5.0 core, 10.6.2):
 *
 *     u8 version = 1 | u8 eh_frame_ptr_enc | u8 fde_count_enc | u8 table_enc
 *     eh_frame_ptr | fde_count | {initial location, FDE address} sorted by location
 */
struct search {
    uint64_t frames; /* offset of .eh_frame in the space */
    uint64_t count;
    struct cursor table;
    uint8_t encoding;
    uint8_t width; /* bytes of one pointer in the table; 0: there is no table */
    uint64_t base; /* what DW_EH_PE_datarel counts from */
};

static bool search_open(const struct cfi_space *space, uint64_t hdr, uint64_t hdr_size,
                        struct search *s)
{
    if (hdr > space->size || hdr_size > space->size - hdr)
        return false;
    struct cursor c = cursor_at(space, hdr, hdr + hdr_size);
    s->base = space->address + hdr;
    uint8_t version = cursor_u8(&c);
    uint8_t frames_encoding = cursor_u8(&c), count_encoding = cursor_u8(&c);
    s->encoding = cursor_u8(&c);
    s->frames = cfi_pointer_as(space, &c, frames_encoding, s->base) - space->address;
    s->width = 0;
    s->count = 0;
    if (c.bad || version != 1)
        return false;
    if (count_encoding == PE_OMIT || s->encoding == PE_OMIT)
        return true;
    s->count = cfi_pointer_as(space, &c, count_encoding, s->base);
    s->table = c;
    switch (s->encoding & PE_FORMAT) {
    case PE_UDATA4:
    case PE_SDATA4: s->width = 4; break;
    case PE_ABSPTR:
    case PE_UDATA8:
    case PE_SDATA8: s->width = 8; break;
    default: return !c.bad; /* entries of varying size cannot be searched */
    }
    uint64_t fits = cursor_left(&c) / (2u * s->width);
    if (s->count > fits)
        s->count = fits;
    return !c.bad;
}

static uint64_t search_entry(const struct cfi_space *space, const struct search *s, uint64_t index,
                             bool second)
{
    struct cursor c = s->table;
    cursor_skip(&c, (2 * index + second) * s->width);
    return cfi_pointer_as(space, &c, s->encoding, s->base);
}

static enum cfi_status search_linear(const struct cfi_space *space, uint64_t offset, uint64_t pc,
                                     struct cfi_fde *fde)
{
    for (int i = 0; i < LINEAR_SEARCH_MAX; i++) {
        uint64_t next;
        enum cfi_record record = cfi_record_as(space, offset, &next);
        if (record == RECORD_END)
            return CFI_NONE;
        if (next == 0)
            return CFI_BAD;
        if (record == RECORD_FDE && cfi_fde_read_as(space, offset, fde) && pc >= fde->lo &&
            pc < fde->hi)
            return CFI_OK;
        offset = next;
    }
    return CFI_NONE;
}

enum cfi_status cfi_fde_find_as(const struct cfi_space *space, uint64_t hdr, uint64_t hdr_size,
                                uint64_t pc, struct cfi_fde *fde)
{
    struct search s;
    fde->cie.offset = CFI_NO_OFFSET;
    if (!search_open(space, hdr, hdr_size, &s))
        return CFI_BAD;
    if (s.width == 0)
        return search_linear(space, s.frames, pc, fde);
    if (s.count == 0 || search_entry(space, &s, 0, false) > pc)
        return CFI_NONE;
    uint64_t low = 0, high = s.count - 1; /* the answer is the last entry not above pc */
    while (low < high) {
        uint64_t middle = high - (high - low) / 2;
        if (search_entry(space, &s, middle, false) <= pc)
            low = middle;
        else
            high = middle - 1;
    }
    uint64_t offset = search_entry(space, &s, low, true) - space->address;
    if (!cfi_fde_read_as(space, offset, fde))
        return CFI_BAD;
    return pc >= fde->lo && pc < fde->hi ? CFI_OK : CFI_NONE;
}
