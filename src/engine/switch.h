/* C functions that only switch.S calls, and the like.
 *
 * Context: the thread concerned, on its engine stack. */
#ifndef PENUMBRA_ENGINE_SWITCH_H
#define PENUMBRA_ENGINE_SWITCH_H

#include "engine/state.h"

/* Each of the first four returns what switch.S does next, an enum engine_action; for
 * ENGINE_CONTINUE t->next is the code to enter, and t->rip what it stands for. */
uint32_t engine_dispatch_as(struct engine_thread *t); /* exit t->exit was taken */
uint32_t engine_lookup_as(struct engine_thread *t);   /* no code was found for t->rip */
uint32_t engine_begin_as(struct engine_thread *t);    /* at t->rip */
uint32_t engine_signals_as(struct engine_thread *t);  /* t->pending is set */

/* Gives GS back, prepares the last step to native code; returns t. */
struct engine_thread *engine_leave_as(struct engine_thread *t);

#endif
