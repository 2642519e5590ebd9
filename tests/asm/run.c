#include "run.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compare.h"
#include "tools/list.h"
#include "../unit/engine/callbacks.h"

const struct mode modes[] = {
    { "plain", NULL, 0, CODE_FIXED, false, false },
    { "checked", NULL, 0, CODE_CHECKED, false, false },
    { "budget of 1", NULL, 1, CODE_FIXED, false, false },
    { "budget of 2, checked", NULL, 2, CODE_CHECKED, false, false },
    { "large budget", NULL, 1 << 20, CODE_FIXED, false, false },
    { "count", &tool_count, 0, CODE_FIXED, false, false },
    { "blocks", &tool_blocks, 0, CODE_FIXED, false, false },
    { "edges", &tool_edges, 0, CODE_FIXED, false, false },
    { "path", &tool_path, 0, CODE_FIXED, false, false },
    { "written", &tool_written, 0, CODE_FIXED, false, false },
    { "written, budget of 1", &tool_written, 1, CODE_FIXED, false, false },
    { "written, large budget, checked", &tool_written, 1 << 20, CODE_CHECKED, false, false },
    { "hooks at all points", &tool_all_points, 0, CODE_FIXED, false, false },
    { "waste", &tool_waste, 0, CODE_FIXED, false, false },
    { "copies of blocks", &tool_copies, 0, CODE_FIXED, false, false },
    { "waste, budget of 2, checked", &tool_waste, 2, CODE_CHECKED, false, false },
    { "paired", NULL, 0, CODE_FIXED, true, false },
    { "paired written, budget of 2, checked", &tool_written, 2, CODE_CHECKED, true, false },
    { "loose budget, checked", NULL, 1 << 20, CODE_CHECKED, false, true },
    { "paired, loose budget of 1", NULL, 1, CODE_FIXED, true, true },
};
const unsigned mode_count = sizeof modes / sizeof *modes;

/* What the children write. */
static struct shared {
    uint32_t current; /* the piece that runs */
    struct outcome native[SLOTS], engine[SLOTS];
} *shared;

uint64_t slot_address(enum place place, unsigned index)
{
    uint64_t base = place == PLACE_LOW ? UINT64_C(0x21000000) : UINT64_C(0x100000000000);
    return base + (uint64_t)SLOT * index;
}

bool batch_open(const char **why)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)sched_getcpu(), &set);
    sched_setaffinity(0, sizeof set, &set);
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    xsave_layout_find();
    *why = "no xsave with AVX";
    if ((xsave_layout.features & 7) != 7)
        return false;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *why = "no memory";
    return shared != MAP_FAILED;
}

/* Checked blocks read their own code, at any address: not where that is a fault (flag AC). */
static bool is_comparable(const struct outcome *native, const struct mode *mode)
{
    const uint64_t ac = 0x40000;
    if (mode && mode->trusting == CODE_CHECKED &&
        ((native->flags_before | native->state.rflags) & ac))
        return false;
    if (native->ending != ENDED_SIGNAL || native->state.rflags & 0x100)
        return false;
    if (native->trap == 14 && machine_is_engines(native->cr2, native->start))
        return false;
    return native->signal != SIGTRAP || native->code != TRAP_TRACE;
}

static _Noreturn void child(const struct batch *b, const struct mode *mode, uint32_t from)
{
    static struct state s;
    setrlimit(RLIMIT_CPU, &(struct rlimit){ 120, 120 });
    machine_map(b->place, mode);
    uint64_t code = (uint64_t)(uintptr_t)machine.code;
    for (unsigned i = 0; i < SLOTS; i++)
        slot_fill(i < b->count ? &b->pieces[i] : &(struct piece){ .length = 0 },
                  machine.code + SLOT * i);
    machine_close_code();
    for (uint32_t i = from; i < b->count; i++) {
        __atomic_store_n(&shared->current, i, __ATOMIC_RELAXED);
        if (mode && !is_comparable(&shared->native[i], mode))
            continue;
        state_make(&b->pieces[i], code + SLOT * i, &s, machine.data, machine.stack);
        machine_run(&s, mode ? &shared->engine[i] : &shared->native[i]);
    }
    _exit(0);
}

/* All pieces in one mode (NULL: natively). */
static void pass(const struct batch *b, const struct mode *mode, struct tally *t)
{
    for (uint32_t from = 0; from < b->count;) {
        pid_t pid = fork();
        if (!pid)
            child(b, mode, from);
        int status = 0;
        waitpid(pid, &status, 0);
        if (!status)
            return;
        uint32_t at = shared->current;
        struct outcome *out = mode ? &shared->engine[at] : &shared->native[at];
        out->ending = ENDED_CRASH;
        out->signal = (uint64_t)status;
        t->died += !mode;
        from = at + 1;
    }
}

static void count_native(const struct batch *b, struct tally *t)
{
    for (unsigned i = 0; i < b->count; i++) {
        const struct outcome *native = &shared->native[i];
        t->pieces++;
        t->late += native->ending == ENDED_LATE;
        if (native->ending != ENDED_SIGNAL)
            continue;
        t->ended[native->signal & 63]++;
        t->stepped += !is_comparable(native, NULL);
    }
}

void batch_run(const struct batch *b, uint64_t mode_mask, struct tally *t)
{
    pass(b, NULL, t);
    count_native(b, t);
    for (unsigned m = 0; m < mode_count; m++) {
        if (!(mode_mask >> m & 1))
            continue;
        pass(b, &modes[m], t);
        for (unsigned i = 0; i < b->count; i++) {
            const struct outcome *native = &shared->native[i], *engine = &shared->engine[i];
            if (!is_comparable(native, &modes[m]))
                continue;
            t->compared++;
            if (engine->ending == ENDED_SIGNAL && engine->stopped)
                t->stops[engine->stopped - 1]++;
            if (outcomes_differ(b, i, &modes[m], native, engine) && t->differences++ < 20)
                describe(b, i, &modes[m], native, engine);
        }
    }
}

const struct outcome *batch_native(unsigned i)
{
    return is_comparable(&shared->native[i], NULL) ? &shared->native[i] : NULL;
}

void tally_print(const struct tally *t)
{
#define NAME(id, name, sentence) name,
    static const char *const names[] = { STOP_REASONS(NAME) };
#undef NAME
    printf("%lu pieces, %lu compared, %lu different; natively endless %lu, stepped %lu, died %lu\n",
           t->pieces, t->compared, t->differences, t->late, t->stepped, t->died);
    printf("ends:");
    for (int i = 0; i < 64; i++)
        if (t->ended[i])
            printf(" SIG%s %lu", sigabbrev_np(i), t->ended[i]);
    printf("\nstops:");
    for (int i = 0; i < STOP_COUNT; i++)
        if (t->stops[i])
            printf(" %s %lu", names[i], t->stops[i]);
    printf("\n");
    fflush(stdout);
}
