#include "runtime/trampoline/own_address.h"

#include "guest/guest.h"
#include "runtime/trampoline/forbidden.h"
#include "sigsafe/hash.h"
#include "sigsafe/sample_path.h"
#include "unwind/cfi.h"
#include "unwind/table.h"

enum { VERDICTS = 4096, FUNCTION_MAX = 1 << 16 };

/* By hash of the key: the key of a frame or of a function's beginning, and in bit 63 the verdict;
 * atomic. They lie in the spool, as keys mean the same in all processes of a recording: a forked
 * child that lives shortly has no time to read its functions once more. NULL: no frame is
 * marked. */
static uint64_t *verdicts;

void own_address_init(void)
{
    const struct spool *s = &guest.spool;
    uint32_t *shared = &spool_header(s)->verdicts;
    spool_ref ref = __atomic_load_n(shared, __ATOMIC_ACQUIRE);
    if (!ref) {
        void *made = spool_alloc_as(s, VERDICTS * sizeof *verdicts);
        spool_ref fresh = made ? spool_ref_of(s, made) : 0;
        if (!made || __atomic_compare_exchange_n(shared, &ref, fresh, false, __ATOMIC_ACQ_REL,
                                                 __ATOMIC_ACQUIRE))
            ref = fresh;
    }
    verdicts = spool_at(s, ref, VERDICTS * sizeof *verdicts);
}

static uint64_t *verdict_of(uint64_t key)
{
    return &verdicts[hash_word(key) >> 52];
}

_Static_assert(VERDICTS == 1 << 12, "indexed by the upper 12 bits of a hash");

/* True if the verdict on `key` is known: then it is in *read. */
static bool verdict_get(uint64_t key, bool *read)
{
    uint64_t stored = __atomic_load_n(verdict_of(key), __ATOMIC_RELAXED);
    *read = stored >> 63;
    return (stored & ~KEY_GUESSED) == key;
}

static void verdict_put(uint64_t key, bool read)
{
    __atomic_store_n(verdict_of(key), key | (uint64_t)read << 63, __ATOMIC_RELAXED);
}

/* NULL too if it is loaded twice (dlmopen): a key does not say where the frame is, and the other
 * copy may have been unmapped a moment ago, in the dlclose that is on the stack. */
static const struct unwind_image *image_of(const struct unwind_index *index, uint64_t key)
{
    const struct unwind_image *found = NULL;
    for (uint32_t i = 0; i < index->count; i++) {
        if (index->image[i].number != key_image(key))
            continue;
        if (found)
            return NULL;
        found = &index->image[i];
    }
    return found;
}

static const struct unwind_table *table_of(const struct unwind_image *image, uint64_t *size)
{
    uint64_t at = image->table_ref
                      ? 16 * (uint64_t)__atomic_load_n(image->table_ref, __ATOMIC_ACQUIRE)
                      : 0;
    if (at == 0 || at >= image->table_limit)
        return NULL;
    const struct unwind_table *t =
        (const struct unwind_table *)(const void *)(image->table_base + at);
    *size = image->table_limit - at;
    return unwind_table_valid(t, *size) ? t : NULL;
}

static bool function_find(const struct unwind_image *image, uint64_t pc, struct cfi_fde *fde)
{
    struct cfi_space space = {(const uint8_t *)image->readable_lo,
                              image->readable_hi - image->readable_lo, image->readable_lo};
    uint64_t hdr = (uint64_t)image->eh_frame_hdr;
    fde->cie.offset = CFI_NO_OFFSET;
    return hdr && hdr >= image->readable_lo && hdr < image->readable_hi &&
           cfi_fde_find_as(&space, hdr - image->readable_lo, image->eh_frame_hdr_size, pc, fde) ==
               CFI_OK;
}

/* The displacement behind a ModRM byte (and its SIB byte) of this mod. */
static int64_t displacement(const uint8_t *at, const uint8_t *end, unsigned mod)
{
    if (mod == 1 && at < end)
        return (int8_t)*at;
    if (mod == 2 && end - at >= 4)
        return (int32_t)((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
                         (uint32_t)at[3] << 24);
    return mod == 0 ? 0 : -1;
}

/* Opcodes that read a register-relative operand and are common: mov, lea, add, sub, xor, cmp, test,
 * push. Others with rbp would be too much like constants. */
static bool reads(uint8_t opcode)
{
    static const uint8_t opcodes[] = {0x8b, 0x8d, 0x03, 0x2b, 0x33, 0x39, 0x3b, 0x85, 0xff};
    for (unsigned i = 0; i < sizeof opcodes; i++)
        if (opcodes[i] == opcode)
            return true;
    return false;
}

/* Whether code[i] is the ModRM byte of an operand disp(%rsp) or disp(%rbp). */
static enum unwind_rule_kind operand(const uint8_t *code, const uint8_t *end, const uint8_t *modrm,
                                     int64_t *disp)
{
    enum { SIB_RSP = 0x24 };
    unsigned mod = *modrm >> 6, rm = *modrm & 7;
    if (mod == 3)
        return RULE_NONE;
    if (rm == 4 && modrm[1] == SIB_RSP) {
        *disp = displacement(modrm + 2, end, mod);
        return *disp >= 0 ? RULE_RSP : RULE_NONE;
    }
    if (rm == 5 && mod != 0 && modrm > code && reads(modrm[-1])) {
        *disp = displacement(modrm + 1, end, mod);
        return *disp >= 0 ? RULE_RBP : RULE_NONE;
    }
    return RULE_NONE;
}

enum { JUMP_REL = 0xe9, GROUP_5 = 0xff, JUMP_RIP = 0x25, BND = 0xf2 };

/* jmp *disp32(%rip), as stubs of the procedure linkage table end, and tail calls past it. */
static bool is_far_jump(const uint8_t *at)
{
    return at[0] == GROUP_5 && at[1] == JUMP_RIP;
}

static bool is_stub(const uint8_t *at)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    unsigned skip = 0;
    while (skip < sizeof endbr64 && at[skip] == endbr64[skip])
        skip++;
    at += skip == sizeof endbr64 ? skip : 0;
    return is_far_jump(at + (*at == BND));
}

/* Whether the code at `at` leaves for who knows whom, by a far jump or one to a stub: who is called
 * finds the return address where it is, and may be setjmp or dlsym. Stubs of some linkers have no
 * unwind information. */
static bool hands_on(const struct unwind_image *image, const uint8_t *at, const uint8_t *end)
{
    enum { JUMP_SIZE = 5, STUB_LEAST = 8 };
    struct cfi_fde stub;
    if (end - at >= 2 && is_far_jump(at))
        return true;
    if (end - at < JUMP_SIZE || *at != JUMP_REL)
        return false;
    uint64_t to = (uint64_t)(at + JUMP_SIZE) + (uint64_t)displacement(at + 1, end, 2);
    if (to < image->lo || to >= image->hi)
        return false;
    return !function_find(image, to, &stub) ||
           (stub.hi - to >= STUB_LEAST && is_stub((const uint8_t *)to));
}

static bool function_reads(const struct unwind_image *image, const struct cfi_fde *fde,
                           const struct unwind_table *table, uint64_t size)
{
    const uint8_t *code = (const uint8_t *)fde->lo, *end = (const uint8_t *)fde->hi;
    for (const uint8_t *modrm = code; modrm + 1 < end; modrm++) {
        int64_t disp;
        if (hands_on(image, modrm, end))
            return true;
        enum unwind_rule_kind kind = operand(code, end, modrm, &disp);
        if (kind == RULE_NONE || disp % 8 != 0)
            continue;
        uint32_t rule = unwind_table_find_as(table, size, (uint64_t)modrm - image->bias);
        if (rule_kind(rule) == kind && disp == 8 * (int64_t)rule_offset(rule) - 8)
            return true;
    }
    return false;
}

SAMPLE_PATH
bool own_address_read_as(const struct unwind_index *index, uint64_t key)
{
    struct cfi_fde fde;
    uint64_t size;
    bool read;
    key &= ~KEY_GUESSED;
    if (!verdicts)
        return true;
    if (verdict_get(key, &read))
        return read;
    if (forbidden_look_as(key) != FORBIDDEN_NOT) {
        verdict_put(key, true);
        return true;
    }
    const struct unwind_image *image = image_of(index, key);
    const struct unwind_table *table = image ? table_of(image, &size) : NULL;
    if (!table || !function_find(image, key_offset(key) + image->bias, &fde))
        return true;
    uint64_t function = key_make(image->number, fde.lo - image->bias);
    if (!verdict_get(function, &read)) {
        read = fde.hi - fde.lo > FUNCTION_MAX || function_reads(image, &fde, table, size);
        verdict_put(function, read);
    }
    verdict_put(key, read);
    return read;
}
