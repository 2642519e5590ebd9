/* Whose return addresses are not to be replaced, and which programs are left without trampolines.
 *
 * Known by the images that the program maps, each looked at once when it is first seen:
 *
 *     functions that read their return address    dlopen, dlsym, setjmp, getcontext, vfork, mcount, ...
 *     images                                       the dynamic linker, the unwinders, the runtime
 *     whole programs (enum trampoline_state)       Go, JVM, V8, .NET, OCaml, GHC, sanitizers, ...
 *
 * Context: _as functions: signal handlers too. forbidden_init: the constructor. */
#ifndef PENUMBRA_RUNTIME_TRAMPOLINE_FORBIDDEN_H
#define PENUMBRA_RUNTIME_TRAMPOLINE_FORBIDDEN_H

#include "guest/image.h"
#include "runtime/runtime.h"
#include "unwind/unwind.h"

enum forbidden {
    FORBIDDEN_NOT,
    FORBIDDEN_MARK,     /* the frame's return address must stay */
    FORBIDDEN_LEAVING, /* an unwinder or a longjmp: while it is on the stack, all must stay */
};

/* Decides whether this process uses trampolines at all: the option, the processor's shadow stack,
 * what the program's file says. Called before the first image is looked at. */
void forbidden_init(void);
/* Looks at an image; `image` has its number already. */
void forbidden_note_as(const struct image_source *source, const struct unwind_image *image);
/* The calling thread's shadow stack is on: the processor compares return addresses with its own
 * copies. */
bool forbidden_shadow_stack_as(void);
enum forbidden forbidden_look_as(uint64_t key);

#endif
