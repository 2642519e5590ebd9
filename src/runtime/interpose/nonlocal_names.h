/* What leaves frames otherwise than by returning, or looks at return addresses. X(number, name).
 *
 * Context: constants only, for C and assembly. */
#ifndef PENUMBRA_RUNTIME_INTERPOSE_NONLOCAL_NAMES_H
#define PENUMBRA_RUNTIME_INTERPOSE_NONLOCAL_NAMES_H

#define NONLOCAL_NAMES(X)                                                                          \
    X(0, longjmp)                                                                                  \
    X(1, _longjmp)                                                                                 \
    X(2, siglongjmp)                                                                               \
    X(3, __longjmp_chk)                                                                            \
    X(4, setcontext)                                                                               \
    X(5, swapcontext)                                                                              \
    X(6, pthread_exit)                                                                             \
    X(7, thrd_exit)                                                                                \
    X(8, backtrace)                                                                                \
    X(9, _Unwind_RaiseException)                                                                   \
    X(10, _Unwind_Resume)                                                                          \
    X(11, _Unwind_Resume_or_Rethrow)                                                               \
    X(12, _Unwind_ForcedUnwind)                                                                    \
    X(13, _Unwind_Backtrace)                                                                       \
    X(14, __cxa_begin_catch)

/* Of a struct real_place, as nonlocal.S reads it. nonlocal.c checks it. */
#define NONLOCAL_PLACE_FOUND 8

#endif
