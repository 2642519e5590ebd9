/* One short piece of code, run from a complete state of the machine to its first signal: natively,
 * or under the engine. Every piece ends in ud2, so that the state at its end is, as at any fault,
 * what the kernel's signal frame shows.
 *
 *      code, one mapping, not writable          arena
 *      [ slot 64 ][ slot 64 ] ...     1 MB      guard [ data 8 kB ] guard [ stack 8 kB ] guard
 *
 * Context: processes that do nothing else and have one thread (run.h makes them). The signal
 * handlers are the machine's; FS is the arena's while code runs.
 * Ownership: what machine_map maps stays until the process ends. */
#ifndef PENUMBRA_TESTS_ASM_MACHINE_H
#define PENUMBRA_TESTS_ASM_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/hook.h"

enum {
    SLOT = 64,        /* bytes for one piece of code and the ud2 behind it */
    CODE_MOST = 40,   /* of them the piece itself; targets of its branches lie behind */
    DATA = 8192, STACK = 8192, ARENA_PART = 16384, /* a part and its guard */
    XSAVE_MOST = 4096,
    SLOTS = 512,
};

/* Where the code lies: its distance from the code cache decides how rip-relative operands are
 * copied. */
enum place {
    PLACE_FAR,  /* beyond 2 GB of everything */
    PLACE_LOW,  /* addresses below 2 GB */
    PLACE_NEAR, /* within 2 GB of the cache */
    PLACES
};

struct vectors {
    uint8_t bytes[XSAVE_MOST];
} __attribute__((aligned(64)));

struct state {
    struct vectors vectors; /* as xsave stores them */
    uint64_t gpr[16];       /* by number in encodings */
    uint64_t rip, rflags;
};

enum ending {
    ENDED_SIGNAL,
    ENDED_LATE,    /* it does not end */
    ENDED_BETWEEN, /* engine: a fault where the program's state is not known */
    ENDED_CRASH,   /* engine: a fault of its own; or the process died */
    ENDED_NOWHERE, /* engine: stopped at an address that is not canonical, see compare.c */
};

struct outcome {
    struct state state;
    uint64_t start, flags_before;
    uint64_t ending; /* enum ending */
    uint64_t signal, code, address, trap, error, cr2;
    uint64_t segments; /* cs, gs, fs, ss as the frame has them, without gs */
    uint64_t fs_base;
    uint64_t stopped;  /* 1 + enum stop_reason: the engine stopped, and native execution went on */
    uint64_t stop_rip;
    uint8_t memory[DATA + STACK];
};

enum trusting { CODE_FIXED, CODE_CHECKED };

/* How the engine is used. */
struct mode {
    const char *name;
    const struct tool *tool;
    int64_t budget;         /* instructions between stops; 0: none */
    enum trusting trusting;
    bool paired;            /* calls and returns (engine/pairs.h) */
    bool loose;             /* the budget */
};

struct machine {
    uint8_t *code;          /* SLOTS slots */
    uint8_t *data, *stack;  /* of the arena */
    struct engine *engine;  /* NULL: native */
    struct engine_thread *thread;
    const struct mode *mode;
};
extern struct machine machine;

/* Maps code and arena where `place` says, for native execution or, with a mode, under an engine of
 * its own. Ends the process with a message when it cannot. */
void machine_map(enum place place, const struct mode *mode);

/* True for addresses at which the engine may have something of its own, near enough to the code (of
 * any slot) to be found by chance: the code cache of PLACE_NEAR, the lookup table below 2 GB.
 * Natively nothing is there. */
bool machine_is_engines(uint64_t address, uint64_t code);

/* Code can be written until it is closed. */
void machine_close_code(void);

/* Runs from the state, with the arena as it is. */
void machine_run(const struct state *from, struct outcome *out);

/* Features of xsave that states contain, and where their parts are. */
struct xsave_layout {
    uint64_t features;
    uint32_t at[8], size[8]; /* of features 2 to 7 */
    uint32_t total;
};
extern struct xsave_layout xsave_layout;
void xsave_layout_find(void);

/* Where machine_map would put the arena's parts, when the code is at `code`. */
static inline uint64_t machine_data(uint64_t code)
{
    return code + (1 << 20) + ARENA_PART;
}
static inline uint64_t machine_stack(uint64_t code)
{
    return machine_data(code) + ARENA_PART;
}

#endif
