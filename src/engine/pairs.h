/* Calls and returns as pairs, for programs with more return addresses than a lookup serves well.
 *
 * Every return through the lookup table touches a cache line of its own there, and the processor's
 * stack of return addresses goes unused. Paired, a call of the program is a call of the processor,
 * so that its return is predicted; and where it returns to is kept by the stack pointer, in lines
 * that are as warm as the program's stack:
 *
 *      call stub ──────────> stub:   mov   gs:[slot_r11], r11       (cold)
 *      after: <─┐                    movzx r11d, sp
 *               │                    rorx  r11, r11, 3              (no flags)
 *               │                    pop   gs:[returns + r11 * 8]   after
 *               │                    push  (the program's return address)
 *               │                    mov   r11, gs:[slot_r11]
 *               │                    jmp   callee
 *               │
 *               │        return:     mov   gs:[slot_rcx], rcx
 *               │                    mov   gs:[slot_r11], r11
 *               │                    movzx r11d, sp
 *               │                    rorx  r11, r11, 3
 *               │                    mov   rcx, [rsp]
 *               │                    mov   r11, gs:[returns + r11 * 8]
 *               │                    mov   [rsp], r11
 *               └─────────────────── ret
 *
 *      after:  mov   [rsp - 8], rcx          the program's return address is back in its place
 *              mov   r11, -address           (below 2 GB: lea rcx, [rcx - address] instead of both)
 *              lea   rcx, [rcx + r11]
 *              jrcxz hit
 *              jmp   other  ───> (cold) rcx += address; the lookup
 *         hit: mov   rcx, gs:[slot_rcx]
 *              mov   r11, gs:[slot_r11]
 *              (what follows the call)
 *
 * What is remembered is a guess: `after` looks whether it is right. The rotation drops the low
 * three bits where the address is scaled, so that a stack that is not aligned cannot mix two
 * entries. Only the eight bytes that the program's own call writes are written to its stack.
 *
 * Context: the dispatcher, under the engine's lock. */
#ifndef PENUMBRA_ENGINE_PAIRS_H
#define PENUMBRA_ENGINE_PAIRS_H

#include "engine/translate.h"

/* Looks at the processor and writes what all calls share. */
void pairs_prepare_as(struct engine *e);

/* From now on, if they are not yet: code made before is forgotten, so that it is made again. Does
 * nothing on processors without BMI2. */
void pairs_begin_as(struct engine *e);
/* Before a translation: is it time? */
void pairs_consider_as(struct engine *e);
/* A thread's returns, before it runs. */
void pairs_thread_as(const struct engine *e, struct engine_thread *t);

/* The end of a block, of an instruction of `size` bytes. Behind a call: the continuation's body is
 * to follow. */
void pairs_call_as(struct translation *x, uint32_t size);
/* rcx is the target, rcx and r11 are in the lookup's slots. */
void pairs_call_indirect_as(struct translation *x, uint32_t size);
void pairs_return_as(struct translation *x, uint32_t size);

/* No return arrives behind the block's call any more. */
void pairs_leave_as(struct engine *e, const struct block *block);

#endif
