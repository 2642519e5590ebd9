/* The machine that is modelled: a set of numbers, each with a name and bounds. The names are those
 * of ChampSim where it has one.
 *
 * Context: any thread.
 * Ownership: plain data. */
#ifndef PENUMBRA_MODEL_MACHINE_H
#define PENUMBRA_MODEL_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/uop.h"

enum machine_predictor {
    PREDICTOR_BIMODAL, PREDICTOR_GSHARE, PREDICTOR_TOURNAMENT, PREDICTOR_TAGE, PREDICTOR_PERFECT,
};
enum machine_prefetcher { PREFETCHER_NONE, PREFETCHER_NEXT_LINE, PREFETCHER_STRIDE };

/* X(key, kind, least, most, what it is). Latencies of caches and of memory are from a load's issue
 * to its result. A size of 0: there is none. */
#define MACHINE_KEYS(X)                                                                            \
    X(fetch_width, COUNT, 1, 32, "instructions that are decoded a cycle")                          \
    X(fetch_bytes, COUNT, 4, 256, "bytes of code that are decoded a cycle")                        \
    X(uop_cache_size, COUNT, 0, 65536, "micro-operations in the micro-op cache")                   \
    X(uop_cache_ways, COUNT, 1, 64, "its ways")                                                    \
    X(uop_cache_width, COUNT, 1, 32, "micro-operations from it a cycle")                           \
    X(decode_buffer_size, COUNT, 1, 1024, "micro-operations that wait to be dispatched")           \
    X(mispredict_penalty, COUNT, 1, 100,                                                           \
      "cycles from a branch's result to the dispatch of the right path")                           \
    X(decode_redirect_penalty, COUNT, 0, 100, "cycles lost where a taken branch is not in the BTB") \
    X(dispatch_width, COUNT, 1, 32, "micro-operations that are renamed and dispatched a cycle")    \
    X(rob_size, COUNT, 4, 4096, "entries of the reorder buffer")                                   \
    X(scheduler_size, COUNT, 1, 4096, "micro-operations that wait for operands or ports")          \
    X(lq_size, COUNT, 1, 1024, "entries of the load queue")                                        \
    X(sq_size, COUNT, 1, 1024, "entries of the store queue")                                       \
    X(retire_width, COUNT, 1, 12, "micro-operations that commit a cycle")                          \
    X(store_drain_width, COUNT, 1, 8, "committed stores that are written to the cache a cycle")    \
    X(vector_bytes, POWER, 16, 64, "bytes of a vector that one micro-operation computes")           \
    X(micro_fusion, WORD, 0, 0, "a load and what uses it are one in the pipeline")                 \
    X(macro_fusion, WORD, 0, 0, "a comparison and its branch are one")                             \
    X(move_elimination, WORD, 0, 0, "renaming does moves between registers")                       \
    X(zero_elimination, WORD, 0, 0, "renaming does xor of a register with itself")                 \
    X(add_elimination, WORD, 0, 0, "renaming adds small constants to registers")                      \
    X(memory_renaming, WORD, 0, 0,                                                                 \
      "a load's registers and displacement find the store that it is forwarded from")              \
    X(string_bytes, COUNT, 1, 64, "bytes a cycle of repeated movs and stos")                       \
    X(lock_latency, COUNT, 1, 1000, "cycles of a locked instruction")                              \
    X(serialize_latency, COUNT, 1, 10000, "cycles of a serializing instruction or system call")    \
    X(branch_predictor, WORD, 0, 0, "of conditional branches")                                     \
    X(predictor_size, POWER, 16, 1 << 22, "its counters, of each table")                           \
    X(history_length, COUNT, 1, 256, "branches that it looks back on at most")                     \
    X(btb_size, COUNT, 1, 1 << 20, "targets of taken branches that are remembered")                \
    X(btb_ways, COUNT, 1, 64, "ways of that")                                                      \
    X(indirect_size, POWER, 1, 1 << 16, "targets of indirect branches, by history")                \
    X(ras_size, COUNT, 1, 1024, "entries of the return stack")                                     \
    X(l1i_size, BYTES, 1024, 1 << 24, "first-level cache of code")                                 \
    X(l1i_ways, COUNT, 1, 64, "its ways")                                                          \
    X(l1d_size, BYTES, 1024, 1 << 24, "first-level cache of data")                                 \
    X(l1d_ways, COUNT, 1, 64, "its ways")                                                          \
    X(l1d_latency, COUNT, 1, 100, "its latency")                                                   \
    X(l1d_bank_loads, COUNT, 1, 16, "loads of one of its 8 banks, of 8 bytes, that begin a cycle") \
    X(l1d_mshr_size, COUNT, 1, 1024, "its misses that are on their way")                           \
    X(l1d_prefetcher, WORD, 0, 0, "what is fetched into it ahead")                                 \
    X(l1d_prefetch_degree, COUNT, 1, 16, "lines or strides ahead")                                 \
    X(l2_size, BYTES, 0, 1 << 28, "second-level cache")                                            \
    X(l2_ways, COUNT, 1, 64, "its ways")                                                           \
    X(l2_latency, COUNT, 1, 1000, "its latency")                                                   \
    X(l2_mshr_size, COUNT, 1, 1024, "its misses that are on their way")                            \
    X(l2_prefetcher, WORD, 0, 0, "what is fetched into it ahead")                                  \
    X(l2_prefetch_degree, COUNT, 1, 16, "lines ahead")                                             \
    X(l3_size, BYTES, 0, 1 << 30, "third-level cache, what one core has of it")                    \
    X(l3_ways, COUNT, 1, 64, "its ways")                                                           \
    X(l3_latency, COUNT, 1, 1000, "its latency")                                                   \
    X(l3_mshr_size, COUNT, 1, 1024, "its misses that are on their way")                            \
    X(memory_latency, COUNT, 1, 5000, "latency of memory")                                         \
    X(memory_interval, COUNT, 1, 1000, "cycles between two lines from or to memory")               \
    X(forward_latency, COUNT, 1, 100, "from a store's data to a load that it is forwarded to")     \
    X(forward_penalty, COUNT, 0, 100, "cycles more where a store must be written to the cache first") \
    X(itlb_size, COUNT, 1, 65536, "translations of code addresses")                                \
    X(itlb_ways, COUNT, 1, 1024, "ways of that")                                                   \
    X(dtlb_size, COUNT, 1, 65536, "translations of data addresses")                                \
    X(dtlb_ways, COUNT, 1, 1024, "ways of that")                                                   \
    X(stlb_size, COUNT, 0, 1 << 20, "translations of the second level")                            \
    X(stlb_ways, COUNT, 1, 1024, "ways of that")                                                   \
    X(stlb_latency, COUNT, 0, 100, "cycles more where one is there")                               \
    X(page_walk_latency, COUNT, 0, 1000, "cycles more where none is there")

/* These may be left out, too; the columns are those below. */
#define MACHINE_OPTIONAL_KEYS(X)                                                                   \
    X(btb_l1_size, COUNT, 0, 1 << 20, 0,                                                           \
      "targets that the first level of the BTB remembers; 0: it has one level")                    \
    X(btb_l1_ways, COUNT, 1, 64, 4, "ways of that")                                                \
    X(btb_l2_penalty, COUNT, 0, 100, 1,                                                            \
      "cycles lost where a taken branch is in the BTB, not in its first level")                    \
    X(return_penalty, COUNT, 0, 100, 0, "cycles lost at a predicted return")                       \
    X(indirect_penalty, COUNT, 0, 100, 0, "cycles lost at another predicted indirect branch")

/* The DISE engine of the decode stage (model/dise.h): these may be left out. X(key, kind, least,
 * most, what it is if it is not given, what it is). */
#define MACHINE_DISE_KEYS(X)                                                                       \
    X(dise_pt_size, COUNT, 1, 65536, 32, "entries of DISE's pattern table")                        \
    X(dise_rt_size, COUNT, 1, 1 << 20, 2048,                                                       \
      "entries of its replacement table: instructions of 8 bytes")                                 \
    X(dise_ct_size, COUNT, 1, 65536, 16,                                                           \
      "entries of its conditionals table: productions that move counters")                         \
    X(dise_counters, COUNT, 0, 8, 8, "its counters")                                               \
    X(dise_registers, COUNT, 0, 64, 8, "its registers")                                            \
    X(dise_replacement_cycles, COUNT, 0, 100, 1, "cycles of a replacement")                        \
    X(dise_pt_miss_penalty, COUNT, 0, 10000, 30, "cycles where a pattern is not in the table")     \
    X(dise_rt_miss_penalty, COUNT, 0, 10000, 30, "cycles where a sequence is not in the table")    \
    X(dise_ct_miss_penalty, COUNT, 0, 10000, 30, "cycles where a conditional is not in the table")

enum { MACHINE_PORTS = 16 };

struct machine {
#define MACHINE_FIELD(name, kind, least, most, what) uint32_t name;
    MACHINE_KEYS(MACHINE_FIELD)
#undef MACHINE_FIELD
#define MACHINE_FIELD(name, kind, least, most, usual, what) uint32_t name;
    MACHINE_OPTIONAL_KEYS(MACHINE_FIELD)
    MACHINE_DISE_KEYS(MACHINE_FIELD)
#undef MACHINE_FIELD
    /* By enum uop_class: bits of ports; latency, and cycles until the next may begin, of those that
     * are timed. */
    uint32_t ports[UOP_CLASS_COUNT], latency[UOP_CLASS_COUNT], busy[UOP_CLASS_COUNT];
    uint8_t given[256]; /* by key: it has been set */
};

enum machine_kind { MACHINE_COUNT, MACHINE_BYTES, MACHINE_POWER, MACHINE_WORD, MACHINE_PORT_LIST };

struct machine_key {
    char name[32];
    const char *what;
    size_t field; /* offset */
    double least, most;
    enum machine_kind kind;
    uint32_t usual; /* of one that is optional: its value if it is not given */
    bool optional;
};

/* All keys, in the order of documents; NULL after the last. */
const struct machine_key *machine_key_at(unsigned index);
/* The words that a key of kind MACHINE_WORD takes; NULL after the last. */
const char *machine_word(const struct machine_key *key, unsigned index);

/* Nothing is given. */
void machine_init(struct machine *m);
/* False, without the place of it: there is no such key (the nearest is named), the value is no
 * value of it, or it is given a second time and `again` is false. */
bool machine_set(struct machine *m, const char *key, const char *value, bool again, struct err *e);
/* The value of a key, as machine_set takes it. */
void machine_value(const struct machine *m, const struct machine_key *key, char *out, size_t size);
/* "key=value", which may replace what has been given. */
bool machine_set_pair(struct machine *m, const char *pair, struct err *e);
/* False: a key is missing, or values do not go together. */
bool machine_check(const struct machine *m, struct err *e);

#endif
