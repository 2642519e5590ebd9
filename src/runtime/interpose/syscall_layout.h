/* What interpose/syscall.S knows of a struct real_place, which interpose/process.c checks; and what
 * it leaves in the red zone of the call, whose number the kernel overwrites, for
 * trigger/interrupted.c:
 *
 *     rsp      return address of syscall()
 *     rsp - 8  number
 *     rsp - 16 mark ^ number ^ return address
 *
 * libc's syscall() has no frame, and moves its arguments between registers only.
 *
 * Context: any. Ownership: nothing is allocated. */
#ifndef PENUMBRA_RUNTIME_INTERPOSE_SYSCALL_LAYOUT_H
#define PENUMBRA_RUNTIME_INTERPOSE_SYSCALL_LAYOUT_H

#define SYSCALL_PLACE_FOUND 8
#define SYSCALL_NUMBER 8
#define SYSCALL_CHECK 16
#define SYSCALL_MARK 0x50656e756d627261

#endif
