#include "handler_stack.h"

#include <ucontext.h>

#include "sigsafe/sys.h"

__attribute__((noinline)) static void measure(const struct stack_work *w)
{
    ucontext_t context;
    getcontext(&context);
    for (unsigned i = 0; i < w->calls; i++) {
        uint64_t before = sys_ticks_as();
        w->handler(SIGTRAP, w->info, &context);
        w->spent[i] = sys_ticks_as() - before;
    }
}

/* noinline: or several levels become one frame. */
__attribute__((noinline)) int stack_descend(const struct stack_work *w, unsigned depth)
{
    if (depth == 0) {
        measure(w);
        return 0;
    }
    int r = stack_descend(w, depth - 1);
    __asm__ volatile("" : "+r"(r));
    return r + 1;
}
