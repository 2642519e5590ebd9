#include "engine/probe.h"

/* probe.S; they lie in this order, engine_probe_compare_64 before the last. */
struct engine_probed engine_probe_1(uint64_t address) __attribute__((visibility("hidden")));
struct engine_probed engine_probe_4(uint64_t address) __attribute__((visibility("hidden")));
struct engine_probed engine_probe_8(uint64_t address) __attribute__((visibility("hidden")));
struct engine_probed engine_probe_64(uint64_t address, uint64_t out[8])
    __attribute__((visibility("hidden")));
struct engine_probed engine_probe_failed(void) __attribute__((visibility("hidden")));

bool engine_probe_as(uint64_t address, unsigned bytes, uint64_t *value)
{
    struct engine_probed got = {0, 0};
    if (bytes == 8 || bytes == 4) {
        got = bytes == 8 ? engine_probe_8(address) : engine_probe_4(address);
        *value = got.value;
        return !got.failed;
    }
    *value = 0;
    for (unsigned i = 0; i < bytes && !got.failed; i++) {
        got = engine_probe_1(address + i);
        *value |= got.value << 8 * i;
    }
    return !got.failed;
}

bool engine_probe_64_as(uint64_t address, uint64_t out[8])
{
    return !engine_probe_64(address, out).failed;
}

bool engine_probe_fault_as(greg_t *gregs)
{
    uint64_t rip = (uint64_t)gregs[REG_RIP];
    if (rip < (uint64_t)(uintptr_t)engine_probe_1 ||
        rip >= (uint64_t)(uintptr_t)engine_probe_failed)
        return false;
    gregs[REG_RIP] = (greg_t)(uintptr_t)engine_probe_failed;
    return true;
}
