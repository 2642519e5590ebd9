#include "machine.h"

#include <asm/prctl.h>
#include <cpuid.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "carrier.h"
#include "engine/recover.h"
#include "sigsafe/sys.h"

_Static_assert(offsetof(struct state, gpr) == 4096, "enter.S");
_Static_assert(offsetof(struct state, rflags) == 4096 + 8 * 17, "enter.S");

void asm_native(const struct state *s, uint64_t features);
void asm_engine(struct vectors *v, uint64_t features, struct engine_thread *t);
void asm_on_signal(int number, siginfo_t *info, void *context);
__attribute__((used)) void machine_on_signal(int number, siginfo_t *info, void *context);
uint64_t asm_target;
struct vectors asm_host_vectors;

enum { TICKS_LATE = 3, STEPS_MOST = 10000 };

struct machine machine;
struct xsave_layout xsave_layout;

static uint64_t host_fs;
static sigjmp_buf back;
static struct outcome *result; /* not NULL: code runs */
static unsigned ticks, ticks_most;
/* A trap that came inside a hook: it is put off to the next boundary, by single steps. */
static struct {
    bool on;
    int number, code;
    uint64_t address, trap, error, segments;
    unsigned steps;
} late;

static uint64_t fs_get(void)
{
    uint64_t base = 0;
    sys_call3_as(SYS_arch_prctl, ARCH_GET_FS, (long)&base, 0);
    return base;
}

static void fs_set(uint64_t base)
{
    sys_call3_as(SYS_arch_prctl, ARCH_SET_FS, (long)base, 0);
}

void xsave_layout_find(void)
{
    uint32_t a, b, c, d;
    __cpuid_count(13, 0, a, b, c, d);
    xsave_layout.features = a & 0xe7;
    xsave_layout.total = 576;
    for (unsigned i = 2; i < 8; i++) {
        if (!(xsave_layout.features >> i & 1))
            continue;
        __cpuid_count(13, i, a, b, c, d);
        xsave_layout.at[i] = b;
        xsave_layout.size[i] = a;
        if (b + a > xsave_layout.total)
            xsave_layout.total = b + a;
    }
    if (xsave_layout.total > XSAVE_MOST)
        abort();
}

/* Parts that xsave leaves out are in their initial state; what does not belong to the program's
 * state goes: the header, the kernel's words, and what is kept of the last x87 instruction: its
 * address under the engine is that of the copy, and AMD's processors lose all of it whenever the
 * kernel switches threads. */
static void vectors_normalize(struct vectors *v)
{
    uint64_t present;
    memcpy(&present, v->bytes + 512, 8);
    if (!(present & 1)) {
        memset(v->bytes, 0, 24);
        memset(v->bytes + 32, 0, 128);
        v->bytes[0] = 0x7f;
        v->bytes[1] = 3;
    }
    if (!(present & 2))
        memset(v->bytes + 160, 0, 256);
    for (unsigned i = 2; i < 8; i++)
        if (!(present >> i & 1))
            memset(v->bytes + xsave_layout.at[i], 0, xsave_layout.size[i]);
    memset(v->bytes + 6, 0, 18);
    memset(v->bytes + 28, 0, 4);
    memset(v->bytes + 416, 0, 576 - 416);
    memset(v->bytes + xsave_layout.total, 0, XSAVE_MOST - xsave_layout.total);
}

static void gregs_take(const greg_t *g, struct state *s)
{
    static const uint8_t order[16] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                       REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                       REG_R12, REG_R13, REG_R14, REG_R15 };
    for (unsigned i = 0; i < 16; i++)
        s->gpr[i] = (uint64_t)g[order[i]];
    s->rip = (uint64_t)g[REG_RIP];
    s->rflags = (uint64_t)g[REG_EFL] & ~UINT64_C(0x10000); /* RF */
}

static _Noreturn void leave(enum ending ending)
{
    result->ending = ending;
    if (machine.thread && machine.thread->state != ENGINE_NATIVE) {
        sys_call3_as(SYS_arch_prctl, ARCH_SET_GS, 0, 0);
        machine.thread->state = ENGINE_NATIVE;
    }
    siglongjmp(back, 1);
}

/* The state in the outcome is what the signal's handler would see. */
static _Noreturn void signalled(uint64_t pc, uint64_t cr2)
{
    struct outcome *out = result;
    vectors_normalize(&out->state.vectors);
    out->signal = (uint64_t)late.number;
    out->code = (uint64_t)late.code;
    out->address = late.address == pc ? out->state.rip : late.address;
    out->trap = late.trap;
    out->error = late.error;
    out->cr2 = late.trap == 14 ? cr2 : 0;
    out->segments = late.segments;
    leave(ENDED_SIGNAL);
}

static _Noreturn void take(ucontext_t *uc, uint64_t pc)
{
    greg_t *g = uc->uc_mcontext.gregs;
    gregs_take(g, &result->state);
    memcpy(result->state.vectors.bytes, uc->uc_mcontext.fpregs, xsave_layout.total);
    signalled(pc, (uint64_t)g[REG_CR2]);
}

/* True: not at a boundary; the processor goes on, a step at a time. */
static bool step_on(ucontext_t *uc)
{
    if (!late.on && late.number != SIGTRAP)
        leave(ENDED_BETWEEN);
    if (late.steps++ > STEPS_MOST)
        leave(ENDED_BETWEEN);
    late.on = true;
    uc->uc_mcontext.gregs[REG_EFL] |= 0x100;
    return true;
}

static void on_fault(int number, const siginfo_t *info, ucontext_t *uc)
{
    greg_t *g = uc->uc_mcontext.gregs;
    uint64_t pc = (uint64_t)g[REG_RIP];
    if (!late.on) {
        late.number = number;
        late.code = info->si_code;
        late.address = (uint64_t)(uintptr_t)info->si_addr;
        late.trap = (uint64_t)g[REG_TRAPNO];
        late.error = (uint64_t)g[REG_ERR];
        late.segments = (uint64_t)g[REG_CSGSFS] & ~UINT64_C(0xffff0000);
    }
    if (machine.thread) {
        /* recover.h: the instruction that trapped is the one before */
        greg_t behind = late.number == SIGTRAP && late.code != TRAP_TRACE && !late.on;
        g[REG_RIP] -= behind;
        enum engine_place place = engine_recover_as(machine.thread, g);
        g[REG_RIP] += behind;
        if (place == PLACE_BETWEEN && step_on(uc))
            return;
        if (place == PLACE_INSIDE && late.on) { /* the dispatcher will see to it */
            g[REG_EFL] &= ~(greg_t)0x100;
            machine.thread->pending = 1;
            return;
        }
        if (place == PLACE_INSIDE)
            leave(ENDED_CRASH);
    }
    if (late.on)
        g[REG_EFL] &= ~(greg_t)0x100;
    take(uc, pc);
}

void machine_on_signal(int number, siginfo_t *info, void *context)
{
    uint64_t fs = fs_get();
    if (number == SIGVTALRM) {
        if (!result || ++ticks < ticks_most)
            return;
        fs_set(host_fs);
        leave(ENDED_LATE);
    }
    if (!result) { /* the harness itself */
        signal(number, SIG_DFL);
        return;
    }
    fs_set(host_fs);
    result->fs_base = fs;
    on_fault(number, info, context);
    fs_set(fs);
}

static void signals_set(void)
{
    static const int numbers[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGVTALRM };
    enum { SIZE = 256 << 10 };
    stack_t alternate = { .ss_size = SIZE };
    alternate.ss_sp = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(&alternate, NULL);
    struct sigaction action = { .sa_sigaction = asm_on_signal,
                                .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
    ticks_most = machine.mode ? 1000 : TICKS_LATE;
    struct itimerval tick = { { 0, 10000 }, { 0, 10000 } };
    setitimer(ITIMER_VIRTUAL, &tick, NULL);
}

static _Noreturn void fail(const char *what)
{
    perror(what);
    _exit(2);
}

/* Reserved around the code is all that 32 bits of displacement and 32 of a register reach. */
#define NEAR_SIZE (UINT64_C(10) << 30)
#define NEAR_CODE (UINT64_C(3) << 30) /* from its start */
#define NEAR_HOLE (NEAR_CODE + (UINT64_C(5) << 28))
#define NEAR_HOLE_SIZE (UINT64_C(640) << 20)

/* Beside the place where the kernel will put the code cache: a hole in reserved address space. */
static uint8_t *near_code(void)
{
    uint8_t *all = mmap(NULL, NEAR_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                        -1, 0);
    if (all == MAP_FAILED)
        fail("address space near the cache");
    munmap(all + NEAR_HOLE, NEAR_HOLE_SIZE);
    return all + NEAR_CODE;
}

bool machine_is_engines(uint64_t address, uint64_t code)
{
    return (address >= 1u << 30 && address < 1u << 31) ||
           address - (code - SLOTS * SLOT + NEAR_HOLE - NEAR_CODE) < NEAR_HOLE_SIZE + SLOTS * SLOT;
}

void machine_map(enum place place, const struct mode *mode)
{
    static uint8_t *const fixed[] = { [PLACE_FAR] = (uint8_t *)UINT64_C(0x100000000000),
                                      [PLACE_LOW] = (uint8_t *)UINT64_C(0x21000000) };
    uint8_t *at = place == PLACE_NEAR ? near_code() : fixed[place];
    uint64_t total = (1 << 20) + 3 * ARENA_PART;
    if (mmap(at, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at)
        fail("code");
    machine.code = at;
    machine.data = at + (1 << 20) + ARENA_PART;
    machine.stack = machine.data + ARENA_PART;
    machine.mode = mode;
    mprotect(machine.data, DATA, PROT_READ | PROT_WRITE);
    mprotect(machine.stack, STACK, PROT_READ | PROT_WRITE);
    mprotect(machine.code, SLOTS * SLOT, PROT_READ | PROT_WRITE);
    xsave_layout_find();
    __asm__ volatile("xsave64 %0" : "+m"(asm_host_vectors) : "a"(-1), "d"(-1));
    host_fs = fs_get();
    if (mode) {
        enum stop_reason why;
        machine.engine = engine_make_as(&(struct engine_config){
            .carrier = &asm_carrier, .carrier_data = &machine, .tools = tool_set_of(mode->tool),
            .budget = mode->budget != 0, .loose = mode->loose, .paired = mode->paired,
            .cache_size = 64 << 20 },
                                        &why);
        machine.thread = machine.engine ? engine_thread_make_as(machine.engine, 0) : NULL;
        if (!machine.thread)
            fail("engine");
        machine.thread->carrier = &machine;
    }
    signals_set();
}

void machine_close_code(void)
{
    mprotect(machine.code, SLOTS * SLOT, PROT_READ | PROT_EXEC);
}

static void native(const struct state *s)
{
    asm_target = s->rip;
    fs_set((uint64_t)(uintptr_t)machine.data + DATA / 2);
    asm_native(s, xsave_layout.features);
}

/* The rest of it natively, where the engine has stopped: what a carrier does. */
static void engine(struct state *s, struct outcome *out)
{
    struct engine_thread *t = machine.thread;
    memcpy(t->gpr, s->gpr, sizeof t->gpr);
    t->rip = s->rip;
    t->rflags = s->rflags;
    t->budget = machine.mode->budget;
    t->mask_changed = t->pending = 0;
    fs_set((uint64_t)(uintptr_t)machine.data + DATA / 2);
    asm_engine(&s->vectors, xsave_layout.features, t);
    uint64_t fs = fs_get();
    fs_set(host_fs);
    memcpy(s->gpr, t->gpr, sizeof t->gpr);
    s->rip = t->rip;
    s->rflags = t->rflags;
    out->stopped = 1 + (uint64_t)t->stop;
    out->stop_rip = t->rip;
    if (late.on) {
        memcpy(&out->state, s, sizeof *s);
        out->state.rflags &= ~UINT64_C(0x100);
        out->stopped = 0;
        signalled(UINT64_MAX, 0);
    }
    if ((int64_t)s->rip << 16 >> 16 != (int64_t)s->rip) { /* nowhere that code can be */
        memcpy(&out->state, s, sizeof *s);
        vectors_normalize(&out->state.vectors);
        out->fs_base = fs;
        leave(ENDED_NOWHERE);
    }
    asm_target = s->rip;
    fs_set(fs);
    asm_native(s, xsave_layout.features);
}

static void segments_clear(void)
{
    __asm__ volatile("mov %0, %%ds\n mov %0, %%es\n mov %0, %%fs\n mov %0, %%gs" : : "r"(0));
    sys_call3_as(SYS_arch_prctl, ARCH_SET_GS, 0, 0);
    fs_set(host_fs);
}

void machine_run(const struct state *from, struct outcome *out)
{
    static struct state s;
    s = *from;
    memset(out, 0, offsetof(struct outcome, memory));
    memset(&late, 0, sizeof late);
    out->start = from->rip;
    out->flags_before = from->rflags;
    ticks = 0;
    if (!sigsetjmp(back, 0)) {
        segments_clear();
        result = out;
        if (machine.engine)
            engine(&s, out);
        else
            native(&s);
    }
    result = NULL;
    memcpy(out->memory, machine.data, DATA);
    memcpy(out->memory + DATA, machine.stack, STACK);
}
