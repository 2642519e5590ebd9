/* Interpreted instructions as tuples for a module (sigsafe/tuples.h): one ring and one list of
 * records for all processes; a sequence says whose it is.
 *
 *     instruction, which of its values are known ──> record: one for each such set of values
 *     its values                                 ──> tuple, in the sequence of the moment
 *
 * Context: the machine's thread is the producer.
 * Ownership: machine_tuples_free releases what is not in the spool. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_TUPLES_H
#define PENUMBRA_COLLECTOR_MACHINE_TUPLES_H

#include "interpret/interpret.h"
#include "sigsafe/tuples.h"

enum { MACHINE_VARIANTS = 8, MACHINE_PLANS_MOST = 1 << 18 };

/* An instruction that was met. */
struct machine_plan {
    struct tuple_insn full; /* with all values that it can have; its length */
    struct x86_insn insn;
    struct x86_memory memory[X86_MEMORY_MAX]; /* as full.memory */
    struct {
        uint32_t id;
        uint16_t known; /* values, by bit */
    } variant[MACHINE_VARIANTS];
    unsigned variants;
};

struct machine_tuples {
    const struct spool *spool;
    const struct tuple_capture *wanted;
    struct spool_tuples *tuples;
    struct tuple_ring *ring;     /* NULL: there is none yet */
    struct machine_plan **plans; /* by hash */
    uint32_t slots, count;
    struct machine_plan spare; /* of an instruction that has no room among them: not observed */
    /* The tuple that waits for its instruction's end. */
    struct machine_plan *plan;
    uint64_t value[TUPLE_VALUES_MAX];
    uint64_t address[TUPLE_MEMORIES];
    uint16_t known, addressed;
    bool called;       /* the instruction before was a call */
    uint64_t cut;      /* values that no record had a place for */
};

void machine_tuples_free(struct machine_tuples *t);
/* The plan of an instruction of which so many bytes are there, until the next call; NULL: it is
 * none, or is cut off (*end). Once there are MACHINE_PLANS_MOST, others can be interpreted, and
 * their tuples are dropped, and counted (TUPLE_DROP_RECORDS). */
struct machine_plan *machine_plan_of(struct machine_tuples *t, uint64_t key, uint64_t address,
                                     const uint8_t *code, unsigned available,
                                     enum interpret_end *end);

/* A sequence of at most `length` tuples, of this process, whose record is `process`. False: it is
 * dropped, and counted. */
bool machine_sequence_begin(struct machine_tuples *t, struct spool_process *process, int32_t tid,
                            uint32_t length);
/* Before the instruction, and after it; `over`: the instruction came to its end. */
void machine_tuple_begin(struct machine_tuples *t, struct machine_plan *p,
                         const struct interpret_state *s);
void machine_tuple_end(struct machine_tuples *t, const struct interpret_state *s, bool over);
void machine_sequence_end(struct machine_tuples *t);

#endif
