/* What interpose/syscall.S knows of a struct real_place. interpose/process.c checks it.
 *
 * Context: any. Ownership: nothing is allocated. */
#ifndef PENUMBRA_RUNTIME_INTERPOSE_SYSCALL_LAYOUT_H
#define PENUMBRA_RUNTIME_INTERPOSE_SYSCALL_LAYOUT_H

#define SYSCALL_PLACE_FOUND 8

#endif
