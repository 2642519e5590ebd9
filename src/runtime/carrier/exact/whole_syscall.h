/* The system calls that concern a process under the engine (docs/engine.md has the list).
 *
 * Most run as they are. Those that change code drop its translations; those that make threads give
 * each an area of its own before its first instruction; those about signals are whole_signal.h's.
 *
 * Context: the dispatcher, with the program's registers in t. */
#ifndef PENUMBRA_RUNTIME_CARRIER_EXACT_WHOLE_SYSCALL_H
#define PENUMBRA_RUNTIME_CARRIER_EXACT_WHOLE_SYSCALL_H

#include "engine/engine.h"

/* t->rip is behind the `syscall`. The engine_carrier's system_call. */
enum engine_action whole_system_call_as(struct engine_thread *t);

#endif
