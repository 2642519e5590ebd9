/* How each source fills the lists of transfers, and what instructions do: for transfers*.c and
 * source*.c only.
 *
 * Context: ordinary code. Ownership: none. */
#ifndef PENUMBRA_EXPORT_TRANSFERS_INTERNAL_H
#define PENUMBRA_EXPORT_TRANSFERS_INTERNAL_H

#include "export/transfers.h"
#include "report/runs.h"

struct transfer_insn {
    enum x86_kind kind;
    bool conditional, transfers; /* control: it may go on at `next`; it may go elsewhere */
    uint64_t next, target;       /* 0: it has no direct target */
};

/* The instruction at an address. False if there is none. */
bool transfers_insn(const struct binary *b, uint64_t address, struct transfer_insn *out);
/* Whether a call ends there, so that who comes from elsewhere returns. */
bool transfers_is_behind_call(const struct binary *b, uint64_t address);

/* Counts of 0 are not added. */
void transfers_branch(struct transfers *t, uint64_t from, uint64_t to, uint64_t count);
void transfers_range(struct transfers *t, const struct transfer_range *range);

void transfers_of_edges(struct transfers *t, const struct binary *b);
void transfers_of_paths(struct transfers *t, const struct binary *b);
void transfers_of_blocks(struct transfers *t, const struct binary *b);

#endif
