/* Integer arithmetic on values of which some bits are known. A carry goes up: of a sum the bits
 * below the lowest unknown one are known. */
#include "interpret/internal.h"

typedef unsigned __int128 wide;

/* ---- flags ---- */

void flags_set(const struct step *t, uint64_t mask, uint64_t bits, uint64_t known)
{
    struct interpret_value *f = &t->s->rflags;
    f->known = (f->known & ~mask) | (known & mask);
    f->bits = (f->bits & ~mask) | (bits & known & mask);
}

static uint64_t sign_of(unsigned bytes)
{
    return UINT64_C(1) << (8 * bytes - 1);
}

/* ZF, SF and PF by a result, as far as it is known. */
static void flags_of_result(const struct step *t, struct interpret_value v, unsigned bytes)
{
    uint64_t mask = mask_of(bytes), known = 0, bits = 0;
    if ((v.known & mask) == mask || v.bits & v.known & mask)
        known |= FLAG_ZF;
    if (v.known & sign_of(bytes))
        known |= FLAG_SF;
    if ((v.known & 0xff) == 0xff)
        known |= FLAG_PF;
    bits |= v.bits & mask ? 0 : FLAG_ZF;
    bits |= v.bits & sign_of(bytes) ? FLAG_SF : 0;
    bits |= __builtin_parityll(v.bits & 0xff) ? 0 : FLAG_PF;
    flags_set(t, FLAG_ZF | FLAG_SF | FLAG_PF, bits, known);
}

static void flags_of_logic(const struct step *t, struct interpret_value v, unsigned bytes)
{
    flags_of_result(t, v, bytes);
    flags_set(t, FLAG_CF | FLAG_OF | FLAG_AF, 0, FLAG_CF | FLAG_OF);
}

/* Of an operation without defined ZF, SF, PF and AF. */
static void flags_carry_only(const struct step *t, bool known, bool carry)
{
    flags_set(t, FLAG_STATUS, carry ? FLAG_CF | FLAG_OF : 0, known ? FLAG_CF | FLAG_OF : 0);
}

int condition(const struct interpret_state *s, unsigned number)
{
    uint64_t f = s->rflags.bits, k = s->rflags.known, need;
    bool sf = f & FLAG_SF, of = f & FLAG_OF, is;
    switch (number >> 1 & 7) {
    case 0:
        need = FLAG_OF;
        is = of;
        break;
    case 1:
        need = FLAG_CF;
        is = f & FLAG_CF;
        break;
    case 2:
        need = FLAG_ZF;
        is = f & FLAG_ZF;
        break;
    case 3:
        is = f & (FLAG_CF | FLAG_ZF);
        need = is ? 0 : FLAG_CF | FLAG_ZF; /* one that is set is enough */
        break;
    case 4:
        need = FLAG_SF;
        is = sf;
        break;
    case 5:
        need = FLAG_PF;
        is = f & FLAG_PF;
        break;
    case 6:
        need = FLAG_SF | FLAG_OF;
        is = sf != of;
        break;
    default:
        is = f & FLAG_ZF || sf != of;
        need = f & FLAG_ZF ? 0 : FLAG_ZF | FLAG_SF | FLAG_OF;
        break;
    }
    if ((k & need) != need)
        return -1;
    return is != (number & 1);
}

/* ---- sums ---- */

/* Bits below the lowest that is not known. */
static uint64_t known_below(uint64_t known)
{
    uint64_t unknown = ~known;
    return unknown ? (unknown & -unknown) - 1 : UINT64_MAX;
}

static struct interpret_value sum(const struct step *t, struct interpret_value a,
                                  struct interpret_value b, int carry, bool subtract,
                                  unsigned bytes, uint64_t flags)
{
    uint64_t mask = mask_of(bytes), both = a.known & b.known & mask;
    uint64_t x = a.bits & mask, y = b.bits & mask, in = carry > 0;
    uint64_t result = (subtract ? x - y - in : x + y + in) & mask;
    bool all = both == mask && carry >= 0;
    struct interpret_value r = value_of(result, carry < 0 ? 0 : known_below(both | ~mask) & mask);
    r.origin = subtract ? interpret_no_origin : origin_add(a.origin, b.origin);
    bool out = subtract ? (wide)x < (wide)y + in : ((wide)x + y + in) >> 8 * bytes;
    uint64_t over = (subtract ? (x ^ y) : ~(x ^ y)) & (x ^ result) & sign_of(bytes);
    uint64_t bits =
        (out ? FLAG_CF : 0) | (over ? FLAG_OF : 0) | ((x ^ y ^ result) & 0x10 ? FLAG_AF : 0);
    flags_of_result(t, r, bytes);
    flags_set(t, flags, bits, all ? UINT64_MAX : 0);
    return r;
}

static int carry_of(const struct step *t)
{
    const struct interpret_value *f = &t->s->rflags;
    return f->known & FLAG_CF ? (f->bits & FLAG_CF) != 0 : -1;
}

/* ---- the eight ---- */

static struct interpret_value logic(enum alu op, struct interpret_value a, struct interpret_value b)
{
    uint64_t both = a.known & b.known, zero_a = a.known & ~a.bits, zero_b = b.known & ~b.bits;
    if (op == ALU_AND)
        return value_of(a.bits & b.bits, both | zero_a | zero_b);
    if (op == ALU_OR)
        return value_of(a.bits | b.bits, both | (a.known & a.bits) | (b.known & b.bits));
    return value_of(a.bits ^ b.bits, both);
}

struct interpret_value alu(const struct step *t, enum alu op, struct interpret_value a,
                           struct interpret_value b, unsigned bytes)
{
    const uint64_t carries = FLAG_CF | FLAG_OF | FLAG_AF;
    struct interpret_value r;
    switch (op) {
    case ALU_ADD:
        return sum(t, a, b, 0, false, bytes, carries);
    case ALU_ADC:
        return sum(t, a, b, carry_of(t), false, bytes, carries);
    case ALU_SBB:
        return sum(t, a, b, carry_of(t), true, bytes, carries);
    case ALU_SUB:
    case ALU_CMP:
        r = sum(t, a, b, 0, true, bytes, carries);
        if (b.known == UINT64_MAX || (b.known & mask_of(bytes)) == mask_of(bytes))
            r.origin = origin_plus(a.origin, (int64_t)(0 - b.bits));
        return r;
    default:
        r = logic(op, a, b);
        flags_of_logic(t, r, bytes);
        return r;
    }
}

struct interpret_value alu_step(const struct step *t, enum alu op, struct interpret_value a,
                                unsigned bytes)
{
    struct interpret_value one = value_known(1);
    one.origin = (struct interpret_origin){INTERPRET_NOWHERE, INTERPRET_NOWHERE, 1, true,
                                           op == ALU_SUB ? -1 : 1};
    struct interpret_value r = sum(t, a, one, 0, op == ALU_SUB, bytes, FLAG_OF | FLAG_AF);
    r.origin = origin_add(a.origin, one.origin);
    return r;
}

struct interpret_value alu_negate(const struct step *t, struct interpret_value a, unsigned bytes)
{
    return alu(t, ALU_SUB, value_known(0), a, bytes);
}

void alu_test(const struct step *t, struct interpret_value a, struct interpret_value b,
              unsigned bytes)
{
    flags_of_logic(t, logic(ALU_AND, a, b), bytes);
}

/* ---- shifts ---- */

enum { ROL, ROR, RCL, RCR, SHL, SHR, SAL, SAR };

static uint64_t rotated(uint64_t v, unsigned left, unsigned bits, uint64_t mask)
{
    left %= bits;
    return left ? (v << left | (v & mask) >> (bits - left)) & mask : v & mask;
}

static struct interpret_value rotate(const struct step *t, bool left, struct interpret_value a,
                                     unsigned count, unsigned bytes)
{
    unsigned bits = 8 * bytes, by = left ? count % bits : bits - count % bits;
    uint64_t mask = mask_of(bytes), r = rotated(a.bits, by, bits, mask);
    uint64_t known = rotated(a.known, by, bits, mask), carry = left ? 1 : sign_of(bytes);
    uint64_t top = sign_of(bytes), next = top >> 1;
    uint64_t over = left ? (r & top) / top ^ (r & 1) : (r & top) / top ^ (r & next) / next;
    uint64_t over_needs = left ? top | 1 : top | next;
    flags_set(t, FLAG_CF, r & carry ? FLAG_CF : 0, known & carry ? FLAG_CF : 0);
    flags_set(t, FLAG_OF, over ? FLAG_OF : 0,
              count == 1 && (known & over_needs) == over_needs ? FLAG_OF : 0);
    return value_of(r, known);
}

static struct interpret_value shifted(unsigned digit, struct interpret_value a, unsigned count,
                                      unsigned bytes)
{
    uint64_t mask = mask_of(bytes), high;
    unsigned bits = 8 * bytes;
    bool sign = digit == SAR;
    if (digit == SHL || digit == SAL)
        return count >= bits ? value_of(0, mask)
                             : value_of(a.bits << count & mask,
                                        (a.known << count | ((UINT64_C(1) << count) - 1)) & mask);
    if (count >= bits)
        count = sign ? bits - 1 : bits;
    high = count >= 64 ? UINT64_MAX : ~(mask >> count) & mask;
    uint64_t v = count >= 64 ? 0 : (a.bits & mask) >> count;
    uint64_t k = count >= 64 ? 0 : (a.known & mask) >> count;
    if (!sign)
        return value_of(v, k | high);
    bool one = a.bits & sign_of(bytes), known = a.known & sign_of(bytes);
    return value_of(v | (one ? high : 0), k | (known ? high : 0));
}

static void shift_flags(const struct step *t, unsigned digit, struct interpret_value a,
                        struct interpret_value r, unsigned count, unsigned bytes)
{
    unsigned bits = 8 * bytes;
    bool left = digit == SHL || digit == SAL, inside = count < bits;
    uint64_t out = !inside ? 0 : UINT64_C(1) << (left ? bits - count : count - 1);
    uint64_t top = sign_of(bytes);
    uint64_t carry = a.bits & out ? FLAG_CF : 0, known = a.known & out ? FLAG_CF : 0;
    flags_of_result(t, r, bytes);
    flags_set(t, FLAG_CF | FLAG_OF | FLAG_AF, carry, known);
    if (count != 1)
        return;
    if (digit == SAR)
        flags_set(t, FLAG_OF, 0, FLAG_OF);
    else if (digit == SHR)
        flags_set(t, FLAG_OF, a.bits & top ? FLAG_OF : 0, a.known & top ? FLAG_OF : 0);
    else
        flags_set(t, FLAG_OF, !(r.bits & top) != !carry ? FLAG_OF : 0,
                  r.known & top && known ? FLAG_OF : 0);
}

struct interpret_value shift(const struct step *t, unsigned digit, struct interpret_value a,
                             struct interpret_value count, unsigned bytes)
{
    unsigned most = bytes == 8 ? 63 : 31, n = (unsigned)count.bits & most;
    bool through = digit == RCL || digit == RCR;
    if ((count.known & most) != most || (through && n)) {
        flags_set(t, digit < SHL ? FLAG_CF | FLAG_OF : (uint64_t)FLAG_STATUS, 0, 0);
        return value_unknown();
    }
    if (!n)
        return a;
    if (digit < RCL)
        return rotate(t, digit == ROL, a, n, bytes);
    struct interpret_value r = shifted(digit, a, n, bytes);
    if ((digit == SHL || digit == SAL) && n <= 3)
        r.origin = origin_scale(a.origin, 1u << n);
    shift_flags(t, digit, a, r, n, bytes);
    return r;
}

/* ---- products ---- */

static int64_t extended(uint64_t v, unsigned bytes)
{
    unsigned shift = 64 - 8 * bytes;
    return (int64_t)(v << shift) >> shift;
}

struct interpret_value multiply(const struct step *t, struct interpret_value a,
                                struct interpret_value b, unsigned bytes)
{
    uint64_t mask = mask_of(bytes), both = a.known & b.known & mask;
    __int128 product = (__int128)extended(a.bits, bytes) * extended(b.bits, bytes);
    uint64_t low = (uint64_t)product & mask;
    flags_carry_only(t, both == mask, product != extended(low, bytes));
    return value_of(low, known_below(both | ~mask) & mask);
}

/* rdx:rax, or ax of bytes. */
static void pair_set(const struct step *t, struct interpret_value low, struct interpret_value high,
                     unsigned bytes)
{
    if (bytes > 1) {
        register_set(t->s, X86_RAX, low, bytes);
        register_set(t->s, X86_RDX, high, bytes);
        return;
    }
    low.bits &= 0xff;
    low.known &= 0xff;
    register_set(t->s, X86_RAX, value_of(low.bits | high.bits << 8, low.known | high.known << 8),
                 2);
}

static void product_set(const struct step *t, bool is_signed, struct interpret_value v,
                        unsigned bytes)
{
    struct interpret_value a = register_read(t, X86_RAX, bytes);
    uint64_t mask = mask_of(bytes);
    bool all = (a.known & v.known & mask) == mask;
    wide product = is_signed ? (wide)((__int128)extended(a.bits, bytes) * extended(v.bits, bytes))
                             : (wide)(a.bits & mask) * (v.bits & mask);
    uint64_t low = (uint64_t)product & mask, high = (uint64_t)(product >> 8 * bytes) & mask;
    bool carry = is_signed ? (__int128)product != extended(low, bytes) : high != 0;
    flags_carry_only(t, all, carry);
    pair_set(t, value_of(low, all ? mask : 0), value_of(high, all ? mask : 0), bytes);
}

static bool divide(const struct step *t, bool is_signed, struct interpret_value v, unsigned bytes)
{
    uint64_t mask = mask_of(bytes);
    struct interpret_value a = register_read(t, X86_RAX, bytes > 1 ? bytes : 2);
    struct interpret_value d = register_read(t, X86_RDX, bytes);
    bool all = bytes > 1 ? (a.known & d.known & v.known & mask) == mask
                         : (a.known & 0xffff) == 0xffff && (v.known & mask) == mask;
    wide dividend = bytes > 1 ? (wide)d.bits << 8 * bytes | (a.bits & mask) : a.bits;
    struct interpret_value q = value_unknown(), r = value_unknown();
    flags_set(t, FLAG_STATUS, 0, 0);
    if (all && !(v.bits & mask))
        return false;
    if (all && is_signed) {
        unsigned unused = 128 - 16 * bytes;
        __int128 n = (__int128)(dividend << unused) >> unused, by = extended(v.bits, bytes);
        if (by == -1 && n == (__int128)((wide)1 << 127))
            return false;
        if (n / by != extended((uint64_t)(n / by) & mask, bytes))
            return false;
        q = value_known((uint64_t)(n / by));
        r = value_known((uint64_t)(n % by));
    } else if (all) {
        if (dividend / (v.bits & mask) > mask)
            return false;
        q = value_known((uint64_t)(dividend / (v.bits & mask)));
        r = value_known((uint64_t)(dividend % (v.bits & mask)));
    }
    q.bits &= mask;
    r.bits &= mask;
    q.known &= mask;
    r.known &= mask;
    pair_set(t, q, r, bytes);
    return true;
}

bool multiply_divide(const struct step *t, unsigned digit, struct interpret_value v, unsigned bytes)
{
    if (digit >= 6)
        return divide(t, digit == 7, v, bytes);
    product_set(t, digit == 5, v, bytes);
    return true;
}
