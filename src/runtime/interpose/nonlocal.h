/* Non-local exits and unwinders (csprof paper, section 2.5.3): before one of them runs, the true return
 * address is where the program put it.
 *
 * Context: nonlocal_init: the constructor.
 * Ownership: none. */
#ifndef PENUMBRA_RUNTIME_INTERPOSE_NONLOCAL_H
#define PENUMBRA_RUNTIME_INTERPOSE_NONLOCAL_H

/* Finds the real functions now: siglongjmp() may be called in a signal handler. */
void nonlocal_init(void);

#endif
