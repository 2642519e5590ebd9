/* What one sample touches: `bench-sample TID [SAMPLES [EVERY]]`.
 *
 * Steps a thread that is being sampled through its signal handler, from the first instruction to
 * the system call that returns, and counts instructions, system calls, and the cache lines and
 * pages of code and data in between. At a thousand samples a second the program has pushed all of
 * them out of the caches: a sample costs by these. Counts do not depend on what else the machine
 * does. The kernel's own part is the same for any handler and is not seen.
 *
 *     penumbra record -- PROGRAM &  or, for the floor:  LD_PRELOAD=bench-empty-handler.so PROGRAM &
 *     bench-sample TID
 *
 * One signal in EVERY (16) is stepped, because a stepped one takes long, which the runtime notices
 * when it happens again and again. Prints medians; before them, with SAMPLE_TRACE in the
 * environment, each instruction's address (I), those of the data that it reads or writes (D), the
 * numbers of system calls (C), and a line `S` behind each sample. */
#include <Zydis/Zydis.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

enum { CODE_TRAP_PERF = 6, STEPS_MAX = 1000000, LINES_MAX = 4096, SAMPLES_MAX = 4096, LINE = 64,
      PAGE = 4096 };

/* A set of lines or pages. */
struct set {
    unsigned count;
    uint64_t member[LINES_MAX];
};

enum { INSTRUCTIONS, CALLS, CODE_LINES, DATA_LINES, CODE_PAGES, DATA_PAGES, MEASURES };
static const char *const names[MEASURES] = {"instructions", "system calls", "code lines",
                                            "data lines",   "code pages",   "data pages"};

struct sample {
    struct set code_lines, data_lines, code_pages, data_pages;
    unsigned instructions, calls;
};

static ZydisDecoder decoder;
static bool trace;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "sample: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void add(struct set *s, uint64_t member)
{
    for (unsigned i = 0; i < s->count; i++)
        if (s->member[i] == member)
            return;
    if (s->count < LINES_MAX)
        s->member[s->count++] = member;
}

static void touch(struct set *lines, struct set *pages, uint64_t address, uint64_t size)
{
    for (uint64_t at = address / LINE; at <= (address + size - 1) / LINE; at++)
        add(lines, at);
    add(pages, address / PAGE);
    add(pages, (address + size - 1) / PAGE);
}

static void registers_set(ZydisRegisterContext *c, const struct user_regs_struct *r, uint64_t rip)
{
    static const ZydisRegister which[] = {
        ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_RBX, ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_RDX,
        ZYDIS_REGISTER_RSI, ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RBP, ZYDIS_REGISTER_RSP,
        ZYDIS_REGISTER_R8,  ZYDIS_REGISTER_R9,  ZYDIS_REGISTER_R10, ZYDIS_REGISTER_R11,
        ZYDIS_REGISTER_R12, ZYDIS_REGISTER_R13, ZYDIS_REGISTER_R14, ZYDIS_REGISTER_R15};
    const uint64_t values[] = {r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp, r->rsp,
                               r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};
    memset(c, 0, sizeof *c);
    for (unsigned i = 0; i < sizeof which / sizeof *which; i++)
        c->values[which[i]] = values[i];
    c->values[ZYDIS_REGISTER_RIP] = rip;
}

/* Adds what the next instruction touches. True if it is a system call. */
static bool instruction_add(struct sample *s, pid_t tid, const struct user_regs_struct *r)
{
    uint8_t bytes[16];
    struct iovec here = {bytes, sizeof bytes}, there = {(void *)(uintptr_t)r->rip, sizeof bytes};
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
    ZydisRegisterContext context;
    if (process_vm_readv(tid, &here, 1, &there, 1, 0) != sizeof bytes)
        fail("reading code");
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, sizeof bytes, &in, operand)))
        fail("decoding");
    registers_set(&context, r, r->rip); /* Zydis adds the instruction's length itself */
    s->instructions++;
    touch(&s->code_lines, &s->code_pages, r->rip, in.length);
    if (trace)
        printf("I %" PRIx64 "\n", (uint64_t)r->rip);
    for (unsigned i = 0; i < in.operand_count; i++) {
        ZyanU64 address;
        if (operand[i].type != ZYDIS_OPERAND_TYPE_MEMORY ||
            operand[i].mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
            !(operand[i].actions &
              (ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_MASK_WRITE)) ||
            !ZYAN_SUCCESS(ZydisCalcAbsoluteAddressEx(&in, &operand[i], r->rip, &context, &address)))
            continue;
        if (operand[i].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
            operand[i].mem.base == ZYDIS_REGISTER_RSP &&
            operand[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
            address -= operand[i].size / 8; /* pushed below */
        touch(&s->data_lines, &s->data_pages, address,
              operand[i].size / 8 ? operand[i].size / 8 : 1);
        if (trace)
            printf("D %" PRIx64 "\n", (uint64_t)address);
    }
    return in.mnemonic == ZYDIS_MNEMONIC_SYSCALL;
}

static bool wait_stopped(pid_t tid, int *signal)
{
    int status;
    if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
        return false;
    *signal = WSTOPSIG(status);
    return true;
}

/* One instruction, or with a signal to its handler's first. Samples that come meanwhile are
 * forgotten. */
static bool step(pid_t tid, int signal)
{
    siginfo_t info;
    do {
        if (ptrace(PTRACE_SINGLESTEP, tid, 0, (long)signal) != 0 || !wait_stopped(tid, &signal) ||
            ptrace(PTRACE_GETSIGINFO, tid, 0, &info) != 0)
            return false;
        signal = 0;
    } while (info.si_code == CODE_TRAP_PERF);
    return true;
}

/* To the kernel a step in a handler for SIGTRAP is a SIGTRAP that comes while it is blocked: it
 * makes the default the action, which would end the program. So the thread, about to execute the
 * system call that returns from the handler that began with the registers *entry, first executes
 * one that makes the handler the action again. */
static bool action_restore(pid_t tid, const struct user_regs_struct *entry,
                           const struct user_regs_struct *now)
{
    enum { SA_RESTORER_FLAG = 0x04000000, RT_SIGACTION = 13, SET_SIZE = 8, BELOW = 512 };
    struct {
        uint64_t handler, flags, restorer, mask;
    } action = {entry->rip, SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_RESTORER_FLAG, 0,
                ~UINT64_C(0)};
    struct user_regs_struct r = *now;
    r.rax = r.orig_rax = RT_SIGACTION;
    r.rdi = SIGTRAP;
    r.rsi = (r.rsp - BELOW) & ~(uint64_t)15;
    r.rdx = 0;
    r.r10 = SET_SIZE;
    struct iovec here = {&action, sizeof action}, there = {(void *)(uintptr_t)r.rsi, sizeof action};
    struct iovec to = {&action.restorer, 8}, from = {(void *)(uintptr_t)entry->rsp, 8};
    return process_vm_readv(tid, &to, 1, &from, 1, 0) == 8 &&
           process_vm_writev(tid, &here, 1, &there, 1, 0) == sizeof action &&
           ptrace(PTRACE_SETREGS, tid, 0, &r) == 0 && step(tid, 0) &&
           ptrace(PTRACE_GETREGS, tid, 0, &r) == 0 && r.rax == 0 &&
           ptrace(PTRACE_SETREGS, tid, 0, now) == 0;
}

/* From the signal's delivery to its return. False: the thread is gone. */
static bool sample_step(struct sample *s, pid_t tid)
{
    enum { RT_SIGRETURN = 15 };
    struct user_regs_struct r, entry;
    memset(s, 0, sizeof *s);
    for (unsigned i = 0; i < STEPS_MAX; i++) {
        if (!step(tid, i ? 0 : SIGTRAP) || ptrace(PTRACE_GETREGS, tid, 0, &r) != 0)
            return false;
        if (i == 0)
            entry = r;
        if (instruction_add(s, tid, &r)) {
            if (r.rax == RT_SIGRETURN)
                return action_restore(tid, &entry, &r);
            s->calls++;
            if (trace)
                printf("C %llu\n", (unsigned long long)r.rax);
        }
    }
    return false;
}

/* Runs on with `signal` to the next sample's. False: the thread is gone. */
static bool sample_wait(pid_t tid, int signal)
{
    for (;;) {
        siginfo_t info;
        if (ptrace(PTRACE_CONT, tid, 0, (long)signal) != 0 || !wait_stopped(tid, &signal))
            return false;
        if (ptrace(PTRACE_GETSIGINFO, tid, 0, &info) != 0 || info.si_code >> 8) {
            signal = 0; /* a stop that is no signal's */
            continue;
        }
        if (signal == SIGTRAP && info.si_code == CODE_TRAP_PERF)
            return true;
        if (signal == SIGTRAP)
            signal = 0; /* the last step's */
    }
}

static int compare(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

static void medians(unsigned (*found)[SAMPLES_MAX], unsigned samples)
{
    for (unsigned i = 0; i < MEASURES; i++) {
        qsort(found[i], samples, sizeof **found, compare);
        printf("%-14s %6u (%u..%u)\n", names[i], found[i][samples / 2], found[i][samples / 10],
               found[i][samples * 9 / 10]);
    }
}

static void sample_keep(const struct sample *s, unsigned (*found)[SAMPLES_MAX], unsigned number)
{
    const unsigned values[MEASURES] = {s->instructions,     s->calls,
                                       s->code_lines.count, s->data_lines.count,
                                       s->code_pages.count, s->data_pages.count};
    for (unsigned i = 0; i < MEASURES; i++)
        found[i][number] = values[i];
    if (trace)
        printf("S %u\n", s->instructions);
}

int main(int argc, char **argv)
{
    static struct sample s;
    static unsigned found[MEASURES][SAMPLES_MAX];
    pid_t tid = argc > 1 ? atoi(argv[1]) : 0;
    int asked = argc > 2 ? atoi(argv[2]) : 40, every = argc > 3 ? atoi(argv[3]) : 16, signal;
    unsigned taken = 0;
    if (tid <= 0 || asked <= 0 || asked > SAMPLES_MAX || every <= 0) {
        fputs("usage: bench-sample TID [SAMPLES [EVERY]]\n", stderr);
        return 2;
    }
    trace = getenv("SAMPLE_TRACE") != NULL;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0 || ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0)
        fail("seizing the thread");
    if (!wait_stopped(tid, &signal))
        fail("waiting for the thread");
    signal = 0;
    for (int i = 1; (int)taken < asked && sample_wait(tid, signal); i++) {
        signal = SIGTRAP;
        if (i % every)
            continue;
        if (!sample_step(&s, tid))
            break;
        sample_keep(&s, found, taken++);
        signal = 0; /* the next step is behind the return: this signal is delivered */
    }
    ptrace(PTRACE_DETACH, tid, 0, 0);
    if (!taken)
        return 1;
    printf("%u samples, medians (10%%..90%%):\n", taken);
    medians(found, taken);
    return 0;
}
