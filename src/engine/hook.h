/* What a tool is: it looks at each block once, when its translation is made, and asks for hooks.
 * Hooks are compiled into the translation.
 *
 *     HOOK_ENTRY ──> insn 0 ──HOOK_BEFORE 1──> insn 1 ──HOOK_AFTER 1──> ... end ──┬─HOOK_TAKEN──>
 *                                                                               └─HOOK_FALL───>
 *     indirect end: HOOK_INDIRECT, with the target that was computed
 *
 *     count    an inlined addition to one of the thread's counters (the window behind the thread area)
 *     append   an inlined store at r15, the thread's ring (ring.h): the tool set steals r15
 *     lead     an inlined look whether the C function has to be called (lead.c)
 *     gate     an inlined look whether this execution of the block is to be observed (gate.c)
 *     watch    an inlined look whether memory that an instruction accesses is to be looked at (watch.c)
 *     call     a C function, on the engine's stack, with the program's registers in struct
 *              engine_thread
 *     time     two time stamps, right before and right behind one instruction
 *
 * Where r15 is stolen called hooks find the program's in t->stolen (hook_register). What has been appended is handed
 * to the tool's `flush`.
 *
 * Hooks change no flag and no register of the program. What they cost is decided by liveness: a counter
 * where the flags are dead is one instruction.
 *
 * Context: `block` is called by the dispatcher under the engine's lock, so for one block at a time. It
 * may not block, and uses what _as functions may use. Called hooks run in the thread concerned, at any
 * time, without a lock. Neither may touch vector registers.
 * Ownership: all pointers in struct hook_block are valid during the call only. */
#ifndef PENUMBRA_ENGINE_HOOK_H
#define PENUMBRA_ENGINE_HOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/thread.h"
#include "sigsafe/spool_counts.h"

struct x86_insn; /* x86/insn.h */

/* How a block ends. */
enum block_end {
    END_FALL,        /* cut: goes on with the next instruction */
    END_JUMP,        /* jmp rel */
    END_BRANCH,      /* jcc, loop, jrcxz: `taken` or `next` */
    END_CALL,        /* call rel */
    END_JUMP_INDIRECT,
    END_CALL_INDIRECT,
    END_RETURN,
    END_SYSCALL,
    END_STOP,        /* the engine stops before the instruction at `next` */
};

struct hook_block {
    uint64_t pc;      /* of its first instruction */
    uint64_t next;    /* behind its last */
    uint64_t taken;   /* target of a direct jump, branch or call; else 0 */
    uint32_t count;   /* instructions, the last one included; 0 only with END_STOP */
    enum block_end end;
    uint32_t number;  /* of the block: dense, from 1 */
    bool gate;        /* it can have one (hook_gate_as): a run that may see only a part, of code that stays as it is */
    bool observed;    /* it is asked about again: what is behind the gate that it has been given, with the argument `gated` */
    uint64_t gated;
    const struct x86_insn *insns;
    const uint8_t *const *code; /* the bytes of each, not where the program has them */
};

struct hooks; /* what has been asked for */
enum { HOOKS_MOST = 1024 /* of a block, or as many as there is room for their code */, HOOK_CALL_APPENDS = 192 };

/* Where what is in a lead's argument begins; its id is the low 32 bits. Registers are the general ones, and of xmm0 to
 * xmm15 the low and the upper 8 bytes. */
enum { HOOK_LEAD_REGISTER = 32, HOOK_LEAD_WIDTH = 40, HOOK_LEAD_XMM = 16, HOOK_LEAD_XMM_UPPER = 32 };
static inline unsigned hook_lead_register(uint64_t argument)
{
    return argument >> HOOK_LEAD_REGISTER & 63;
}
static inline unsigned hook_lead_width(uint64_t argument)
{
    return argument >> HOOK_LEAD_WIDTH & 15;
}

enum hook_point {
    HOOK_ENTRY,    /* before the first instruction */
    HOOK_BEFORE,   /* before instruction `index` */
    HOOK_AFTER,    /* after instruction `index`, which is not the last */
    HOOK_TAKEN,    /* on the way to `taken`, of END_BRANCH, END_JUMP, END_CALL */
    HOOK_FALL,     /* on the way to `next`, of END_BRANCH, END_FALL */
    HOOK_INDIRECT, /* after the target of an indirect end is known, before it is reached */
};

/* `value`: the target, at HOOK_INDIRECT; else 0. rip is not filled; rsp is the program's: at HOOK_TAKEN
 * and HOOK_INDIRECT the return address of a call is pushed, that of a return popped. */
typedef void hook_function(struct engine_thread *t, uint64_t argument, uint64_t value);

/* Each returns false when the block has no room for more hooks; then the tools are asked again about
 * about half of it. Hooks at the same point run in the order in which they were asked for. */
bool hook_count_as(struct hooks *h, enum hook_point point, uint32_t index, uint32_t counter,
                   uint32_t amount);
/* Stores the low `size` (4 or 8) bytes of a constant, or of a register as it is at that point. */
bool hook_append_constant_as(struct hooks *h, enum hook_point point, uint32_t index, uint64_t value,
                             uint32_t size);
bool hook_append_register_as(struct hooks *h, enum hook_point point, uint32_t index,
                             enum engine_register reg, uint32_t size);
bool hook_call_as(struct hooks *h, enum hook_point point, uint32_t index, hook_function *function,
                  uint64_t argument);
/* The same for tools that append: the function may, at most HOOK_CALL_APPENDS bytes. */
bool hook_call_appending_as(struct hooks *h, enum hook_point point, uint32_t index,
                            hook_function *function, uint64_t argument);
/* Appends so many bytes, a multiple of 4, for the caller to fill in; once in a call. */
void *hook_append_as(struct engine_thread *t, const struct tool *tool, uint32_t size);
/* For tools with TOOL_LEADS: a function that is called only now and then. One is taken off `left` of the thread's lead
 * of that id (struct counts_lead); if it is below 0 then, and the low `width` bytes (1, 2, 4, 8) of the register are not
 * those of `bits`, the function is called, with this argument. If the tool has a struct tool_line,
 * the call of a register of 4 or 8 bytes is made through its first entry: gs:[slot_hook] is the register then. So it is of
 * vector registers, which are for tools with a struct tool_line only. */
bool hook_lead_as(struct hooks *h, enum hook_point point, uint32_t index, hook_function *function, uint64_t argument);
static inline uint64_t hook_lead_argument(uint32_t id, unsigned reg, uint32_t width)
{
    return id | (uint64_t)reg << HOOK_LEAD_REGISTER | (uint64_t)width << HOOK_LEAD_WIDTH;
}
/* For tools with TOOL_LEADS, as the last hook at HOOK_ENTRY of a block that can have it, which gets no others but those before it:
 * one is taken off `left` of the thread's gate (struct counts_gate) of the id that the argument begins with; if it is not
 * below 0 then, the block is executed without hooks. Else one is taken off `asked`, and if that was 0, the function is called, which
 * sets both anew, and the gate is looked at once more: so the first time, since all is 0. Else the block is executed
 * with the hooks that the tool asks for when it is asked about the block again: when this happens first. */
bool hook_gate_as(struct hooks *h, hook_function *function, uint64_t argument);
/* The next three are for a tool with TOOL_WATCHES, which t->watch, t->floor and t->alarm belong to.
 *
 * Before the instruction, the function is called if the address of this operand (a number in
 * x86_memory_as's list), without what FS adds, lies in a part that the thread watches: if byte
 * hook_watch_part(address) of t->watch is not 0. It is always called where the address cannot be
 * formed in line (vectors, segments, 32 bits, r15 where it is stolen). t->watch is all 0 at first. */
bool hook_watch_as(struct hooks *h, uint32_t index, unsigned operand, hook_function *function,
                   uint64_t argument);
enum { HOOK_WATCH_PARTS = 256, HOOK_WATCH_BYTES = 256 };
static inline unsigned hook_watch_part(uint64_t address)
{
    return address / HOOK_WATCH_BYTES % HOOK_WATCH_PARTS;
}
/* Before instruction `index`, a return: the function is called if the stack pointer is above ~t->floor, which the tool
 * sets when its thread begins. */
enum { HOOK_FLOOR_BITS = 55 }; /* ~floor is below 2 to this */
bool hook_watch_return_as(struct hooks *h, uint32_t index, hook_function *function, uint64_t argument);
/* At HOOK_ENTRY: `amount` is taken off t->alarm; if it is below 0 then, the function is called, which sets it anew. */
bool hook_alarm_as(struct hooks *h, uint32_t amount, hook_function *function, uint64_t argument);
/* At an indirect end, for tools with TOOL_TARGETS: adds to the counter that the thread remembers for this end and
 * target. Where it remembers none, `miss` is called as by hook_call_as, which counts this time itself and may say
 * by hook_target_remember_as what the counter is. */
bool hook_count_target_as(struct hooks *h, hook_function *miss, uint64_t argument);
void hook_target_remember_as(struct engine_thread *t, uint64_t target, uint32_t counter);
/* Times instruction `index`, which does not end the block: inside all hooks before and after it, the time
 * stamp counter is read when all that comes before has finished, and again when the instruction has.
 * The difference, in ticks, with what measuring costs (as many ticks as an instruction that does
 * nothing shows), is in t->time for hooks after the instruction. */
bool hook_time_as(struct hooks *h, uint32_t index);

/* A counter for the thing; its id, or COUNTS_NONE when there is no more room: then the block is not
 * translated, and the engine stops there. */
uint32_t hook_counter_make_as(struct hooks *h, const struct spool_thing *thing);
/* An id without a counter, for tools that only name things: the thing's, if it is known. */
uint32_t hook_thing_make_as(struct hooks *h, const struct spool_thing *thing);
/* One of its own: for things with more to them than their record says. */
uint32_t hook_thing_new_as(struct hooks *h, const struct spool_thing *thing);
/* The block shall not be translated: the tool has no room for it. The engine stops there. */
void hook_refuse_as(struct hooks *h);
/* The same for an edge that is met when it is executed, by the tool of that kind; for called hooks. */
uint32_t hook_edge_make_as(struct engine_thread *t, uint32_t kind, uint64_t from, uint64_t to);
/* The key (sigsafe/key.h) of an address in the program. */
uint64_t hook_key_as(const struct hooks *h, uint64_t address);
uint64_t hook_key_late_as(struct engine_thread *t, uint64_t address); /* for called hooks */
/* Memory that all who run the engine's code see, whatever their process, zero at first: struct
 * tool.common_size bytes of it, or fewer where the program's address space is limited. What `block` has written there
 * is seen by the hooks that it asked for. NULL: it ends before offset + size. */
void *hook_common_as(const struct hooks *h, uint64_t offset, uint64_t size);
void *hook_common(const struct engine_thread *t, uint32_t kind);
/* Where the tool keeps what it keeps in the spool; NULL: nowhere. */
const struct spool *hook_spool(const struct engine_thread *t);
/* The process's counts there, or NULL; others in a forked child. */
struct spool_counts *hook_counts(const struct engine_thread *t);
/* The return address of the procedure that the thread is in, before the instruction at pc; 0: not known. For
 * called hooks. */
uint64_t hook_caller_as(struct engine_thread *t, uint64_t pc);
/* The spool had no room: true if the collector was given time to make some, and it is worth another try. Whole
 * runs and shadows can wait, and not for ever: after hook_waited the time begins anew. */
bool hook_wait_as(struct engine_thread *t);
void hook_waited(struct engine_thread *t);
/* The address is in the profiler's own image. The tool is asked about blocks there only if it is TOOL_OWN. */
bool hook_is_own(const struct engine_thread *t, uint64_t address);
/* True if runs begin and end anywhere (bursts, shadows), false if the whole run is observed. */
bool hook_is_sampled(const struct engine_thread *t);
/* Of these, bursts: the thread goes on natively afterwards. */
bool hook_is_burst(const struct engine_thread *t);

/* For called hooks: the program's register. */
uint64_t hook_register(const struct engine_thread *t, unsigned reg);
/* For flush: so many instructions are behind the records, those included that hooks counted at the blocks' entry. A loose
 * budget is less by as many. */
void hook_executed(struct engine_thread *t, uint64_t instructions);

/* For hooks called before an instruction, with engine_config.late: true if it lies behind the budget, and is to
 * be observed. Else it is counted. */
static inline bool hook_is_late(struct engine_thread *t)
{
    if (t->budget > 0) {
        t->budget--;
        return false;
    }
    t->observed++;
    return true;
}
/* For hooks before an instruction and HOOK_INDIRECT, as the last that they do: the thread stops before the
 * instruction at pc, its budget used up. Not of tools that append. */
void hook_stop_as(struct engine_thread *t, uint64_t pc);

/* A call of `function` as by hook_call_as, but through the tool's own code first: entry `which` of its struct tool_line,
 * which may do what the function would, and go on behind the two words that r11 points to, {function, argument}; or
 * go to the function by the thread's hook_entry (direct) or hook_indirect_entry, with all registers but r11 and
 * all flags as they came. gs:[rip] is where the transfer goes; at HOOK_INDIRECT rcx is it too, and rcx and r11 are
 * free; at HOOK_TAKEN r11 is to be loaded from gs:[slot_link]. */
bool hook_line_as(struct hooks *h, enum hook_point point, unsigned which, hook_function *function,
                  uint64_t argument);

/* Code that is copied into the code cache: position-independent, without a stack, and it cannot fault. */
enum { TOOL_LINES = 3 };
struct tool_line {
    const uint8_t *begin, *end;
    const uint8_t *entries[TOOL_LINES];
};

/* struct tool.flags */
enum {
    TOOL_STEALS_R15 = 1,
    TOOL_SHARED = 2, /* all that its hooks need is in their arguments, in counters, in the spool and in the
                        thread: code that one process has made may run in another (engine_config.shared) */
    TOOL_TARGETS = 4, /* uses hook_count_target_as */
    TOOL_LEADS = 8, /* uses hook_lead_as: its counters have a second word each */
    TOOL_CONTEXT = 128, /* what it observes in bursts belongs to the calling context of the sample, and is
                           not taken for more than a share of CPU time */
    TOOL_OWN = 64, /* is asked about the profiler's own code, too */
    TOOL_WATCHES = 256, /* uses hook_watch_as, hook_watch_return_as or hook_alarm_as: one tool of a set at most */
    TOOL_DEAD = 512, /* looks at registers and flags that the program does not read any more: hooks of other tools
                        keep them */
    TOOL_LOOSE = 32, /* can do with a budget that is not exact, though that takes r15 (hook_register). If it
                        appends, its flush says what was executed (hook_executed) */
};

struct tool {
    uint32_t flags;
    const struct tool_line *line; /* NULL: none */
    uint64_t common_size; /* hook_common_as */
    /* Asks for the hooks of one block that is about to be made. */
    void (*block)(const struct hook_block *block, struct hooks *h);
    /* A thread area is made (or used again), and given back; either may be NULL. False: no memory. */
    bool (*thread_begin)(struct engine_thread *t);
    void (*thread_end)(struct engine_thread *t);
    /* What the thread has appended since the last time, in the order of execution, whole blocks: when
     * the ring is full, before each system call, and when the thread stops, is given back, or ends.
     * Then `ends` is set (there may be no records, and it may come twice): what it does next, if
     * anything, is somewhere else. A forked child begins with an empty ring. Called without the lock, on
     * the engine's stack or, where a fault ends a burst, on a signal handler's: little of it is there.
     * NULL: records are thrown away. */
    void (*flush)(struct engine_thread *t, const uint8_t *records, uint64_t size, bool ends);
    /* A burst begins at t->rip: after `skip` instructions, `length` more are to be observed. It ends, before
     * the instruction at t->rip, whether they all were executed or not. Either may be NULL: a tool
     * that observes whatever is executed. */
    void (*burst_begin)(struct engine_thread *t, uint32_t skip, uint64_t length);
    void (*burst_end)(struct engine_thread *t);
    /* Of whole runs: a handler of the program is about to begin, at t->rip, its return address at t->gpr[ENGINE_RSP]; it
     * interrupts the program before the instruction at pc. In the signal handler of the thread, on the engine's stack, without
     * the lock. May be NULL. */
    void (*interrupted)(struct engine_thread *t, uint64_t pc);
};

/* The thread's counter, as translated code adds to it. */
static inline uint64_t *hook_counter(struct engine_thread *t, uint32_t counter)
{
    return (uint64_t *)(void *)((uint8_t *)t + ENGINE_T_SIZE + (uint64_t)counter * t->counter_size);
}
/* Of tools with TOOL_LEADS; of one id, the one or the other. */
static inline struct counts_lead *hook_lead(struct engine_thread *t, uint32_t id)
{
    return (struct counts_lead *)(void *)((uint8_t *)t + ENGINE_T_SIZE) + id;
}
static inline struct counts_gate *hook_gate(struct engine_thread *t, uint32_t id)
{
    return (struct counts_gate *)(void *)hook_lead(t, id);
}

#endif
