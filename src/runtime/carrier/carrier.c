#include "runtime/carrier/carrier.h"

const struct carrier *carrier_of(uint32_t kind)
{
#define CARRIER_ROW(id, name) [id] = &carrier_##name,
    static const struct carrier *const rows[CARRIER_KIND_COUNT] = {
        CARRIERS_PRELOADED(CARRIER_ROW)};
#undef CARRIER_ROW
    return kind < CARRIER_KIND_COUNT && rows[kind] ? rows[kind] : &carrier_handler;
}
