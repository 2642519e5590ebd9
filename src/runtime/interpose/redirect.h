/* In a process that is attached to: calls of images that were loaded before us.
 *
 *     call execve@plt ──> [GOT entry] ──> libc's execve        as the loader has bound it
 *                              └────────> our execve           as long as we are attached
 *
 * Preloaded, our functions come first in the search for symbols. Loaded later, they are found by
 * nobody; so the entries that lead to libc's are made to lead to ours, and back when we leave. What
 * an image has bound elsewhere (its own function, another interposer's) stays as it is. Libraries
 * that are loaded while we are attached, and function pointers that somebody has kept, lead past
 * us.
 *
 * Context: ordinary code (it takes the loader's lock). Other threads may be calling through the
 * entries.
 * Ownership: none; the entries are the images'. */
#ifndef PENUMBRA_RUNTIME_INTERPOSE_REDIRECT_H
#define PENUMBRA_RUNTIME_INTERPOSE_REDIRECT_H

/* Entries of all images that are mapped now: to us, and back. Either may be done twice. */
void redirect_begin(void);
void redirect_end(void);

#endif
