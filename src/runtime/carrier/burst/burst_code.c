#include "runtime/carrier/burst/burst_code.h"

#include "engine/mappings.h"
#include "runtime/carrier/translated.h"
#include "guest/images.h"
#include "runtime/runtime.h"

enum { KEPT = 128 };

static struct kept {
    uint64_t lo;
    uint64_t hi; /* atomic; 0: free. Written last */
    uint64_t image;
} kept[KEPT];

static void keep_as(const struct trust_range *range, uint64_t image)
{
    for (unsigned i = 0; i < KEPT; i++)
        if (!__atomic_load_n(&kept[i].hi, __ATOMIC_RELAXED)) {
            kept[i].lo = range->lo;
            kept[i].image = image;
            __atomic_store_n(&kept[i].hi, range->hi, __ATOMIC_RELEASE);
            return;
        }
}

struct trust_range burst_code_trust_as(void *carrier, uint64_t address)
{
    (void)carrier;
    for (unsigned i = 0; i < KEPT; i++) {
        uint64_t hi = __atomic_load_n(&kept[i].hi, __ATOMIC_ACQUIRE);
        if (address < hi && address >= kept[i].lo)
            return (struct trust_range){kept[i].lo, hi, TRUST_FIXED};
    }
    if (rt_quiet_as())
        return (struct trust_range){address, address + 1, TRUST_NONE};
    struct trust_range range = mappings_trust_as(address);
    if (range.trust != TRUST_FIXED)
        return range;
    const struct unwind_image *image = translated_image_as(address);
    if (image && range.lo >= image->lo && range.hi <= image->hi)
        keep_as(&range, image->number);
    else
        range.trust = TRUST_CHECKED;
    return range;
}

static void forget(struct kept *k, burst_code_forgotten *gone)
{
    uint64_t hi = __atomic_exchange_n(&k->hi, 0, __ATOMIC_ACQ_REL);
    gone(k->lo, hi);
}

void burst_code_gone(burst_code_forgotten *gone)
{
    for (struct kept *k = kept; k < kept + KEPT; k++) {
        if (!__atomic_load_n(&k->hi, __ATOMIC_ACQUIRE))
            continue;
        const struct unwind_image *image = unwind_index_find_as(images_current_as(), k->lo);
        if (!image || image->number != k->image)
            forget(k, gone);
    }
}

void burst_code_written(uint64_t lo, uint64_t hi, burst_code_forgotten *gone)
{
    for (struct kept *k = kept; k < kept + KEPT; k++) {
        uint64_t end = __atomic_load_n(&k->hi, __ATOMIC_ACQUIRE);
        if (end && lo < end && hi > k->lo)
            forget(k, gone);
    }
}
