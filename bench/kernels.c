/* Loops of blocks of code, on this machine and in the processor model: what bench/model.py asks.
 *
 *     bench-kernels MACHINE < lines of "NAME HEX"
 *     NAME cycles-here cycles-modelled instructions micro-operations
 *     NAME why it was left out
 *
 * A block is copied until a round has about sixty instructions, and run in a process of its own.
 * Its registers begin with addresses of pages that are mapped when they are touched, so that they
 * hold valid addresses whatever the block does; memory is filled with such addresses, too (BHive:
 * Chen et al., IISWC 2019, section 3). One run is followed by single steps: the model gets the
 * addresses. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <x86intrin.h>

#include "calibrate/forms.h"
#include "calibrate/timing.h"
#include "collector/machine_file.h"
#include "crack/crack.h"
#include "model/core.h"
#include "x86/emit.h"

enum {
    BLOCK_MOST = 1024, COPIES_MOST = 64, INSNS_MOST = 128, ROUND = 60, STEPS = 4000,
    STEPS_MOST = STEPS * 2 + 1024, PAGE = 4096, PAGES_MOST = 9, CODE_SIZE = 1 << 17, TIMES = 300,
    SHARE_FIRST = 4, /* the shorter run has one of so many rounds */
    SECONDS = 20,
};
#define CODE UINT64_C(0x2000000000)
#define WORLD UINT64_C(0x12345000)

enum outcome { DONE, BAD_ADDRESS, TOO_MANY_PAGES, SIGNALLED, TOO_LONG, NO_CODE };
static const char *const outcomes[] = {"done", "bad address", "too many pages", "signal",
                                       "too long", "not encodable"};

struct kernel {
    uint8_t block[BLOCK_MOST];
    unsigned size, insns, copies;
    uint64_t loop;  /* its address */
    uint8_t *end;   /* behind its branch */
    uint64_t rounds[2];
    void (*run)(void), (*step)(void);
};

/* Where the code finds it, within reach. */
struct frame {
    uint64_t registers[16], saved, counter;
    uint8_t vectors[2][16];
};

struct trace {
    unsigned count;
    struct step { uint64_t rip, registers[16]; } steps[STEPS_MOST];
};

static struct trace *trace;
static struct frame *frame;
static uint64_t pages[PAGES_MOST];
static unsigned page_count;
static struct kernel kernel;

/* ---- code ---- */

static bool is_excluded(const struct x86_insn *insn, const uint8_t *code)
{
    struct x86_memory m[X86_MEMORY_MAX];
    unsigned count = x86_memory_as(insn, code, m);
    for (unsigned i = 0; i < count; i++)
        if (m[i].segment || insn->traits & X86_VSIB)
            return true;
    return insn->kind != X86_ORDINARY;
}

/* The block's instructions up to the first that transfers control, or cannot be repeated. */
static void take_block(struct kernel *k, const uint8_t *code, unsigned size)
{
    struct x86_insn insn;
    k->size = k->insns = 0;
    while (k->size < size && x86_decode_as(code + k->size, size - k->size, &insn) &&
           !is_excluded(&insn, code + k->size)) {
        k->size += insn.length;
        k->insns++;
    }
    memcpy(k->block, code, k->size);
}

/* rip-relative operands of all copies are those of the first. */
static void copy_block(struct emit *e, const struct kernel *k, unsigned copy)
{
    uint8_t *to = e->at;
    struct x86_insn insn;
    emit_copy(e, k->block, k->size);
    for (unsigned at = 0; at < k->size; at += insn.length) {
        int32_t disp;
        if (!x86_decode_as(to + at, k->size - at, &insn) || !(insn.traits & X86_RIP_RELATIVE))
            continue;
        memcpy(&disp, to + at + insn.at_disp, sizeof disp);
        disp -= (int32_t)(copy * k->size);
        memcpy(to + at + insn.at_disp, &disp, sizeof disp);
    }
}

static void set_registers(struct emit *e)
{
    for (unsigned i = 0; i < 16; i++)
        form_load_vector(e, i, emit_rip((uint64_t)(uintptr_t)frame->vectors[i % 2]));
    for (unsigned i = 0; i < 16; i++)
        if (i != X86_RSP)
            emit_mov_rm(e, 8, i, emit_rip((uint64_t)(uintptr_t)&frame->registers[i]));
    emit_mov_rm(e, 8, X86_RSP, emit_rip((uint64_t)(uintptr_t)&frame->registers[X86_RSP]));
}

static const uint8_t kept[] = {X86_RBX, X86_RBP, X86_R12, X86_R13, X86_R14, X86_R15};

/* enter: pushes; traced: sets the trap flag; registers; the loop; leave. */
static void *make_run(struct emit *e, struct kernel *k, bool traced)
{
    void *begin = e->at;
    for (unsigned i = 0; i < sizeof kept; i++)
        emit_push_r(e, kept[i]);
    emit_mov_mr(e, 8, emit_rip((uint64_t)(uintptr_t)&frame->saved), X86_RSP);
    if (traced) {
        emit_op(e, EMIT_PUSHFQ);
        emit_alu_mi(e, EMIT_OR, 8, emit_at(X86_RSP, 0), 0x100);
        emit_op(e, EMIT_POPFQ);
    }
    set_registers(e);
    while ((uintptr_t)e->at % 64)
        emit_nop(e, 1);
    k->loop = emit_here(e);
    for (unsigned i = 0; i < k->copies; i++)
        copy_block(e, k, i);
    emit_alu_mi(e, EMIT_SUB, 8, emit_rip((uint64_t)(uintptr_t)&frame->counter), 1);
    emit_jcc(e, EMIT_NZ, k->loop);
    k->end = e->at;
    emit_mov_rm(e, 8, X86_RSP, emit_rip((uint64_t)(uintptr_t)&frame->saved));
    for (unsigned i = sizeof kept; i > 0; i--)
        emit_pop_r(e, kept[i - 1]);
    if (__builtin_cpu_supports("avx")) /* vzeroupper */
        emit_copy(e, (const uint8_t[]){0xc5, 0xf8, 0x77}, 3);
    emit_op(e, EMIT_CLD);
    emit_op(e, EMIT_RET);
    return begin;
}

/* The traced one comes last: its end is the one that steps are compared with. Both loops are at
 * the same place in their page. */
static bool make_code(struct kernel *k)
{
    uint8_t *code = mmap((void *)(uintptr_t)CODE, CODE_SIZE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    uint8_t *data = code == MAP_FAILED ? MAP_FAILED
                                       : mmap(code + CODE_SIZE, PAGE, PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                                              -1, 0);
    if (data == MAP_FAILED)
        return false;
    frame = (struct frame *)(void *)data;
    struct emit e = {.at = code, .end = code + CODE_SIZE};
    *(void **)(void *)&k->run = make_run(&e, k, false);
    while ((uintptr_t)e.at % PAGE)
        emit_nop(&e, 1);
    *(void **)(void *)&k->step = make_run(&e, k, true);
    return !emit_failed(&e) && !mprotect(code, CODE_SIZE, PROT_READ | PROT_EXEC);
}

/* ---- memory ---- */

static void fill(uint64_t page)
{
    uint64_t *words = (uint64_t *)(uintptr_t)page;
    for (unsigned i = 0; i < PAGE / sizeof *words; i++)
        words[i] = WORLD + 0x640;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    uint64_t page = (uint64_t)(uintptr_t)info->si_addr & ~(uint64_t)(PAGE - 1);
    (void)context;
    if (signal != SIGSEGV || info->si_code != SEGV_MAPERR)
        _exit(signal == SIGSEGV ? BAD_ADDRESS : SIGNALLED);
    if (page_count == PAGES_MOST)
        _exit(TOO_MANY_PAGES);
    if (mmap((void *)(uintptr_t)page, PAGE, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
        _exit(BAD_ADDRESS);
    pages[page_count++] = page;
    fill(page);
}

/* Each register another page, and another place in it. */
static void set_world(const struct kernel *k, unsigned which)
{
    for (unsigned i = 0; i < 16; i++)
        frame->registers[i] = WORLD + i * 64 * PAGE + i * 0x110;
    for (unsigned i = 0; i < page_count; i++)
        fill(pages[i]);
    const float singles[] = {1.25f, 1.5f, 1.75f, 2};
    const double doubles[] = {1.25, 1.5};
    memcpy(frame->vectors[0], singles, sizeof singles);
    memcpy(frame->vectors[1], doubles, sizeof doubles);
    frame->counter = k->rounds[which];
}

/* ---- steps ---- */

static const int greg[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                           REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static void on_step(int signal, siginfo_t *info, void *context)
{
    greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)signal, (void)info;
    if (g[REG_RIP] == (greg_t)(uintptr_t)kernel.end) {
        g[REG_EFL] &= ~0x100;
        return;
    }
    if (trace->count == STEPS_MOST)
        _exit(TOO_LONG);
    struct step *s = &trace->steps[trace->count++];
    s->rip = (uint64_t)g[REG_RIP];
    for (unsigned i = 0; i < 16; i++)
        s->registers[i] = (uint64_t)g[greg[i]];
}

static void handle(int signal, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(signal, &a, NULL);
}

/* ---- in the child ---- */

static void keep_least(double *least, double value)
{
    if (*least == 0 || value < *least)
        *least = value;
}

static double time_once(const struct kernel *k, unsigned which)
{
    set_world(k, which);
    _mm_mfence();
    _mm_lfence();
    uint64_t begin = __rdtsc();
    _mm_lfence();
    k->run();
    _mm_lfence();
    return (double)(__rdtsc() - begin);
}

/* Denormals are zeros, as in BHive. */
static int run_child(struct kernel *k, double *cycles)
{
    static uint8_t stack[1 << 16];
    struct timing t;
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    double least[2] = {0}, cycle = 0;
    if (!timing_make(&t, 0, SECONDS, NULL) || !make_code(k))
        return NO_CODE;
    sigaltstack(&alternate, NULL);
    handle(SIGSEGV, on_fault);
    handle(SIGBUS, on_fault);
    handle(SIGFPE, on_fault);
    handle(SIGILL, on_fault);
    handle(SIGTRAP, on_step);
    alarm(SECONDS);
    _mm_setcsr(_mm_getcsr() | 0x8040);
    set_world(k, 1);
    k->step();
    for (unsigned i = 0; i < TIMES; i++) {
        if (i % 10 == 0)
            keep_least(&cycle, timing_cycle(&t));
        for (unsigned which = 0; which < 2; which++)
            keep_least(&least[which], time_once(k, which));
    }
    *cycles = (least[1] - least[0]) / cycle /
              (double)((k->rounds[1] - k->rounds[0]) * k->copies);
    return DONE;
}

/* ---- the model ---- */

static void set_addresses(const struct step *s, const struct x86_insn *insn, const uint8_t *code,
                          struct uop_executed *x)
{
    struct x86_memory m[X86_MEMORY_MAX];
    unsigned count = x86_memory_as(insn, code, m);
    for (unsigned i = 0; i < count && i < INSN_OPERANDS; i++) {
        uint64_t at = (uint64_t)m[i].disp;
        at += m[i].base == X86_RIP ? s->rip + insn->length
              : m[i].base < 16     ? s->registers[m[i].base]
                                   : 0;
        at += m[i].index < 16 ? s->registers[m[i].index] * m[i].scale : 0;
        x->address[i] = m[i].address32 ? (uint32_t)at : at;
        x->known[i] = true;
    }
}

struct cracked { uint64_t rip; struct x86_insn insn; struct uop_insn uops; const uint8_t *code; };
enum { CRACKED = 1 << 14 };

/* The loop's code as the parent sees it: made again, at the same place. */
static const struct cracked *crack_at(struct cracked *table, uint64_t rip, const struct machine *m)
{
    struct cracked *c = &table[rip % CRACKED];
    if (c->rip == rip)
        return c;
    c->rip = rip;
    c->code = (const uint8_t *)(uintptr_t)rip;
    if (!x86_decode_as(c->code, 15, &c->insn) ||
        !crack(c->code, 15, m->vector_bytes, &c->uops))
        return NULL;
    return c;
}

/* Three times: the last is counted, from the end of its first rounds. */
static bool simulate(const struct kernel *k, const struct machine *m, double *cycles, double *uops)
{
    static struct cracked table[CRACKED];
    struct model_core *core = model_core_new(m);
    struct model_cost cost = {0}, before = {0};
    uint64_t begin = 0, round = 0;
    memset(table, 0, sizeof table);
    uint64_t loop = k->loop;
    for (unsigned time = 0; time < 3; time++) {
        round = 0;
        for (unsigned i = 0; i < trace->count; i++) {
            const struct step *s = &trace->steps[i];
            bool last = i + 1 == trace->count;
            if (s->rip < loop)
                continue;
            const struct cracked *c = crack_at(table, s->rip, m);
            const struct cracked *next = crack_at(table, last ? loop : s[1].rip, m);
            if (!c || !next)
                return false;
            struct uop_executed x = {.pc = s->rip, .next = last ? loop : s[1].rip, .repeat = 1,
                                     .follower = &next->uops};
            set_addresses(s, &c->insn, c->code, &x);
            round += s->rip == loop;
            if (s->rip == loop && round == k->rounds[0] + 1) {
                begin = model_cycles(core);
                before = cost;
            }
            model_step(core, &c->uops, &x, &cost);
        }
    }
    double blocks = (double)((k->rounds[1] - k->rounds[0]) * k->copies);
    *cycles = (double)(model_cycles(core) - begin) / blocks;
    *uops = (double)(cost.events[COST_EVENT_UOPS] - before.events[COST_EVENT_UOPS]) / blocks;
    model_core_free(core);
    return true;
}

/* ---- lines ---- */

static unsigned from_hex(const char *hex, uint8_t *out)
{
    unsigned size = 0, byte;
    while (size < BLOCK_MOST && sscanf(hex + 2 * (size_t)size, "%2x", &byte) == 1)
        out[size++] = (uint8_t)byte;
    return size;
}

static void judge(const char *name, const char *hex, const struct machine *m, double *shared)
{
    uint8_t code[BLOCK_MOST];
    struct kernel *k = &kernel;
    int status;
    double modelled = 0, uops = 0;
    take_block(k, code, from_hex(hex, code));
    if (k->insns < 2) {
        printf("%s too short\n", name);
        return;
    }
    k->copies = (ROUND + k->insns - 1) / k->insns;
    k->rounds[1] = STEPS / (k->copies * k->insns);
    k->rounds[0] = k->rounds[1] / SHARE_FIRST;
    trace->count = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (!pid)
        _exit(run_child(k, shared));
    if (pid < 0 || waitpid(pid, &status, 0) < 0) {
        printf("%s no child\n", name);
        return;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        printf("%s %s\n", name, WIFEXITED(status) ? outcomes[WEXITSTATUS(status)] : "killed");
        return;
    }
    if (!make_code(k) || !simulate(k, m, &modelled, &uops))
        printf("%s not modelled\n", name);
    else
        printf("%s %.4f %.4f %u %.2f %.*s\n", name, *shared, modelled, k->insns, uops,
               (int)(2 * k->size), hex);
    munmap((void *)(uintptr_t)CODE, CODE_SIZE + PAGE);
}

int main(int argc, char **argv)
{
    static char name[256], hex[2 * BLOCK_MOST + 1];
    struct machine m;
    struct err e = {0};
    if (argc != 2 || !machine_file_load(argv[1], NULL, &m, &e)) {
        fprintf(stderr, "bench-kernels: %s\n", argc != 2 ? "a machine file is wanted" : e.message);
        return 2;
    }
    trace = mmap(NULL, sizeof *trace + PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                 0);
    if (trace == MAP_FAILED)
        return 1;
    double *shared = (double *)(void *)(trace + 1);
    while (scanf("%255s %2048s", name, hex) == 2)
        judge(name, hex, &m, shared);
    return 0;
}
