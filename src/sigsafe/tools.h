/* The list of tools: what can be observed, one row a tool. Everything else about a tool is in files
 * that bear its name; meson.build and the tables of both sides are made from this list.
 *
 *                in the profiled program  in the collector          in reports
 *     native     the carrier `handler`
 *     counting   src/tools/NAME.c         counters are read and shown for all alike
 *     table      src/tools/NAME.c         src/profile/table/NAME.c  src/report/table/NAME.c
 *     hotlist    src/tools/NAME.c         src/profile/table/NAME.c  hotlists of values
 *     compiled   src/inst/                src/profile/table/NAME.c  src/report/table/NAME.c
 *     module     src/tools/values.c       src/modules/NAME.c        hotlists of values
 *     model      src/tools/values.c       src/modules/NAME.c, and   src/report/table/NAME.c
 *                                         src/profile/table/NAME.c
 *
 * docs/new-tool.md adds one, step by step. Carriers and the collector know a tool by its record
 * only, never by its name.
 *
 * Context: constant data: any.
 * Ownership: constant. */
#ifndef PENUMBRA_SIGSAFE_TOOLS_H
#define PENUMBRA_SIGSAFE_TOOLS_H

#include "sigsafe/spool_counts.h"

struct tool_about {
    const char *name;     /* in options, files and JSON */
    const char *sentence; /* what it observes */
    uint32_t carriers;    /* bit n: it runs under enum carrier_kind n */
    bool measuring;       /* it is there to measure the engine by, and gives a user nothing */
    bool silent;          /* it keeps nothing in the spool */
    bool blocks;          /* it counts executions of all blocks */
    bool contexts;        /* it keeps a tree of calling contexts, whose nodes count calls */
    bool in_context;      /* beside a tool with `contexts` it keeps nodes of that tree, too */
    bool transfers;       /* it counts every transfer of control, and no blocks: they follow */
    bool hotlists;        /* it keeps hotlists of values in the program */
    bool module;          /* a module in a process of its own takes what it sees, and says how
                             much it wants */
    bool machine;         /* it needs a machine that is modelled */
    bool watches;         /* it decides in line whether it looks (tools/inline/watch.h): one such
                             tool of a set at most */
    bool productions;     /* it is told what to do by --production */
    bool hierarchy;       /* it needs the machine's memory hierarchy, which is measured first */
    const char *instead;  /* what to do where the engine is asked for; NULL: it runs there itself */
    /* In instructions; 0: the defaults of tool_sample and tool_stretch. */
    uint64_t sample;      /* of a shadow within a budget */
    uint64_t stretch;     /* of these: observed before it passes as many over */
};

/* Where the engine runs. Some need the whole run: what they count begins before a burst or a
 * shadow. */
enum {
    TOOL_EXACT = 1u << CARRIER_EXACT,
    TOOL_TRANSLATED = 1u << CARRIER_BURST | 1u << CARRIER_SHADOW | TOOL_EXACT
};

/* The tool waits for the module's process to take what it has seen, a microsecond an instruction:
 * so it sees shorter pieces, of as many more places. */
#define TOOL_OF_MODULE                                                                             \
    .carriers = TOOL_TRANSLATED, .module = true, .sample = 1000000, .stretch = 5000

#define TOOL_OF_COMPILER                                                                           \
    .carriers = 1u << CARRIER_COMPILED,                                                            \
    .instead = "is compiled into the program (penumbra cc): add --carrier compiled"

/* X(enumerator, name, what it observes, members of its record). The first tool that runs under a
 * carrier is the carrier's default. */
#define TOOLS_NATIVE(X)                                                                            \
    X(STACKS, stacks, "call paths, by unwinding", .carriers = 1u << CARRIER_HANDLER,               \
      .instead = "exact call counts by calling context are --exact --tool calls")
#define TOOLS_COUNTING(X)                                                                          \
    X(BLOCKS, blocks, "executions of basic blocks", .carriers = TOOL_TRANSLATED, .blocks = true)   \
    X(COUNT, count, "instructions by class", .carriers = TOOL_TRANSLATED, .blocks = true)          \
    X(EDGES, edges, "transfers of control, and blocks", .carriers = TOOL_TRANSLATED,               \
      .transfers = true)                                                                           \
    X(CALLS, calls, "exact calls by calling context", .carriers = TOOL_EXACT, .contexts = true)    \
    X(NULL, null, "nothing: what the engine alone costs", .carriers = TOOL_TRANSLATED,             \
      .silent = true)                                                                              \
    X(PATH, path, "for measuring: each block, into a ring, unread", .carriers = TOOL_EXACT,        \
      .measuring = true, .silent = true)                                                           \
    X(WRITTEN, written, "for measuring: each result, the same", .carriers = TOOL_EXACT,            \
      .measuring = true, .silent = true)
#define TOOLS_TABLE(X)                                                                             \
    X(PATHS, paths, "interprocedural acyclic paths, and blocks",                                   \
      .carriers = TOOL_TRANSLATED | 1u << CARRIER_COMPILED, .blocks = true)                        \
    X(STREAMS, streams, "strides and spans of each load and store", .carriers = TOOL_TRANSLATED,   \
      .blocks = true)                                                                              \
    X(WASTE, waste, "stores in vain, loads of what was loaded", .carriers = TOOL_TRANSLATED,       \
      .in_context = true, .watches = true)                                                         \
    X(PRODUCTIONS, productions, "what productions say, at samples that they draw (--production)",  \
      .carriers = TOOL_TRANSLATED, .watches = true, .productions = true)
#define TOOLS_COMPILED(X)                                                                          \
    X(FIELDS, fields, "which fields of types are read and written, and which together",            \
      TOOL_OF_COMPILER)                                                                            \
    X(CALLSITES, callsites, "calls by call site and callee, inlined ones too",                     \
      TOOL_OF_COMPILER)                                                                            \
    X(NAMED, named, "values with their names: arguments, divisors, lengths, targets",              \
      TOOL_OF_COMPILER, .hotlists = true)                                                          \
    X(ALLOCATIONS, allocations, "bytes and types that are allocated, by site", TOOL_OF_COMPILER)      \
    X(BRANCHES, branches, "which way branches go, by line, within functions", TOOL_OF_COMPILER)
#define TOOLS_HOTLIST(X)                                                                           \
    X(RESULTS, results, "the most frequent results of each instruction",                           \
      .carriers = TOOL_TRANSLATED, .blocks = true, .hotlists = true)
#define TOOLS_MODULE(X)                                                                            \
    X(VALUES, values, "what instructions read, write and do", TOOL_OF_MODULE)                      \
    X(LATENCY, latency, "which level of the memory hierarchy each load comes from",           \
      TOOL_OF_MODULE, .hierarchy = true)                                                           \
    X(CONFLICTS, conflicts, "pairs of a store and a load that may delay each other", TOOL_OF_MODULE)

#define TOOLS_MODEL(X)                                                                             \
    X(SIMULATE, simulate, "cycles of a processor model, by their cause", .carriers = TOOL_EXACT,   \
      .module = true, .machine = true)

#define TOOLS(X)                                                                                   \
    TOOLS_NATIVE(X) TOOLS_COUNTING(X) TOOLS_TABLE(X) TOOLS_COMPILED(X) TOOLS_HOTLIST(X)            \
    TOOLS_MODULE(X) TOOLS_MODEL(X)
#define TOOL_ENUMERATOR(id, name, sentence, ...) TOOL_##id,
enum tool_kind { TOOLS(TOOL_ENUMERATOR) TOOL_KIND_COUNT };
#undef TOOL_ENUMERATOR

/* What each thread keeps in the spool besides counters. */
#define TABLE_ENUMERATOR(id, name, sentence, ...) TABLE_##id,
enum tool_table {
    TOOLS_TABLE(TABLE_ENUMERATOR) TOOLS_COMPILED(TABLE_ENUMERATOR) TOOLS_MODEL(TABLE_ENUMERATOR)
    TOOLS_HOTLIST(TABLE_ENUMERATOR) TABLE_COUNT
};
#undef TABLE_ENUMERATOR
_Static_assert((unsigned)TABLE_COUNT <= (unsigned)COUNTS_TABLES, "every table has its place");

_Static_assert((unsigned)TOOL_KIND_COUNT <= 64, "a set of tools is a word");

/* NULL: there is no such tool. */
const struct tool_about *tool_about(uint32_t kind);

/* A set of tools that observe in one pass: bit n is enum tool_kind n. */
static inline uint64_t tools_one(uint32_t kind)
{
    return UINT64_C(1) << kind;
}
static inline bool tools_several(uint64_t tools)
{
    return tools & (tools - 1);
}
/* The next member from `kind` on; TOOL_KIND_COUNT: there is none. */
static inline uint32_t tools_next(uint64_t tools, uint32_t kind)
{
    while (kind < TOOL_KIND_COUNT && !(tools >> kind & 1))
        kind++;
    return kind;
}

/* What instrumentation compiled into the program observes. */
#define TOOL_BIT(id, name, ...) | UINT64_C(1) << TOOL_##id
static inline uint64_t tools_of_compiled(uint64_t tools)
{
    return tools & (0 TOOLS_COMPILED(TOOL_BIT));
}
#undef TOOL_BIT

/* What is true of the set: it runs where all members do, is silent if all are, has what one has,
 * and the least sample and stretch. Without a name, unless it has one member. */
struct tool_about tools_about(uint64_t tools);

enum { TOOLS_NAMES_MAX = 256 };
/* Their names in the order of the list, with commas between: as --tool takes them. */
void tools_names(uint64_t tools, char names[TOOLS_NAMES_MAX]);
/* The set of that name; 0: one member is unknown. */
uint64_t tools_of_names(const char *names);

/* The first member that is a module; TOOL_KIND_COUNT: none. */
uint32_t tools_module(uint64_t tools);

/* The member whose counts of blocks are those of the set; TOOL_KIND_COUNT: any that counts some. */
uint32_t tools_block_counter(uint64_t tools);

/* The first tool that runs under all carriers of which a bit is set; TOOL_KIND_COUNT: none does. */
uint32_t tool_default(uint32_t carriers);

/* The tool by which modules observe that are none of the list. */
uint32_t tool_of_modules(void);

/* Within a budget long, rare shadows observe most. */
static inline uint64_t tool_sample(const struct tool_about *t)
{
    return t->sample ? t->sample : 100000000;
}
static inline uint64_t tool_stretch(const struct tool_about *t)
{
    return t->stretch ? t->stretch : 2000000;
}

#endif
