/* The system calls that --log-input keeps: what each asks for, and where the kernel writes its
 * answer. The interposed function in the program and the carrier in the shadow both ask here, with
 * the arguments of the same call, so that what one keeps is what the other gives.
 *
 *      recvmsg ─> to:   address size │ control size │ flags │ address    (fixed: whatever the result)
 *                 more: the message's own pieces                         (unit: 1 for each of the result)
 *
 * Context: any; the memory that the arguments point at is looked at.
 * Ownership: what is described points into the arguments' memory. */
#ifndef PENUMBRA_RUNTIME_INPUT_INPUT_CALLS_H
#define PENUMBRA_RUNTIME_INPUT_INPUT_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "runtime/input/input_log.h"

/* False: it is no call of this kind, or what it points at may not be read: nothing is described. Of
 * the request all is set but the number and where the call is made. */
bool input_call_describe_as(uint32_t system_call, const uint64_t arguments[6],
                            struct input_call *call);

/* After the call, which has answered `result`: how many bytes of to and more there are. */
uint64_t input_call_size(const struct input_call *call, int64_t result);

/* The call makes the descriptor that is its result. */
bool input_call_opens(uint32_t system_call);

#endif
