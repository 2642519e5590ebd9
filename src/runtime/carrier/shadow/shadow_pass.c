/* A shadow that goes on within a budget observes a stretch of its program, and passes the next one
 * over: it runs it under an engine that has no tool, several times as fast. So it sees more of a
 * program that works in phases than as many instructions in a row would show.
 *
 *      forked                         `length` are observed          another one is there
 *      |--|·········|--|·······|--|·············|--|········|--|···········|--|
 *       observed, passed over, ...
 *
 * Two engines, each with its own code, have the registers in turns; what the program does is the
 * same in both.
 *
 * Context: a shadow, between instructions of the program: in the engine's callbacks.
 * Ownership: everything ends with the process. */
#include "engine/hook.h"
#include "runtime/carrier/burst/burst_draw.h"
#include "runtime/carrier/shadow/shadow.h"
#include "runtime/carrier/shadow/shadow_self.h"
#include "sigsafe/tools.h"

bool shadow_passes(void)
{
    return (shadow_settings->flags & (SHADOW_GOES_ON | SHADOW_COLD)) == SHADOW_GOES_ON;
}

uint64_t shadow_stretch(void)
{
    uint64_t length = shadow_settings->length;
    struct tool_about tools = tools_about(rt.config->tools);
    uint64_t stretch = tool_stretch(&tools);
    return shadow_settings->flags & SHADOW_GOES_ON && length > stretch ? stretch : length;
}

/* NULL: there is no memory for it, and the shadow observes on. */
static struct engine_thread *passer_need_as(void)
{
    struct shadow_self *self = &shadow_self;
    if (self->passer || !self->passing)
        return self->passer;
    self->passer = engine_thread_share_as(self->passing, self->seat->pid, NULL);
    if (self->passer)
        self->passer->carrier = self;
    else
        self->passing = NULL;
    return self->passer;
}

struct engine_thread *shadow_pass_next_as(struct engine_thread *t)
{
    struct shadow_self *self = &shadow_self;
    struct engine_thread *passer = passer_need_as();
    if (t != self->observer || !passer) {
        self->left = shadow_stretch();
        return self->observer;
    }
    uint64_t length = shadow_pass_length(self->record, shadow_stretch());
    self->left = length / 2 + burst_draw(&self->random, length);
    return passer;
}

_Noreturn void shadow_pass_over_as(struct engine_thread *to, const struct engine_thread *from)
{
    for (unsigned i = 0; i < sizeof to->gpr / sizeof *to->gpr; i++)
        to->gpr[i] = from->gpr[i];
    to->rip = from->rip;
    to->rflags = from->rflags;
    shadow_self.thread = to;
    engine_start_as(to);
}
