/* Leads: a function that is called only now and then, and only if a register is not what it was.
 *
 * One is taken off `left` of the thread's lead of that id (struct counts_lead). If it is below 0
 * then, and the low `width` bytes (1, 2, 4, 8) of the register are not those of `bits`, the
 * function is called. It sets both anew.
 *
 * For tools with TOOL_LEADS. If the tool has a struct tool_line (engine/hook_line.h), the call for
 * a register of 4 or 8 bytes is made through its first entry, and gs:[slot_hook] is the register
 * then. So it is of vector registers, which are for tools with a struct tool_line only.
 *
 * Context: as engine/hook.h says. */
#ifndef PENUMBRA_TOOLS_INLINE_LEAD_H
#define PENUMBRA_TOOLS_INLINE_LEAD_H

#include "engine/hook.h"

/* The argument: which lead, and the register: a general one; of xmm0 to xmm15 the low or the upper
 * 8 bytes.
 *
 *      47     40 39      32 31            0
 *     +---------+----------+---------------+
 *     | width   | register | id            |
 *     +---------+----------+---------------+   */
enum { LEAD_REGISTER = 32, LEAD_WIDTH = 40, LEAD_XMM = 16, LEAD_XMM_UPPER = 32 };

static inline uint64_t lead_argument(uint32_t id, unsigned reg, uint32_t width)
{
    return id | (uint64_t)reg << LEAD_REGISTER | (uint64_t)width << LEAD_WIDTH;
}
static inline unsigned lead_register(uint64_t argument)
{
    return argument >> LEAD_REGISTER & 63;
}
static inline unsigned lead_width(uint64_t argument)
{
    return argument >> LEAD_WIDTH & 15;
}

bool lead_as(struct hooks *h, enum hook_point point, uint32_t index, hook_function *function,
             uint64_t argument);

/* Of an id: a lead or a gate (gate.h). */
static inline struct counts_lead *lead_of(struct engine_thread *t, uint32_t id)
{
    return (struct counts_lead *)(void *)((uint8_t *)t + ENGINE_T_SIZE) + id;
}

#endif
