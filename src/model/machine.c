#include "model/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/suggest.h"

#define ROW(name_, kind_, least_, most_, what_)                                                    \
    {.name = #name_, .kind = MACHINE_##kind_, .field = offsetof(struct machine, name_),            \
     .least = (least_), .most = (most_), .what = (what_)},
#define OPTIONAL_ROW(name_, kind_, least_, most_, usual_, what_)                                   \
    {.name = #name_, .kind = MACHINE_##kind_, .field = offsetof(struct machine, name_),            \
     .least = (least_), .most = (most_), .what = (what_), .usual = (usual_), .optional = true},
#define PORT_ROW(id, name_, what_)                                                                 \
    {.name = #name_ "_ports", .kind = MACHINE_PORT_LIST,                                           \
     .field = offsetof(struct machine, ports[UOP_##id]), .what = "ports of " what_},
#define TIME_ROWS(id, name_, what_)                                                                \
    PORT_ROW(id, name_, what_)                                                                     \
    {.name = #name_ "_latency", .kind = MACHINE_COUNT,                                             \
     .field = offsetof(struct machine, latency[UOP_##id]), .least = 1, .most = 1000,               \
     .what = "latency of " what_},                                                                 \
    {.name = #name_ "_busy", .kind = MACHINE_COUNT,                                                \
     .field = offsetof(struct machine, busy[UOP_##id]), .least = 1, .most = 1000,                  \
     .usual = 1, .optional = true, .what = "cycles until the next may begin; 1 if it is not given"},

static const struct machine_key keys[] = {
    MACHINE_KEYS(ROW) UOP_CLASSES_TIMED(TIME_ROWS) UOP_CLASSES_MEMORY(PORT_ROW)
        MACHINE_OPTIONAL_KEYS(OPTIONAL_ROW) MACHINE_DISE_KEYS(OPTIONAL_ROW)};
enum { KEYS = sizeof keys / sizeof *keys };
_Static_assert(KEYS <= sizeof((struct machine *)0)->given, "each key is noted");

static const char *const switches[] = {"no", "yes", NULL};
static const char *const predictors[] = {"bimodal", "gshare", "tournament", "tage", "perfect",
                                         NULL};
static const char *const prefetchers[] = {"none", "next_line", "stride", NULL};

const struct machine_key *machine_key_at(unsigned index)
{
    return index < KEYS ? &keys[index] : NULL;
}

static const char *const *words_of(const struct machine_key *key)
{
    if (key->field == offsetof(struct machine, branch_predictor))
        return predictors;
    return strstr(key->name, "_prefetcher") ? prefetchers : switches;
}

const char *machine_word(const struct machine_key *key, unsigned index)
{
    return key->kind == MACHINE_WORD ? words_of(key)[index] : NULL;
}

static uint32_t *field_of(struct machine *m, const struct machine_key *key)
{
    return (uint32_t *)(void *)((uint8_t *)m + key->field);
}

void machine_init(struct machine *m)
{
    *m = (struct machine){0};
    for (unsigned i = 0; i < KEYS; i++)
        if (keys[i].optional)
            *field_of(m, &keys[i]) = keys[i].usual;
}

/* ---- values ---- */

static bool set_number(uint32_t *to, const struct machine_key *key, const char *value,
                       struct err *e)
{
    double number;
    const struct number_unit *units = key->kind == MACHINE_BYTES ? number_bytes : number_counts;
    if (!number_parse(value, units, key->least, key->most, key->name, &number, e))
        return false;
    *to = (uint32_t)number;
    if (*to != number)
        return err_set(e, ERR_USAGE, "%s is a whole number, not %s", key->name, value);
    if (key->kind == MACHINE_POWER && (*to & (*to - 1)))
        return err_set(e, ERR_USAGE, "%s is a power of two, not %s", key->name, value);
    return true;
}

static bool set_word(uint32_t *to, const struct machine_key *key, const char *value, struct err *e)
{
    char list[256] = "";
    const char *const *words = words_of(key);
    for (uint32_t i = 0; words[i]; i++) {
        if (strcmp(words[i], value) == 0) {
            *to = i;
            return true;
        }
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", words[i]);
    }
    return err_set(e, ERR_USAGE, "%s is one of %s; not %s", key->name, list, value);
}

/* "0 1 5" */
static bool set_ports(uint32_t *to, const struct machine_key *key, const char *value, struct err *e)
{
    uint32_t ports = 0;
    const char *at = value + strspn(value, " ");
    while (*at) {
        char *end;
        unsigned long port = strtoul(at, &end, 10);
        if (*at < '0' || *at > '9' || (*end && *end != ' ') || port >= MACHINE_PORTS)
            return err_set(e, ERR_USAGE,
                           "%s is a list of ports from 0 to %d with spaces between, not %s",
                           key->name, MACHINE_PORTS - 1, value);
        ports |= 1u << port;
        at = end + strspn(end, " ");
    }
    *to = ports;
    return ports || err_set(e, ERR_USAGE, "%s names no port", key->name);
}

static bool set_value(struct machine *m, const struct machine_key *key, const char *value,
                      struct err *e)
{
    uint32_t *to = field_of(m, key);
    switch (key->kind) {
    case MACHINE_WORD: return set_word(to, key, value, e);
    case MACHINE_PORT_LIST: return set_ports(to, key, value, e);
    default: return set_number(to, key, value, e);
    }
}

bool machine_set(struct machine *m, const char *key, const char *value, bool again, struct err *e)
{
    struct suggest near = {0};
    for (unsigned i = 0; i < KEYS; i++) {
        if (strcmp(keys[i].name, key) != 0) {
            suggest_offer(&near, key, keys[i].name);
            continue;
        }
        if (m->given[i] && !again)
            return err_set(e, ERR_USAGE, "%s is given a second time", key);
        m->given[i] = 1;
        return set_value(m, &keys[i], value, e);
    }
    if (near.best)
        return err_set(e, ERR_USAGE, "there is no key %s; did you mean %s?", key, near.best);
    return err_set(e, ERR_USAGE, "there is no key %s", key);
}

void machine_value(const struct machine *m, const struct machine_key *key, char *out, size_t size)
{
    uint32_t value;
    size_t used = 0;
    memcpy(&value, (const uint8_t *)m + key->field, sizeof value);
    *out = '\0';
    if (key->kind == MACHINE_WORD)
        snprintf(out, size, "%s", words_of(key)[value]);
    else if (key->kind != MACHINE_PORT_LIST)
        snprintf(out, size, "%" PRIu32, value);
    for (unsigned port = 0; key->kind == MACHINE_PORT_LIST && port < MACHINE_PORTS; port++)
        if (value >> port & 1 && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%u", used ? " " : "", port);
}

bool machine_set_pair(struct machine *m, const char *pair, struct err *e)
{
    char key[64];
    const char *sign = strchr(pair, '=');
    if (!sign || sign == pair || (size_t)(sign - pair) >= sizeof key)
        return err_set(e, ERR_USAGE, "\"%s\" is no key and value: write KEY=VALUE", pair);
    snprintf(key, sizeof key, "%.*s", (int)(sign - pair), pair);
    return machine_set(m, key, sign + 1, true, e);
}

/* ---- what goes together ---- */

/* A table of `size` entries in sets of `ways`. */
static bool check_sets(const char *name, uint32_t size, uint32_t ways, struct err *e)
{
    if (!size)
        return true;
    if (size % ways)
        return err_set(e, ERR_USAGE,
                       "%s_ways must divide the entries of %s_size: %" PRIu32 " by %" PRIu32, name,
                       name, size, ways);
    return true;
}

static bool check_caches(const struct machine *m, struct err *e)
{
    enum { LINE = 64 };
#define CACHE(name)                                                                                \
    {#name, m->name##_size, m->name##_ways}
    const struct {
        const char *name;
        uint32_t size, ways;
    } caches[] = {CACHE(l1i), CACHE(l1d), CACHE(l2), CACHE(l3)},
      tables[] = {CACHE(itlb), CACHE(dtlb), CACHE(stlb), CACHE(btb),
                CACHE(btb_l1)};
#undef CACHE
    for (unsigned i = 0; i < sizeof caches / sizeof *caches; i++) {
        if (caches[i].size % LINE)
            return err_set(e, ERR_USAGE, "%s_size must be a multiple of a line's %d bytes",
                           caches[i].name, LINE);
        if (!check_sets(caches[i].name, caches[i].size / LINE, caches[i].ways, e))
            return false;
    }
    for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++)
        if (!check_sets(tables[i].name, tables[i].size, tables[i].ways, e))
            return false;
    return true;
}

static bool check_latencies(const struct machine *m, struct err *e)
{
    uint32_t least = m->l1d_latency;
    if (m->l2_size && m->l2_latency <= least)
        return err_set(e, ERR_USAGE, "l2_latency must be more than l1d_latency");
    least = m->l2_size ? m->l2_latency : least;
    if (m->l3_size && m->l3_latency <= least)
        return err_set(e, ERR_USAGE, "l3_latency must be more than l2_latency");
    least = m->l3_size ? m->l3_latency : least;
    if (m->memory_latency <= least)
        return err_set(e, ERR_USAGE, "memory_latency must be more than that of the last cache");
    return true;
}

bool machine_check(const struct machine *m, struct err *e)
{
    for (unsigned i = 0; i < KEYS; i++)
        if (!m->given[i] && !keys[i].optional)
            return err_set(e, ERR_USAGE, "the key %s is missing: %s", keys[i].name, keys[i].what);
    if (m->uop_cache_size && m->uop_cache_size / UOPS_PER_WINDOW < m->uop_cache_ways)
        return err_set(e, ERR_USAGE, "uop_cache_size must be 0, or %d for each of uop_cache_ways",
                       UOPS_PER_WINDOW);
    if (m->retire_width == 11) /* cost.h: parts of a cycle */
        return err_set(e, ERR_USAGE, "retire_width is at most 10, or 12");
    if (m->rob_size < m->dispatch_width || m->rob_size < m->retire_width)
        return err_set(e, ERR_USAGE, "rob_size must be no less than dispatch_width and "
                                     "retire_width");
    if (m->l2_prefetcher == PREFETCHER_STRIDE)
        return err_set(e, ERR_USAGE, "l2_prefetcher is none or next_line: the second level does "
                                     "not see which load asks");
    return check_caches(m, e) && check_latencies(m, e);
}
