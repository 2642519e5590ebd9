/* What a program can tell Penumbra about itself.
 *
 *     #include <penumbra/penumbra.h>
 *
 *     penumbra_phase_begin("load");         what is sampled from here on, in all threads, is of the
 *     load();                               phase "load": `penumbra report --phase load`
 *       penumbra_phase_begin("parse");      a phase in a phase: "load/parse". What is of it is of
 *       parse();                            "load" too
 *       penumbra_phase_end();
 *     penumbra_phase_end();
 *
 *     penumbra_pause();                     nothing is counted until it is resumed
 *     warm_up();
 *     penumbra_resume();
 *
 * There is nothing to link. In a program that does not run under `penumbra record`, or that is
 * linked statically, each call is one load and one branch.
 *
 * Semantics:
 * - Phases and pauses are the process's, not the calling thread's: every thread is in the phase
 *   that was begun last, and any thread may end it. Threads that work on different things at the
 *   same time need no phases to be told apart: their call paths and names do that.
 * - penumbra_phase_end ends the phase that was begun last. Without one it does nothing.
 * - A phase that is begun again inside the same outer phase is the same phase: its samples add up.
 * - A process has at most 255 phases, nested at most 64 deep. What is begun beyond that is counted
 *   as refused, and its samples are the outer phase's.
 * - Pauses nest: it takes as many penumbra_resume as penumbra_pause to go on. Without a pause
 *   penumbra_resume does nothing.
 * - A forked child is in the phase and the pause that its parent was in when it forked. A program
 *   that is executed starts without.
 * - name: any bytes but a NUL, at most 4096 of them; NULL is "". It is copied.
 *
 * Context: any thread; signal handlers too. errno stays as it is. C99, C++98 and later; gcc and
 * clang. */
#ifndef PENUMBRA_PENUMBRA_H
#define PENUMBRA_PENUMBRA_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__x86_64__) && defined(__ELF__) && defined(__GNUC__)

/* The address of one of the profiler's functions; null without it. The symbol is weak, and its
 * address is taken from the global offset table: compilers take that of a weak function in a
 * program that is not position-independent for a constant, which the linker then sets to 0. */
#define PENUMBRA_FIND_(function, name)                                                             \
    __asm__(".weak " name "\n\tmovq " name "@GOTPCREL(%%rip), %0" : "=r"(function))

static __inline__ __attribute__((unused)) void penumbra_phase_begin(const char *name)
{
    void (*function)(const char *);
    PENUMBRA_FIND_(function, "penumbra_rt_phase_begin");
    if (function)
        function(name);
}

static __inline__ __attribute__((unused)) void penumbra_phase_end(void)
{
    void (*function)(void);
    PENUMBRA_FIND_(function, "penumbra_rt_phase_end");
    if (function)
        function();
}

static __inline__ __attribute__((unused)) void penumbra_pause(void)
{
    void (*function)(void);
    PENUMBRA_FIND_(function, "penumbra_rt_pause");
    if (function)
        function();
}

static __inline__ __attribute__((unused)) void penumbra_resume(void)
{
    void (*function)(void);
    PENUMBRA_FIND_(function, "penumbra_rt_resume");
    if (function)
        function();
}

#undef PENUMBRA_FIND_

#else /* not a system that Penumbra profiles */

#define penumbra_phase_begin(name) ((void)(name))
#define penumbra_phase_end() ((void)0)
#define penumbra_pause() ((void)0)
#define penumbra_resume() ((void)0)

#endif

#ifdef __cplusplus
}
#endif

#endif
