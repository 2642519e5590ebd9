/* What the engine keeps about the blocks that it has translated, and how they hang together.
 *
 *      slots[hash(pc)] ──> block          blocks[1 ...], dense, in the order of their code
 *                     │ first_exit, exit_count
 *                     v
 *                   exit ──to──> block ──incoming──> exit ──next──> exit     all that jump to it
 *
 *      spans: how the copy relates to the program's code, for recovery (recover.h):
 *      body: [hook ][ copied instructions ][spill | core | reload][ end ]
 *             span   span                   span    span  span     span
 *
 * Context: the dispatcher, under the engine's lock; recovery reads without it: records are complete
 * before `used` counts them.
 * Ownership: the arrays live as long as the engine; records are never freed or moved. */
#ifndef PENUMBRA_ENGINE_BLOCK_H
#define PENUMBRA_ENGINE_BLOCK_H

#include "engine/area.h"

enum { BLOCK_NONE = 0, EXIT_NONE = 0, EXIT_BLOCKS = 1 << 28 };

/* struct block.flags */
enum {
    BLOCK_LAID = 1,    /* the block before it (in number) runs on into its body */
    BLOCK_DEAD = 2,    /* unlinked: not to be entered again */
    BLOCK_CHECKED = 4, /* compares its own bytes when it is entered */
    BLOCK_FORGOTTEN = 8, /* not to be found any more; what leads to it still does */
    BLOCK_LOOKED = 16, /* made by a look at the code that its exits lead to (liveness_ahead) */
};

struct block {
    uint64_t pc;
    uint32_t body;       /* cache offset; where links go */
    uint32_t entry;      /* cache offset of its indirect entry; 0: none yet */
    uint32_t first_exit;
    uint32_t incoming;   /* list of exits */
    uint32_t first_span;
    uint16_t size;       /* bytes of the program */
    uint16_t code_size;  /* bytes from the body on */
    uint16_t span_count;
    /* 0; else: cut to this many instructions, then the budget is used up; or as below */
    uint16_t tail;
    uint8_t count;       /* instructions */
    uint8_t exit_count;
    uint8_t flags;
    uint8_t reserved;
    uint32_t after;  /* cache offset behind the call that ends it (pairs.h); 0: none */
    /* how often the code at pc has been translated before, because it had changed */
    uint32_t remade;
};
_Static_assert(sizeof(struct block) == 48, "dense");

/* block.tail of a whole block with hooks that does not look at the budget (engine_config.late). */
enum { BLOCK_LATE = UINT16_MAX };
/* block.tail of a whole block with hooks that is entered only through the gate of the block of tail
 * 0 (tools/inline/gate.h), which has counted the budget down, and has no others. */
enum { BLOCK_OBSERVED = UINT16_MAX - 1 };

enum exit_kind {
    EXIT_LINK,    /* to `target`, which may be linked */
    EXIT_SYSCALL, /* `target` is behind the system call */
    EXIT_STALE,   /* the block at `target` has changed */
    EXIT_TAIL,    /* the budget is used up, before `target` */
    EXIT_BUDGET,  /* not enough is left for the block at `target` */
    EXIT_RING,    /* the ring is full, before the block at `target` */
    EXIT_OBSERVED, /* a link to the observed block at `target`, behind a gate */
    EXIT_GATE,     /* none: the one after EXIT_OBSERVED, whose `target` is the gate's argument */
};

struct exit {
    uint64_t target;
    uint32_t block : 28; /* that it leaves: EXIT_BLOCKS of them at the most */
    uint32_t kind : 3;   /* enum exit_kind */
    uint32_t linked : 1; /* to the block at `target`, among whose incoming exits it is */
    uint32_t patch;      /* cache offset of the rel32 that is its link; 0: none */
    uint32_t stub;       /* cache offset of the code that leaves through it; 0: not made */
    uint32_t next;       /* in that list of incoming exits */
};
_Static_assert(sizeof(struct exit) == 24, "dense");
_Static_assert(EXIT_GATE < 8, "three bits");

enum span_kind {
    SPAN_COPY,    /* boundaries at the program's: copied bytes, one for one */
    SPAN_SAME,    /* before one instruction, wherever in the span: registers are the program's */
    SPAN_CORE,    /* one instruction; registers in `spilled` are in their slots */
    SPAN_CORE_RCX, /* the same, rcx and r11 in the lookup's slots */
    SPAN_BETWEEN, /* neither before nor after */
};

/* `length` bytes of code for `size` bytes of the program. */
struct span {
    uint8_t length, size, kind;
    uint8_t spilled; /* SPAN_CORE: register in slot A | register in slot B << 4; rsp: none */
};

/* Where a block is found: open addressing, by the upper half of the hash of its pc. */
struct slot {
    uint32_t tag;    /* the lower half, made odd; 0: of a dead block */
    uint32_t number; /* 0: free */
};

struct blocks {
    struct area blocks, exits, spans, slots;
    uint32_t used, exits_used, spans_used; /* counting from 1 */
    uint32_t mask;  /* slots - 1 */
    uint32_t taken; /* slots, those of dead blocks included */
};

/* how: as cache_map_as. */
bool blocks_map_as(struct blocks *b, uint64_t cache_size, unsigned how);
void blocks_unmap_as(struct blocks *b);

/* Room for a few blocks with all that belongs to them. */
bool blocks_reserve_as(struct blocks *b);

static inline struct block *block_at(const struct blocks *b, uint32_t number)
{
    return (struct block *)(void *)b->blocks.base + number;
}

static inline struct exit *exit_at(const struct blocks *b, uint32_t number)
{
    return (struct exit *)(void *)b->exits.base + number;
}

static inline struct span *span_at(const struct blocks *b, uint32_t number)
{
    return (struct span *)(void *)b->spans.base + number;
}

/* block_find_as will be asked about pc soon. */
void blocks_prefetch(const struct blocks *b, uint64_t pc);

/* New records will be written soon. */
void blocks_prefetch_end(const struct blocks *b);

/* The live block of `tail` instructions (0: whole; BLOCK_LATE; BLOCK_OBSERVED) at pc, or NULL. */
struct block *block_find_as(const struct blocks *b, uint64_t pc, uint32_t tail);

/* Makes a complete record findable. */
void block_publish_as(struct blocks *b, uint32_t number);
/* Takes it out again. */
void block_unpublish_as(struct blocks *b, uint32_t number);

/* Lets none of the blocks be found. */
void blocks_forget_as(struct blocks *b);

/* The block whose hot code contains the cache offset, or NULL. No lock is needed. */
struct block *block_of_code_as(const struct blocks *b, uint32_t offset);

#endif
