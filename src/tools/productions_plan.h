/* What `productions` knows of an instruction, and the hooks it asks for (productions.c has the
 * functions).
 *
 * Context: productions_block_as as engine/hook.h says; the rest are called hooks.
 * Ownership: what is known of instructions is the engine's common memory. */
#ifndef PENUMBRA_TOOLS_PRODUCTIONS_PLAN_H
#define PENUMBRA_TOOLS_PRODUCTIONS_PLAN_H

#include "engine/hook.h"
#include "sigsafe/production.h"
#include "sigsafe/tuples.h"

enum {
    PRODUCTION_SITES = 1 << 21, /* with room in the engine's common memory */
    PRODUCTION_KNOWN = 1 << 14, /* sites that are found again when code is translated again */
};

/* An instruction that some productions match. */
struct production_site {
    uint64_t mask;       /* of productions; 0: none */
    uint64_t key;        /* key.h, the exact address */
    uint64_t target_key; /* of a direct transfer; 0: it has none, or only the hook knows */
    int64_t immediate;
    uint32_t opcode;
    int32_t adjust;      /* bytes that the stack pointer is lower at the hook than before it */
    uint8_t memories;
    bool is_call, is_indirect;
    /* Where counters decide nothing: 1 + the group of the only count that is kept of it, and always
     * of the same values; else 0. */
    uint8_t only;
    struct tuple_memory memory[TUPLE_MEMORIES];
};

struct production_common {
    uint64_t used;
    uint32_t known[PRODUCTION_KNOWN]; /* by address: 1 + the site */
    struct production_site sites[];
};

/* The process's. */
extern struct productions {
    const struct spool *spool;
    const struct production_program *program; /* NULL: there is none */
    struct production_idle idle;
    bool settled;    /* counters decide nothing, and are not moved: in bursts, production_settled */
    uint64_t always; /* then: the productions that keep something */
    uint64_t stack, heap, maps; /* as in struct spool_productions */
} productions;

/* As tools_begin. */
void productions_begin(const struct spool *spool, uint64_t stack);

void productions_block_as(const struct hook_block *block, struct hooks *h);

/* At an instruction; the argument: its site. */
hook_function productions_site_as;
/* At the beginning of a block in which the idle counter may come to its end; the argument: the
 * events of the block. */
hook_function productions_alarm_as;

#endif
