#include "tools/plt.h"

#include "engine/probe.h"

enum { ENDBR64 = 0xfa1e0ff3, JMP_SLOT = 0x25ff, PUSH = 0x68, XCHG_AX = 0x9066, NOP_LONG = 0x1f0f };

/* The bytes at `address`, as many as asked for; 0 where there are none. */
static uint64_t bytes_at(uint64_t address, unsigned count)
{
    uint64_t value;
    return engine_probe_as(address, count, &value) ? value : 0;
}

/* Where the stub's indirect jump is; 0: it is no stub. */
static uint64_t jump_of(uint64_t to)
{
    bool marked = bytes_at(to, 4) == ENDBR64;
    uint64_t at = marked ? to + 4 : to;
    at += bytes_at(at, 1) == 0xf2; /* bnd */
    if (bytes_at(at, 2) != JMP_SLOT)
        return 0;
    uint64_t behind = bytes_at(at + 6, 2);
    if (marked)
        return behind == NOP_LONG || bytes_at(at + 7, 2) == NOP_LONG ? at : 0;
    return behind == XCHG_AX || (behind & 0xff) == PUSH ? at : 0;
}

/* push n; jmp to the loader's lookup */
static bool looks_up(uint64_t at)
{
    at += bytes_at(at, 4) == ENDBR64 ? 4 : 0;
    uint64_t behind = bytes_at(at + 5, 2);
    return bytes_at(at, 1) == PUSH && ((behind & 0xff) == 0xe9 || behind == 0xe9f2);
}

bool plt_target_as(uint64_t to, uint64_t *target)
{
    uint64_t jump = jump_of(to), value;
    *target = to;
    if (!jump)
        return true;
    uint64_t slot = jump + 6 + (uint64_t)(int64_t)(int32_t)bytes_at(jump + 2, 4);
    if (!engine_probe_as(slot, 8, &value) || !value)
        return true;
    if (looks_up(value))
        return false;
    *target = value;
    return true;
}
