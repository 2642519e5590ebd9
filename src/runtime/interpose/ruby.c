/* Ruby's callcc copies the stack, and puts the copy back as often as the program calls the
 * continuation. A trampoline's address in a copy would be met again when its entry has long served
 * another frame. So there are no trampolines from the moment on at which `require "continuation"`
 * calls this function of Ruby's; those that are in place keep their true return addresses for
 * ever. */
#include <stddef.h>

#include "runtime/trampoline/trampoline.h"
#include "runtime/interpose/real.h"
#include "runtime/self.h"

EXPORT void ruby_Init_Continuation_body(void);
void ruby_Init_Continuation_body(void)
{
    void (*real)(void);
    trampoline_disable_as(TRAMPOLINE_RUBY);
    trampoline_lift(rt_profiled_as() ? self_get() : NULL);
    *(void **)&real = real_anywhere("ruby_Init_Continuation_body");
    if (real)
        real();
}
