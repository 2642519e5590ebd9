#include "carrier.h"

#include <stddef.h>

#include "machine.h"

static struct trust_range trust(void *data, uint64_t address)
{
    const struct machine *m = data;
    uint64_t lo = (uint64_t)(uintptr_t)m->code, hi = lo + SLOTS * SLOT;
    if (address < lo || address >= hi)
        return (struct trust_range){ 0, 0, TRUST_NONE };
    return (struct trust_range){
        lo, hi, m->mode->trusting == CODE_CHECKED ? TRUST_CHECKED : TRUST_FIXED
    };
}

static enum engine_action system_call(struct engine_thread *t)
{
    t->rip -= 2;
    t->stop = STOP_SYSTEM_CALL;
    return ENGINE_RETURN;
}

static enum engine_action stopped(struct engine_thread *t, enum stop_reason why)
{
    if (why != STOP_BUDGET)
        return ENGINE_RETURN;
    const struct machine *m = t->carrier;
    t->budget = m->mode->budget;
    return ENGINE_CONTINUE;
}

static enum engine_action signals(struct engine_thread *t)
{
    t->pending = 0;
    t->stop = STOP_SIGNAL;
    return ENGINE_RETURN;
}

const struct engine_carrier asm_carrier = {
    .trust = trust, .system_call = system_call, .stopped = stopped, .signals = signals,
};
