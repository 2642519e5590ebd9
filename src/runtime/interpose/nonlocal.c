/* Non-local exits and unwinders (csprof paper, section 2.5.3): before one of them runs, the true
 * return address is where the program put it. */
#include <setjmp.h>
#include <stddef.h>

#include "runtime/trampoline/trampoline.h"
#include "runtime/interpose/nonlocal_names.h"
#include "runtime/interpose/real.h"
#include "runtime/interpose/signals_mask.h"
#include "runtime/self.h"

#define NONLOCAL_PLACE(number, name) [number] = {#name, NULL},
/* Found beforehand: siglongjmp() may be called in a signal handler. */
static struct real_place real[] REAL_PLACE = {NONLOCAL_NAMES(NONLOCAL_PLACE)};

/* nonlocal.S reads the first one. */
extern struct real_place nonlocal_saves[2];
struct real_place nonlocal_saves[2] REAL_PLACE = {{"__sigsetjmp", NULL}, {"setjmp", NULL}};
_Static_assert(offsetof(struct real_place, found) == NONLOCAL_PLACE_FOUND, "read by nonlocal.S");

static void *real_find(unsigned number)
{
    void *found = real_anywhere(real[number].name);
    __atomic_store_n(&real[number].found, found, __ATOMIC_RELAXED);
    return found;
}

/* The stack pointer that glibc's longjmp will set: __jmp_buf[6], rotated and xored with the
 * thread's pointer guard (sysdeps/unix/sysv/linux/x86_64/pointer_guard.h). */
static uint64_t jump_stack(const uint64_t *jump_buffer)
{
    enum { JB_RSP = 6, ROTATED = 17 };
    uint64_t guard, mangled = jump_buffer[JB_RSP];
    __asm__("movq %%fs:0x30, %0" : "=r"(guard));
    return (mangled >> ROTATED | mangled << (64 - ROTATED)) ^ guard;
}

static void belief_restore(const struct __jmp_buf_tag *buffer)
{
    if (buffer->__mask_was_saved)
        signals_belief_restore(&buffer->__saved_mask);
}

/* Called by nonlocal.S before a mask is saved in a buffer, by sigsetjmp or setjmp; returns the
 * function that does. */
__attribute__((visibility("hidden"))) void *nonlocal_save(unsigned number,
                                                          struct __jmp_buf_tag *buffer, int saves);
void *nonlocal_save(unsigned number, struct __jmp_buf_tag *buffer, int saves)
{
    enum { SETJMP = 1 }; /* saves in any case, and is told nothing */
    void *function = __atomic_load_n(&nonlocal_saves[number].found, __ATOMIC_RELAXED);
    if (number == SETJMP || saves)
        signals_belief_save(&buffer->__saved_mask);
    return function ? function : real_place_find(&nonlocal_saves[number]);
}

/* Called by nonlocal.S with the number of the function that the program calls, its argument, and
 * the caller's stack pointer. */
__attribute__((visibility("hidden"))) void *nonlocal_prepare(unsigned number, const void *argument,
                                                             uint64_t sp);
void *nonlocal_prepare(unsigned number, const void *argument, uint64_t sp)
{
    enum { LONGJMP_LAST = 3, CATCH = 14, ADDRESS_BITS = 56 };
    void *function = __atomic_load_n(&real[number].found, __ATOMIC_RELAXED);
    struct rt_thread *t = rt_profiled_as() ? self_get() : NULL;
    trampoline_lift(t);
    /* else it is the real one's to fault */
    if (number <= LONGJMP_LAST && !((uint64_t)argument >> ADDRESS_BITS)) {
        if (t)
            trampoline_leave(t, jump_stack(argument));
        belief_restore(argument);
    }
    if (number == CATCH && t) /* an exception has left all frames below the handler's */
        trampoline_leave(t, sp);
    return function ? function : real_find(number);
}
