#include "runtime/interpose/nonlocal.h"

#include <stddef.h>

#include "runtime/carrier/trampoline.h"
#include "runtime/interpose/nonlocal_names.h"
#include "runtime/interpose/real.h"
#include "runtime/self.h"

#define NONLOCAL_STRING(number, name) [number] = #name,
static const char *const names[] = {NONLOCAL_NAMES(NONLOCAL_STRING)};
enum { NAME_COUNT = sizeof names / sizeof *names };

static void *real[NAME_COUNT]; /* atomic pointers */

static void *real_find(unsigned number)
{
    void *found = real_anywhere(names[number]);
    __atomic_store_n(&real[number], found, __ATOMIC_RELAXED);
    return found;
}

void nonlocal_init(void)
{
    for (unsigned i = 0; i < NAME_COUNT; i++) {
        void *found = dlsym(RTLD_NEXT, names[i]);
        __atomic_store_n(&real[i], found, __ATOMIC_RELAXED);
    }
}

/* The stack pointer that glibc's longjmp will set: __jmp_buf[6], rotated and xored with the thread's
 * pointer guard (sysdeps/unix/sysv/linux/x86_64/pointer_guard.h). */
static uint64_t jump_stack(const uint64_t *jump_buffer)
{
    enum { JB_RSP = 6, ROTATED = 17 };
    uint64_t guard, mangled = jump_buffer[JB_RSP];
    __asm__("movq %%fs:0x30, %0" : "=r"(guard));
    return (mangled >> ROTATED | mangled << (64 - ROTATED)) ^ guard;
}

/* Called by nonlocal.S with the number of the function that the program calls, and its argument. */
__attribute__((visibility("hidden"))) void *nonlocal_prepare(unsigned number, const void *argument);
void *nonlocal_prepare(unsigned number, const void *argument)
{
    enum { LONGJMP_LAST = 3 };
    void *function = __atomic_load_n(&real[number], __ATOMIC_RELAXED);
    struct rt_thread *t = rt.process ? self_get() : NULL;
    trampoline_lift(t);
    if (t && number <= LONGJMP_LAST)
        trampoline_leave(t, jump_stack(argument));
    return function ? function : real_find(number);
}
