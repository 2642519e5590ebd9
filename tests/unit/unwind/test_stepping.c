/* Unwinding checked at every instruction.
 *
 * A child runs code of real libraries (scenarios.c) under single-step. Its stack is memory shared
 * with this process, and all its images are mapped here at the same addresses, since it was forked
 * from here: so the unwinder runs here, on the child's registers, with its ordinary loads.
 *
 * The truth is a shadow stack, kept without any unwind information: a call instruction pushes an
 * entry, a delivered signal pushes two, and an entry is gone when rsp has risen above its slot. At
 * every instruction the whole chain (each frame's key and CFA) must equal the truth, by
 *
 *     walk with compiled tables, walk by the interpreter, and unwind_step_as with all registers,
 *     where rbx, rbp and r12 to r15 must have the values that they had at the call. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scenarios.h"
#include "self_index.h"
#include "sigsafe/key.h"
#include "unwind/cfi.h"

/* Every step is two switches between processes: on a busy machine those can take minutes. What was
 * checked by then must do. */
enum { STEPS_LEAST = 100000, SECONDS_MOST = 20 };
enum { STACK_SIZE = 1 << 20, DEPTH_MAX = 200, CALLEE_SAVED = 6, FULL_EVERY = 7, REPORTED = 40 };

static const int callee_saved[CALLEE_SAVED] = {UNWIND_RBX, UNWIND_RBP, UNWIND_R12,
                                               UNWIND_R13, UNWIND_R14, UNWIND_R15};

struct entry {
    uint64_t slot;    /* the entry is gone when rsp is above this */
    uint64_t cfa;     /* of the frame that runs on top of this entry */
    uint64_t caller;  /* the address at which the caller goes on */
    bool exact;       /* the caller was interrupted there */
    uint64_t saved[CALLEE_SAVED];
};

struct mode {
    const char *name;
    struct self_index self;
    struct unwind_thread thread;
};

/* Why .eh_frame and the truth differ at some instructions, by no fault of the unwinder. Each is a
 * property that is tested here, not a list of addresses. */
enum excuse {
    EXCUSE_NONE,
    /* Hand-written assembly whose FDE has no instruction at all, which says that rsp never moves,
     * although it does (glibc 2.36: the inner loops of multiple precision arithmetic). */
    EXCUSE_EMPTY,
    /* The end of longjmp: its CFI describes the context that it is about to switch to. */
    EXCUSE_SWITCH,
    /* The program itself has written another return address over the one that a call pushed
     * (_Unwind_RaiseException, on its way to the landing pad). */
    EXCUSE_REWRITTEN,
    EXCUSE_COUNT
};

struct tracer {
    pid_t child;
    struct entry entries[DEPTH_MAX];
    int depth;
    struct mode modes[2];
    struct unwind_thread step_thread;
    unsigned long steps, frames, full_chains, mismatches;
    uint64_t reported_functions[REPORTED];
    int reported;
    unsigned long excused[EXCUSE_COUNT];
};

static struct {
    uint64_t return_address, cfa;
} *base; /* shared: the child's first function */

static int child_main(void *argument)
{
    (void)argument;
    base->return_address = (uint64_t)__builtin_return_address(0);
    base->cfa = (uint64_t)__builtin_dwarf_cfa();
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    __asm__ volatile("int3");
    scenarios_run();
    __asm__ volatile("int3");
    _exit(0);
}

static struct unwind_regs regs_of(const struct user_regs_struct *u)
{
    return (struct unwind_regs){{u->rax, u->rdx, u->rcx, u->rbx, u->rsi, u->rdi, u->rbp, u->rsp,
                                 u->r8, u->r9, u->r10, u->r11, u->r12, u->r13, u->r14, u->r15,
                                 u->rip}};
}

static const char *image_name(const struct tracer *t, uint64_t pc, uint64_t *offset)
{
    const struct unwind_image *i = unwind_index_find_as(t->modes[0].self.index, pc);
    *offset = i ? pc - i->bias : pc;
    return i ? t->modes[0].self.names[i->number - 1] : "?";
}

static struct cfi_space space_of(const struct tracer *t, uint64_t pc)
{
    const struct unwind_image *i = unwind_index_find_as(t->modes[0].self.index, pc);
    return (struct cfi_space){(const uint8_t *)i->readable_lo, i->readable_hi - i->readable_lo,
                              i->readable_lo};
}

/* The FDE of pc, from its image's .eh_frame_hdr. */
static bool function_of(const struct tracer *t, uint64_t pc, struct cfi_fde *fde)
{
    const struct unwind_image *i = unwind_index_find_as(t->modes[0].self.index, pc);
    if (!i || !i->eh_frame_hdr)
        return false;
    struct cfi_space space = space_of(t, pc);
    return cfi_fde_find_as(&space, (uint64_t)i->eh_frame_hdr - i->readable_lo,
                           i->eh_frame_hdr_size, pc, fde) == CFI_OK;
}

/* True the first time that an address is added to a list of distinct ones. */
static bool note(uint64_t *list, int *count, uint64_t address)
{
    for (int i = 0; i < *count; i++)
        if (list[i] == address)
            return false;
    if (*count == REPORTED)
        return false;
    list[(*count)++] = address;
    return true;
}

static bool empty(struct cursor program)
{
    while (program.at != program.end)
        if (*program.at++ != 0)
            return false;
    return true;
}

static enum excuse excuse_of(const struct tracer *t, const struct unwind_regs *regs)
{
    struct cfi_fde fde;
    for (int i = 0; i < t->depth; i++) {
        const struct entry *e = &t->entries[i];
        if (!e->exact && *(const uint64_t *)e->slot != e->caller)
            return EXCUSE_REWRITTEN;
    }
    if (!function_of(t, regs->r[UNWIND_RIP], &fde))
        return EXCUSE_NONE;
    if (empty(fde.program) && regs->r[UNWIND_RSP] + 8 != t->entries[t->depth - 1].cfa)
        return EXCUSE_EMPTY;
    struct cfi_machine m = {.fde = fde};
    struct cfi_space space = space_of(t, regs->r[UNWIND_RIP]);
    if (cfi_machine_start_as(&m, &space) &&
        cfi_machine_seek_as(&m, regs->r[UNWIND_RIP]) == CFI_OK &&
        m.row.how[UNWIND_RIP] == HOW_REGISTER)
        return EXCUSE_SWITCH;
    return EXCUSE_NONE;
}

/* Whether rbx, rbp, r12 to r15 can be expected to be restored at pc: not in assembly with an empty
 * FDE, which uses them as it likes (OpenSSL's internal functions), and not while libgcc installs
 * the registers of a landing pad, which it does by overwriting the places where they are saved. */
static bool restores_registers(const struct tracer *t, uint64_t pc)
{
    struct cfi_fde fde;
    uint64_t offset;
    if (strstr(image_name(t, pc, &offset), "libgcc_s"))
        return false;
    return !function_of(t, pc, &fde) || !empty(fde.program);
}

static void mismatch(struct tracer *t, const struct unwind_regs *regs, const char *mode,
                     const char *what, int level, uint64_t got, uint64_t want)
{
    uint64_t offset, pc = regs->r[UNWIND_RIP];
    t->mismatches++;
    struct cfi_fde fde = {.lo = pc};
    function_of(t, pc, &fde);
    if (!note(t->reported_functions, &t->reported, fde.lo))
        return;
    const char *name = image_name(t, pc, &offset);
    fprintf(stderr, "%s+%#lx (rsp %#lx, true cfa %#lx): %s: %s of frame %d is %#lx, truth %#lx\n",
            name, offset, regs->r[UNWIND_RSP], t->entries[t->depth - 1].cfa, mode, what, level, got,
            want);
}

static uint64_t key_of(const struct mode *m, uint64_t pc, bool exact)
{
    uint64_t at = exact ? pc : pc - 1;
    const struct unwind_image *i = unwind_index_find_as(m->self.index, at);
    return i ? key_make(i->number, at - i->bias) : key_make(0, at);
}

static void check_walk(struct tracer *t, struct mode *m, const struct unwind_regs *regs)
{
    struct unwind_frame frames[DEPTH_MAX + 2];
    struct unwind_result r =
        unwind_walk_as(&m->thread, m->self.index, regs, frames, DEPTH_MAX + 2);
    uint64_t pc = regs->r[UNWIND_RIP];
    bool exact = true;
    for (int i = 0; i <= t->depth; i++) {
        if ((uint32_t)i == r.frames) {
            mismatch(t, regs, m->name, "end (truncation, depth)", i, r.truncation,
                     (uint64_t)t->depth);
            return;
        }
        uint64_t key = key_of(m, pc, exact);
        if (frames[i].key != key) {
            mismatch(t, regs, m->name, "key", i, frames[i].key, key);
            return;
        }
        if (i == t->depth)
            break;
        const struct entry *e = &t->entries[t->depth - 1 - i];
        if (frames[i].cfa != e->cfa) {
            mismatch(t, regs, m->name, "cfa", i, frames[i].cfa, e->cfa);
            return;
        }
        pc = e->caller;
        exact = e->exact;
        t->frames++;
    }
    if (r.truncation != TRUNC_NONE || r.guessed || r.images_missing)
        mismatch(t, regs, m->name, "truncation", t->depth, r.truncation, TRUNC_NONE);
}

/* All registers, `levels` frames up. */
static void check_steps(struct tracer *t, const struct unwind_regs *start, int levels)
{
    struct unwind_regs regs = *start;
    bool exact = true, root, guessed, registers = true;
    uint64_t cfa;
    for (int i = 0; i < levels; i++) {
        const struct entry *e = &t->entries[t->depth - 1 - i];
        registers = registers && restores_registers(t, regs.r[UNWIND_RIP] - !exact);
        enum truncation truncation = unwind_step_as(
            &t->step_thread, t->modes[1].self.index, &regs, &exact, &root, &cfa, &guessed);
        if (truncation != TRUNC_NONE || root || guessed) {
            mismatch(t, start, "step", "truncation", i, truncation, TRUNC_NONE);
            return;
        }
        if (cfa != e->cfa || regs.r[UNWIND_RIP] != e->caller || exact != e->exact) {
            mismatch(t, start, "step", "cfa", i, cfa, e->cfa);
            return;
        }
        for (int k = 0; registers && k < CALLEE_SAVED; k++) {
            if (regs.r[callee_saved[k]] != e->saved[k]) {
                mismatch(t, start, "step", "a callee-saved register", i, regs.r[callee_saved[k]],
                         e->saved[k]);
                return;
            }
        }
    }
}

/* Whether the instruction at pc is a call: prefixes, then e8 or ff /2. */
static bool is_call(uint64_t pc)
{
    const uint8_t *code = (const uint8_t *)pc;
    while ((*code & 0xf0) == 0x40 || *code == 0xf2 || *code == 0x3e || *code == 0x66)
        code++;
    return *code == 0xe8 || (*code == 0xff && (code[1] >> 3 & 7) == 2);
}

static void push(struct tracer *t, struct entry e, const struct unwind_regs *regs)
{
    if (t->depth == DEPTH_MAX) {
        fprintf(stderr, "the shadow stack is too small\n");
        exit(1);
    }
    for (int k = 0; k < CALLEE_SAVED; k++)
        e.saved[k] = regs->r[callee_saved[k]];
    t->entries[t->depth++] = e;
}

static void pop_above(struct tracer *t, uint64_t rsp)
{
    while (t->depth > 0 && t->entries[t->depth - 1].slot < rsp)
        t->depth--;
}

/* The truth after one step from `before` to `after`. delivered: a signal came between. */
static void follow(struct tracer *t, const struct unwind_regs *before,
                   const struct unwind_regs *after, bool delivered)
{
    uint64_t rsp = after->r[UNWIND_RSP];
    if (delivered) {
        uint64_t interrupted = before->r[UNWIND_RSP];
        push(t, (struct entry){interrupted - 8, interrupted, before->r[UNWIND_RIP], true, {0}},
             before);
        push(t, (struct entry){rsp, rsp + 8, *(uint64_t *)rsp, false, {0}}, after);
        return;
    }
    if (is_call(before->r[UNWIND_RIP]) && rsp == before->r[UNWIND_RSP] - 8) {
        push(t, (struct entry){rsp, rsp + 8, *(uint64_t *)rsp, false, {0}}, before);
        return;
    }
    pop_above(t, rsp);
}

static void check(struct tracer *t, const struct unwind_regs *regs)
{
    t->steps++;
    enum excuse excuse = excuse_of(t, regs);
    t->excused[excuse]++;
    if (excuse != EXCUSE_NONE)
        return;
    check_walk(t, &t->modes[0], regs);
    check_walk(t, &t->modes[1], regs);
    if (t->steps % FULL_EVERY == 0) {
        t->full_chains++;
        check_steps(t, regs, t->depth);
    } else {
        check_steps(t, regs, 1);
    }
}

/* Runs the child to its next stop. Returns the stop signal, 0 when it has ended. */
static int resume(struct tracer *t, int deliver, struct unwind_regs *regs)
{
    int status;
    struct user_regs_struct u;
    if (ptrace(PTRACE_SINGLESTEP, t->child, NULL, (void *)(intptr_t)deliver) != 0 ||
        waitpid(t->child, &status, 0) != t->child || !WIFSTOPPED(status) ||
        ptrace(PTRACE_GETREGS, t->child, NULL, &u) != 0)
        return 0;
    *regs = regs_of(&u);
    return WSTOPSIG(status);
}

static void trace(struct tracer *t)
{
    struct unwind_regs before, after;
    struct user_regs_struct u;
    int status, deliver = 0;
    waitpid(t->child, &status, 0);
    ptrace(PTRACE_GETREGS, t->child, NULL, &u);
    before = regs_of(&u);
    push(t, (struct entry){base->cfa - 8, base->cfa, base->return_address, false, {0}}, &before);
    /* What clone's caller had in its registers is not known: take what CFI says, once. */
    struct unwind_regs outermost = before;
    bool exact = true, root, guessed;
    uint64_t cfa;
    unwind_step_as(&t->step_thread, t->modes[1].self.index, &outermost, &exact, &root, &cfa,
                   &guessed);
    for (int k = 0; k < CALLEE_SAVED; k++)
        t->entries[0].saved[k] = outermost.r[callee_saved[k]];
    time_t begin = time(NULL);
    while (t->steps < STEPS_LEAST || time(NULL) - begin < SECONDS_MOST) {
        int stop = resume(t, deliver, &after);
        if (stop == 0 || *(const uint8_t *)before.r[UNWIND_RIP] == 0xcc)
            break; /* the second int3 */
        if (stop != SIGTRAP) {
            deliver = stop; /* not a step: the same instruction again, with the signal */
            before = after;
            continue;
        }
        follow(t, &before, &after, deliver != 0);
        deliver = 0;
        check(t, &after);
        before = after;
    }
    kill(t->child, SIGKILL);
    waitpid(t->child, &status, 0);
}

static void stay_on_one_cpu(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)sched_getcpu(), &set);
    sched_setaffinity(0, sizeof set, &set);
}

int main(void)
{
    static struct tracer t = {.modes = {{.name = "tables"}, {.name = "interpreter"}}};
    uint8_t *stack =
        mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    base = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    scenarios_prepare();
    for (int i = 0; i < 2; i++) {
        t.modes[i].self = self_index_build(i == 0);
        t.modes[i].thread.stack_lo = (uint64_t)stack;
        t.modes[i].thread.stack_hi = (uint64_t)stack + STACK_SIZE;
    }
    t.step_thread.stack_lo = (uint64_t)stack;
    t.step_thread.stack_hi = (uint64_t)stack + STACK_SIZE;
    stay_on_one_cpu();
    /* The top 4096 bytes stay unused: what a bad CFA reads is still this stack. */
    t.child = clone(child_main, stack + STACK_SIZE - 4096, SIGCHLD, NULL);
    if (t.child < 0) {
        perror("clone");
        return 1;
    }
    trace(&t);
    printf("%lu instructions, %lu frames compared, %lu full chains with all registers, "
           "%lu mismatches in %d functions\n",
           t.steps, t.frames, t.full_chains, t.mismatches, t.reported);
    unsigned long excused = t.steps - t.excused[EXCUSE_NONE];
    printf("not compared: %lu in functions with an empty FDE that moves rsp, %lu in longjmp's last "
           "instructions, %lu where the program has replaced a return address\n",
           t.excused[EXCUSE_EMPTY], t.excused[EXCUSE_SWITCH], t.excused[EXCUSE_REWRITTEN]);
    return t.mismatches != 0 || t.steps < STEPS_LEAST || excused > t.steps / 100;
}
