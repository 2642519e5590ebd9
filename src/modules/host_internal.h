/* The parts of the host, shared between host*.c. Context and ownership: host.h. */
#ifndef PENUMBRA_MODULES_HOST_INTERNAL_H
#define PENUMBRA_MODULES_HOST_INTERNAL_H

#include <nettle/aes.h>

#include "modules/host.h"
#include "x86/insn.h"

/* ---- instructions: what all tuples of one record have in common ---- */

struct host_insn {
    bool known;
    uint8_t kind;  /* enum x86_kind */
    struct x86_lanes lanes; /* of its vector operands */
    bool unobserved[UNOBSERVED_COUNT]; /* it writes registers that results were to be captured of,
                                          and are not */
    struct tuple_insn record; /* a copy that nobody changes */
};

enum { HOST_LANES_MAX = 16, HOST_ITEMS_MAX = TUPLE_ARGUMENT_COUNT + TUPLE_VALUES_MAX * 8 };

/* False: the record is not complete, or no instruction. */
bool host_insn_describe(struct host_insn *insn, const struct tuple_insn *record);

/* The items of a tuple with these values; returns how many, at most HOST_ITEMS_MAX. */
uint32_t host_insn_items(const struct host_insn *insn, const struct tuple_head *head,
                         const uint64_t *values, struct penumbra_item *out);

/* ---- places ---- */

struct host_map {
    uint64_t lo, hi, bias;
    uint32_t image; /* session number */
};

struct host_region {
    uint64_t lo, hi;
    uint32_t kind; /* enum hotlist_region */
};

enum { HOST_KEYS = 1 << 12, HOST_EMITTED_BITS = 14, HOST_COSTS = 2 };
struct spool_costs; /* profile/simulate.h */

struct host_process {
    spool_ref ref;
    const struct spool_process *record;
    struct host_map *maps;     /* sorted; of now */
    uint32_t map_count, map_head, epoch;
    struct host_region *regions; /* with redact: of /proc/PID/maps, when an address was in none */
    uint32_t region_count;
    uint64_t regions_ns;
    /* NULL until it has a ring. */
    struct host_insn **chunks; /* [id / TUPLES_CHUNK], each TUPLES_CHUNK of them */
    struct host_key { uint64_t address, key; } *keys; /* HOST_KEYS that were found before */
    struct host_emitted {
        uint64_t pc, site;
        struct spool_hotlist *list;
        uint32_t kind;
    } *emitted; /* so are hotlists; forgotten with the keys */
    bool remembers; /* there are some */
    struct spool_costs *costs[HOST_COSTS]; /* simulate_rows.c's: the newest chunks; NULL: none */
    uint32_t contexts;                     /* in all of them */
};

/* Forgets what is no longer so. */
void host_places_refresh(struct penumbra_host *host, struct host_process *p);
/* key.h: image and offset, or the address in no image. */
uint64_t host_place(struct penumbra_host *host, struct host_process *p, uint64_t address);
/* What a value of a kind is kept as. */
struct hotlist_value host_value(struct penumbra_host *host, struct host_process *p, uint32_t kind,
                                uint64_t value);

/* ---- hotlists ---- */

struct host_table {
    struct spool_hotlist **slots; /* open addressing */
    uint32_t capacity, count;
    struct spool_hotlists *chunk; /* the newest */
};

/* NULL: there is no room. */
struct spool_hotlist *host_table_find(struct penumbra_host *host, uint64_t key, uint64_t site,
                                      uint32_t kind, spool_ref process);

/* ---- the host ---- */

/* The return addresses of the procedures that a thread goes through. What it returns to, beyond
 * where it was seen first, is not known. */
enum { HOST_CALLS_MAX = 256 };
struct host_calls {
    uint64_t returns[HOST_CALLS_MAX];
    uint32_t depth, beyond; /* calls that are in returns, and calls that had no room there */
    uint64_t now; /* 0: not known */
};

struct simulate_blocks; /* simulate_warm.h */

struct host_ring {
    struct host_calls *calls; /* at the end of its last sequence */
    struct simulate_blocks *blocks; /* that it has defined; NULL: none yet */
    struct tuple_ring *ring;
    struct host_process *process;
    const struct spool_tuples *tuples;
};

struct penumbra_host {
    const struct spool *spool;
    const struct penumbra_module *module;
    struct host_options options;
    struct spool_values *values;
    struct hotlist_random random;
    struct aes128_ctx key; /* of hashes */
    struct host_table table;
    struct host_process **processes;
    uint32_t process_count, process_head; /* head: of the list when it was last looked at */
    struct host_ring *rings;
    uint32_t ring_count;
    struct host_process *current; /* of the sequence that the module looks at */
    const struct penumbra_sequence *sequence;
    const struct tuple_ring *ring; /* that it comes from */
    /* Of a sampled simulation: the words of a sequence with TUPLE_WARM. NULL: nobody wants them */
    void (*warm)(struct penumbra_host *host, struct host_ring *from, int32_t tid,
                 const uint64_t *words, uint32_t count);
    uint32_t window; /* its window, of a sampled simulation (tuple_sequence.window) */
    uint32_t at; /* the tuple that it last spoke of */
    uint8_t *arena; /* room for small records */
    size_t arena_left;
    bool protected;
};

/* Makes pages of the spool writable again, for the host's own records. */
void host_allow(struct penumbra_host *host, const void *at, size_t size);
/* Zeroed; NULL when the spool is full. */
void *host_alloc(struct penumbra_host *host, size_t size);
spool_ref host_string(struct penumbra_host *host, const char *text);

/* Finds processes and rings that are new. */
void host_rings_refresh(struct penumbra_host *host);
bool host_rings_drain(struct penumbra_host *host);
/* The instruction of a record; NULL: it is not complete, or there is no memory. */
const struct host_insn *host_rings_insn(struct penumbra_host *host, const struct host_ring *from,
                                        uint32_t id);

#endif
