/* What values_whole.c and values_warm.c share: sites, and the emptying of the engine's ring, in
 * which records are what values_whole.c says.
 *
 * Context: values_site_make_as under the engine's lock; the rest in the thread concerned.
 * Ownership: as in values_whole.c. */
#ifndef PENUMBRA_TOOLS_VALUES_FLUSH_H
#define PENUMBRA_TOOLS_VALUES_FLUSH_H

#include "sigsafe/warm.h"
#include "tools/memory.h"
#include "tools/rows.h"
#include "tools/values_shared.h"

/* Of a record in the engine's ring: what comes behind its head. */
enum values_part {
    BEFORE, BEFORE_DONE, AFTER, AFTER_DONE, TAKEN, NOT_TAKEN,
    ARGUMENTS, /* of a call that has been executed */
    ARRIVED,   /* rax, behind a system call's instruction */
    WINDOW,    /* the site is the number of a window that begins; 0: one has ended */
    ENTERED,   /* the site is a block of values_warm.c's that begins */
    TOUCHED,   /* registers that make addresses; rcx, if the instruction is repeated */
};
enum { PART_SHIFT = 28, SITE_MASK = (1 << PART_SHIFT) - 1, WORD = 8 };

/* An instruction as the code cache has it. */
struct values_site {
    struct tuple_insn plan;
    const struct spool_counts *of; /* whose `record` is */
    uint32_t record;
    uint32_t alone; /* the block that it is by itself, of values_warm.c's; 0: none */
    bool brief;     /* there is nothing before it: AFTER is its only part */
    bool repeated;  /* a string instruction */
};

/* The emptying of the ring. */
struct values_flush {
    struct engine_thread *thread;
    struct tuple_ring *ring;
    struct tuple_cursor *c;
    uint64_t *data; /* the ring's */
    uint64_t mask;
    struct records from;
    struct {
        uint64_t end;    /* bytes: of the room of its sequence, in c->at's place; 0: none is open */
        uint64_t repeat; /* of the operands that come next */
        uint32_t slot;   /* of the next one */
        uint32_t mask;   /* of lines[] */
        bool lost;       /* nobody makes room */
        uint64_t *lines; /* touched last, * 2; + 1: stored to */
    } warm;              /* values_warm.c's */
};

/* 0: there is no room. */
uint32_t values_site_make_as(const struct hooks *h, uint64_t pc, const uint8_t *code,
                             const struct x86_insn *insn);
struct values_site *values_site(uint32_t number);
/* The site's record in this process's part of the spool. */
bool values_record_find_as(struct engine_thread *t, struct values_site *s, uint32_t *id);

static inline uint64_t *values_word_at(const struct values_flush *f, uint64_t at)
{
    return &f->data[(at & f->mask) / WORD];
}

static inline uint64_t values_taken_from(struct values_flush *f, unsigned reg)
{
    return reg < 16 ? take64(&f->from) : 0;
}

/* The operand's address without what FS adds, by registers as they were appended. */
static inline uint64_t values_address_take(struct values_flush *f, const struct tuple_memory *m)
{
    uint64_t sum = (uint64_t)m->disp + values_taken_from(f, m->base);
    sum += values_taken_from(f, m->index) * m->scale;
    sum += values_taken_from(f, m->add8) & 0xff;
    return m->address32 ? (uint32_t)sum : sum;
}

/* Appends them, before instruction `index`. */
bool values_registers_append_as(struct hooks *h, uint32_t index, const struct tuple_insn *r);

#endif
