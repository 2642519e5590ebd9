/* Which hooks `waste` asks for, and what they are told (waste.c has the functions).
 *
 * Context: waste_block_as as engine/hook.h says; the rest are called hooks.
 * Ownership: what is known of accesses is the engine's common memory. */
#ifndef PENUMBRA_TOOLS_WASTE_PLAN_H
#define PENUMBRA_TOOLS_WASTE_PLAN_H

#include "engine/hook.h"
#include "sigsafe/tuples.h"

enum { WASTE_IDS = 1 << 22 }; /* with room in the engine's common memory */

/* What is known of an id. */
struct waste_site {
    struct tuple_memory memory; /* of its size: 0 is a repeated string's */
    uint8_t kind;               /* enum access_way */
    uint8_t element;            /* of a repeated string: its bytes */
    bool searches;              /* of these: it may end early */
};

struct waste_common {
    uint64_t totals; /* id + 1 of the row of totals */
    struct waste_site sites[];
};

void waste_block_as(const struct hook_block *block, struct hooks *h);

/* Before an access; `id` is that of its site. */
hook_function waste_touch_as;
/* Before a repeated string instruction: all its elements. */
hook_function waste_string_as;
/* Before an instruction of which it is not known what it reads, if it does. */
hook_function waste_unknown_as;
hook_function waste_return_as;
hook_function waste_system_call_as;
hook_function waste_alarm_as;

#endif
