#include "symbols/runtimes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Below these nothing is said: of few samples a share says nothing, and a small one matters
 * little. */
enum { SAMPLES_LEAST = 20, GENERATED_PERCENT = 10, INTERPRETED_PERCENT = 50, CUT_PERCENT = 5 };

struct runtime {
    const char *image; /* how the name of one of its files begins */
    bool main;         /* that file is the program itself */
    const char *name, *advice; /* advice: NULL if there is none */
};

static const struct runtime runtimes[] = {
    {"libnode.so", false, "node", "node --perf-basic-prof --no-short-builtin-calls"},
    {"node", true, "node", "node --perf-basic-prof --no-short-builtin-calls"},
    {"libjvm.so", false, "Java",
     "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit (from JDK 17)"},
    {"libcoreclr.so", false, ".NET", "DOTNET_PerfMapEnabled=1 in its environment"},
    {"libmono", false, "Mono", "mono --jitmap"},
    {"mono", true, "Mono", "mono --jitmap"},
    {"beam.smp", true, "Erlang", "erl +JPperf true (from OTP 25)"},
    {"libphp", false, "PHP", "php -d opcache.jit_debug=16"},
    {"php", true, "PHP", "php -d opcache.jit_debug=16"},
    {"libruby", false, "Ruby", "ruby --yjit-perf (from Ruby 3.3)"},
    {"libluajit", false, "LuaJIT",
     "a LuaJIT built with -DLUAJIT_USE_PERFTOOLS, or luajit -joff for the interpreter's functions"},
    {"luajit", true, "LuaJIT",
     "a LuaJIT built with -DLUAJIT_USE_PERFTOOLS, or luajit -joff for the interpreter's functions"},
    {"libpypy", false, "PyPy", "pypy3 --jit off, for the interpreter's functions"},
    {"libguile", false, "Guile",
     "GUILE_JIT_THRESHOLD=-1 in its environment, for the interpreter's functions"},
    {"chez", true, "Chez Scheme", NULL},
    {"scheme", true, "Chez Scheme", NULL},
    {"petite", true, "Chez Scheme", NULL},
    {"racket", true, "Racket", NULL},
    {"libjulia", false, "Julia", "ENABLE_JITPROFILING=1 in its environment"},
    {"wasmtime", true, "wasmtime", "wasmtime --profile=perfmap"},
    {"qemu-", true, "QEMU", "-perfmap (from QEMU 8.0)"},
    {"chrom", true, "Chromium", "--js-flags=--perf-basic-prof"},
    {"electron", true, "Electron", "--js-flags=--perf-basic-prof"},
};
/* Their frames are not on the processor's stack. */
static const char *const own_stacks[] = { "Erlang", "Guile", "Chez Scheme", "Racket" };
enum { RUNTIME_COUNT = sizeof runtimes / sizeof runtimes[0] };
enum { OTHER = RUNTIME_COUNT, PYTHON, HASKELL, KINDS };

/* Weights of all processes of one runtime. */
struct use {
    uint64_t all, nameless;
    uint64_t weight, cut; /* stacks, and those that end in code that cannot be followed */
    const struct profile_process *process;
};

static bool begins(const char *name, const char *with)
{
    return !strncmp(name, with, strlen(with));
}

/* From Python 3.12 on its functions have names of their own, if that is asked for. */
static bool is_python_with_names(const char *name)
{
    const char *version = begins(name, "libpython3.") ? name + 11
                          : begins(name, "python3.")  ? name + 8
                                                      : "";
    return isdigit((unsigned char)*version) && atoi(version) >= 12;
}

/* GHC's run time is part of each program, and often without symbols; but the runtime has seen what
 * it exports. */
static bool has_haskell(const struct profile *p)
{
    return p->notes && strstr(p->notes, "the GHC run time");
}

static unsigned runtime_of(const struct symbols *s, const struct profile_process *process)
{
    const struct profile *p = symbols_profile(s);
    for (uint32_t i = 0; i < process->map_count; i++) {
        uint32_t image = process->maps[i].image;
        const char *name = symbols_image_name(s, image);
        if (is_python_with_names(name))
            return PYTHON;
        for (unsigned k = 0; k < RUNTIME_COUNT; k++)
            if (begins(name, runtimes[k].image) &&
                (!runtimes[k].main || p->images[image].flags & PROFILE_IMAGE_MAIN))
                return k;
    }
    return has_haskell(p) ? HASKELL : OTHER;
}

/* Whether a node's code has no name that the user would know. */
static bool is_nameless(const struct symbols *s, const struct profile_process *process,
                        const struct profile_node *n, unsigned runtime)
{
    if (runtime == PYTHON)
        return n->image < PROFILE_IMAGE_PSEUDO &&
               is_python_with_names(symbols_image_name(s, n->image));
    return profile_is_private(n->image, n->offset) &&
           !strcmp(symbols_find(s, process, n->image, n->offset).frames[0].function, "[unknown]");
}

/* Python that says what its functions are called. */
static bool is_asked_already(const struct profile_process *process)
{
    for (uint32_t i = 0; i < process->jit_count; i++)
        if (begins(process->jit[i].name, "py::"))
            return true;
    return false;
}

static void uses_collect(const struct symbols *s, const struct profile *p, const uint8_t *kinds,
                         struct use *uses)
{
    for (uint32_t t = 0; t < p->thread_count; t++) {
        const struct profile_thread *thread = &p->threads[t];
        const struct profile_process *process = &p->processes[thread->process];
        unsigned kind = kinds[thread->process];
        uses[kind].weight += thread->weight;
        uses[kind].cut += thread->truncated[TRUNC_NO_CFI];
        uses[kind].process = uses[kind].process ? uses[kind].process : process;
        if (kind == PYTHON && is_asked_already(process))
            continue;
        for (uint32_t i = 0; i < thread->node_count; i++) {
            const struct profile_node *n = &thread->nodes[i];
            uses[kind].all += n->self;
            if (n->self && is_nameless(s, process, n, kind)) {
                uses[kind].nameless += n->self;
                uses[kind].process = process;
            }
        }
    }
}

static void say(const struct use *use, unsigned kind, struct buf *out)
{
    unsigned percent = (unsigned)(100 * (double)use->nameless / (double)use->all);
    if (kind == PYTHON)
        buf_printf(
            out,
            "%u%% of the time of %s is in Python's interpreter. Its functions get names of their"
            " own with python3 -X perf (docs/interpreters.md).\n",
            percent, use->process->name);
    else if (kind == OTHER || kind == HASKELL || !runtimes[kind].advice)
        buf_printf(out,
                   "%u%% of the time of %s is in generated code without names. Many runtimes write"
                   " them to /tmp/perf-PID.map or jit-PID.dump if asked (docs/interpreters.md).\n",
                   percent, use->process->name);
    else {
        const char *process = use->process->name, *name = runtimes[kind].name;
        bool same = !strcasecmp(process, name);
        buf_printf(out, "%u%% of the time of %s%s%s%s is in generated code without names. What"
                        " helps: %s (docs/interpreters.md).\n", percent, process, same ? "" : " (",
                   same ? "" : name, same ? "" : ")", runtimes[kind].advice);
    }
}

static void say_stacks(const struct use *use, unsigned kind, struct buf *out)
{
    const char *name = kind == HASKELL ? "GHC" : runtimes[kind].name;
    buf_printf(out,
               "%.0f%% of the stacks of %s lack callers: %s has stacks of its own, which are not "
               "followed (docs/unwind.md).\n",
               100 * (double)use->cut / (double)use->weight, use->process->name, name);
}

static bool has_own_stacks(unsigned kind)
{
    bool found = kind == HASKELL;
    for (unsigned i = 0; kind < RUNTIME_COUNT && i < sizeof own_stacks / sizeof *own_stacks; i++)
        found |= !strcmp(runtimes[kind].name, own_stacks[i]);
    return found;
}

void runtimes_advise(const struct symbols *s, const struct profile *p, struct buf *warnings)
{
    struct use uses[KINDS] = { 0 };
    uint8_t *kinds = calloc((size_t)p->process_count + 1, sizeof *kinds);
    if (!kinds)
        return; /* advice is not worth a failure */
    for (uint32_t i = 0; i < p->process_count; i++)
        kinds[i] = (uint8_t)runtime_of(s, &p->processes[i]);
    uses_collect(s, p, kinds, uses);
    free(kinds);
    for (unsigned k = 0; k < KINDS; k++) {
        double least = k == PYTHON ? INTERPRETED_PERCENT : GENERATED_PERCENT;
        if (uses[k].nameless >= SAMPLES_LEAST &&
            100 * (double)uses[k].nameless >= least * (double)uses[k].all)
            say(&uses[k], k, warnings);
        if (has_own_stacks(k) && uses[k].cut >= SAMPLES_LEAST &&
            100 * (double)uses[k].cut >= (double)CUT_PERCENT * (double)uses[k].weight)
            say_stacks(&uses[k], k, warnings);
    }
}
