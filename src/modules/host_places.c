#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "modules/host_internal.h"
#include "sigsafe/hash.h"

enum { MAPS_MOST = 1 << 16, REGIONS_MOST = 1 << 16 };
#define REGIONS_OLD_NS UINT64_C(1000000000)

static int compare_maps(const void *a, const void *b)
{
    const struct host_map *x = a, *y = b;
    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* What is mapped now. */
static void read_maps(struct penumbra_host *host, struct host_process *p)
{
    spool_ref ref = __atomic_load_n(&p->record->maps, __ATOMIC_ACQUIRE);
    uint32_t capacity = 0;
    p->map_count = 0;
    free(p->maps);
    p->maps = NULL;
    for (uint32_t n = 0; ref && n < MAPS_MOST; n++) {
        const struct spool_map *m = spool_at(host->spool, ref, sizeof *m);
        const struct spool_image *image =
            m ? spool_at(host->spool, m->image, sizeof *image) : NULL;
        if (!image)
            break;
        ref = m->next;
        if (__atomic_load_n(&m->epoch_last, __ATOMIC_RELAXED))
            continue;
        if (p->map_count == capacity) {
            capacity = capacity ? capacity * 2 : 32;
            struct host_map *maps = reallocarray(p->maps, capacity, sizeof *maps);
            if (!maps)
                break;
            p->maps = maps;
        }
        p->maps[p->map_count++] =
            (struct host_map){.lo = m->lo, .hi = m->hi, .bias = m->bias, .image = image->number};
    }
    if (p->map_count)
        qsort(p->maps, p->map_count, sizeof *p->maps, compare_maps);
}

void host_places_refresh(struct penumbra_host *host, struct host_process *p)
{
    uint32_t head = __atomic_load_n(&p->record->maps, __ATOMIC_ACQUIRE);
    uint32_t epoch = __atomic_load_n(&p->record->epoch, __ATOMIC_ACQUIRE);
    if (p->maps && p->map_head == head && p->epoch == epoch)
        return;
    p->map_head = head;
    p->epoch = epoch;
    read_maps(host, p);
    if (!p->remembers)
        return; /* pages that nobody has touched stay so */
    p->remembers = false;
    memset(p->keys, 0, HOST_KEYS * sizeof *p->keys);
    memset(p->emitted, 0, (sizeof *p->emitted) << HOST_EMITTED_BITS);
}

static const struct host_map *find_map(const struct host_process *p, uint64_t address)
{
    uint32_t lo = 0, hi = p->map_count; /* the first that begins behind it */
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (p->maps[middle].lo <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo && address < p->maps[lo - 1].hi ? &p->maps[lo - 1] : NULL;
}

uint64_t host_place(struct penumbra_host *host, struct host_process *p, uint64_t address)
{
    struct host_key *known = &p->keys[hash_word(address) >> 52];
    if (known->address != address || !address) {
        const struct host_map *m = find_map(p, address);
        known->address = address;
        uint64_t plain = key_make(0, address);
        bool hidden = host->options.redact && !key_is_kernel(plain);
        known->key = m ? key_make(m->image, address - m->bias) : hidden ? 0 : plain;
    }
    return known->key;
}
_Static_assert(HOST_KEYS == 1 << (64 - 52), "as many as there are values of the hash");

/* ---- redaction ---- */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t region_kind(const char *name)
{
    if (strstr(name, "[stack"))
        return REGION_STACK;
    return strstr(name, "[heap]") ? REGION_HEAP : REGION_MAPPED;
}

static void read_regions(struct host_process *p)
{
    char path[64], line[4352];
    snprintf(path, sizeof path, "/proc/%" PRId32 "/maps", p->record->pid);
    FILE *f = fopen(path, "re");
    p->region_count = 0;
    p->regions_ns = now_ns();
    while (f && p->region_count < REGIONS_MOST && fgets(line, sizeof line, f)) {
        struct host_region region = {.kind = region_kind(line)};
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &region.lo, &region.hi) != 2)
            continue;
        struct host_region *regions =
            reallocarray(p->regions, p->region_count + 1, sizeof *regions);
        if (!regions)
            break;
        p->regions = regions;
        p->regions[p->region_count++] = region;
    }
    if (f)
        fclose(f);
}

static uint32_t look_up_region(const struct host_process *p, uint64_t address)
{
    for (uint32_t i = 0; i < p->region_count; i++)
        if (address >= p->regions[i].lo && address < p->regions[i].hi)
            return p->regions[i].kind;
    return REGION_OTHER;
}

static uint32_t find_region(struct host_process *p, uint64_t address)
{
    uint32_t kind = look_up_region(p, address);
    if (kind != REGION_OTHER || now_ns() - p->regions_ns < REGIONS_OLD_NS)
        return kind;
    read_regions(p);
    return look_up_region(p, address);
}

/* A block of AES under a key that dies with this process: equal values have equal hashes, and that
 * is all that can be known of them. */
static uint64_t hash_value(const struct penumbra_host *host, uint64_t value)
{
    uint64_t block[2] = {value, 0};
    aes128_encrypt(&host->key, sizeof block, (uint8_t *)block, (const uint8_t *)block);
    return block[0];
}

/* Where a number that is small, or an address of no image, comes from is not known: it stays a
 * number. */
struct hotlist_value host_value(struct penumbra_host *host, struct host_process *p, uint32_t kind,
                                uint64_t value)
{
    const uint64_t least = 0x10000, most = UINT64_C(1) << 47;
    uint32_t format = host->module->kinds[kind].format;
    bool address = format == PENUMBRA_SHOW_ADDRESS || format == PENUMBRA_SHOW_CODE;
    bool perhaps = format == PENUMBRA_SHOW_GUESS || format == PENUMBRA_SHOW_HEX;
    const struct host_map *m =
        (address || perhaps) && value >= least && value < most ? find_map(p, value) : NULL;
    if (m && (address || m->bias))
        return (struct hotlist_value){value - m->bias, HOTLIST_IMAGE + m->image};
    if (!host->options.redact || format == PENUMBRA_SHOW_NAME)
        return (struct hotlist_value){value, HOTLIST_PLAIN};
    if (address)
        return (struct hotlist_value){find_region(p, value), HOTLIST_REGION};
    return (struct hotlist_value){hash_value(host, value), HOTLIST_HASH};
}
