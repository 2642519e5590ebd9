/* Offsets of struct engine_thread that translated code and switch.S use, relative to the GS base.
 * thread.h asserts each of them.
 *
 *      0 gpr[16]      the program's general registers while the engine's own code runs,
 *                     in the order of their encoding: rax rcx rdx rbx rsp rbp rsi rdi r8 ... r15
 *    128 rip, rflags
 *    144 slots        the program's value of a register that translated code borrows
 *    192 stolen       the program's r15 while a tool set steals r15
 *    200 ...          exits, entries, stacks
 *   4096 -------      (page) below: the engine's stack, growing down from `stack_top`; a guard
 *                     page; returns[], by the stack pointer
 *
 * Context: constants only; also read by the assembler. */
#ifndef PENUMBRA_ENGINE_THREAD_LAYOUT_H
#define PENUMBRA_ENGINE_THREAD_LAYOUT_H

#define ENGINE_T_GPR 0
#define ENGINE_T_RIP 128
#define ENGINE_T_RFLAGS 136
#define ENGINE_T_SLOT_RCX 144 /* lookups, budget: the program's rcx */
#define ENGINE_T_SLOT_R11 152 /* lookups: the program's r11 */
#define ENGINE_T_SLOT_A 160   /* rewritten instructions: first borrowed register */
#define ENGINE_T_SLOT_B 168   /* second */
#define ENGINE_T_SLOT_HOOK 176 /* counters where the flags are live */
#define ENGINE_T_SLOT_LINK 184 /* inline calls of hooks: r11 */
#define ENGINE_T_STOLEN 192
#define ENGINE_T_EXIT 200      /* number of the exit that was taken */
#define ENGINE_T_STATE 204     /* enum engine_state */
#define ENGINE_T_SELF 208
#define ENGINE_T_STACK_TOP 216
#define ENGINE_T_NEXT 224      /* cache address that is entered next */
#define ENGINE_T_PENDING 232   /* 32 bits, not 0: look before the cache is entered */
#define ENGINE_T_HOOK_ACTION 236 /* 32 bits, not 0: what to do instead of going on behind a hook */
#define ENGINE_T_BUDGET 240
#define ENGINE_T_EXIT_ENTRY 248   /* switch.S: where the cache leaves to */
#define ENGINE_T_LOOKUP_ENTRY 256
#define ENGINE_T_HOOK_ENTRY 264
#define ENGINE_T_HOST_RSP 272     /* engine_run_as: the caller's stack pointer */
#define ENGINE_T_HOST_GS 280      /* GS base to restore on the way out */
#define ENGINE_T_LEAVE 288        /* this thread's way to native code (in the cache) */
#define ENGINE_T_RING 296         /* r15 of translated code: the program's, or a tool's pointer */
#define ENGINE_T_ALT_LO 304       /* the program's alternate signal stack while it runs on it */
#define ENGINE_T_ALT_SIZE 312     /* 0: it has none */
#define ENGINE_T_MASK 320         /* signal mask to restore before the program goes on, if ... */
#define ENGINE_T_MASK_CHANGED 328 /* (32 bits) is not 0 */
#define ENGINE_T_HOOK_INDIRECT_ENTRY 336
#define ENGINE_T_TIME 344         /* hooks that time: the stamp before, then the difference */
#define ENGINE_T_TIME_END 352     /* the stamp behind */
#define ENGINE_T_TIME_RAX 360     /* the program's rax and rdx while a stamp is taken */
#define ENGINE_T_TIME_RDX 368
#define ENGINE_T_SITE 376 /* (32 bits) which indirect end calls a hook for its target (target.c) */
#define ENGINE_T_MASK_BEFORE 392 /* the mask right before signals were blocked on the way out */
#define ENGINE_T_LINE 400     /* tools', for their own code in the cache (hook_line.h): ... */
#define ENGINE_T_LINES 4      /* ... so many words */
#define ENGINE_T_FLOOR 432  /* watches (tools/inline): of returns */
#define ENGINE_T_WATCH 440  /* 256 bytes: of memory */
#define ENGINE_T_ALARM 696  /* of executed instructions */
#define ENGINE_T_WATCHING 704 /* (8 bits) of blocks with two copies: which one */
#define ENGINE_T_STACK_SIZE (64 << 10) /* of the engine's stack, below the thread area */
#define ENGINE_T_RETURNS_SIZE (64 << 10)
#define ENGINE_T_RETURNS (-(64 + 4 + 64) * 1024) /* where calls return to (pairs.h) */
#define ENGINE_T_TARGETS_SIZE (1 << 20) /* only for tools that count targets (target.c) */
#define ENGINE_T_TARGETS (ENGINE_T_RETURNS - ENGINE_T_TARGETS_SIZE)
#define ENGINE_T_SIZE 4096        /* bytes from the GS base to the counter window */

#endif
