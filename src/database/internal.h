/* What a store consists of.
 *
 * Context and ownership: as in store.h. */
#ifndef PENUMBRA_DATABASE_INTERNAL_H
#define PENUMBRA_DATABASE_INTERNAL_H

#include "database/dictionary.h"
#include "database/sql.h"
#include "database/store.h"
#include "profile/tree_sum.h"

#define STORE_DAY_NS (INT64_C(86400) * 1000000000)
#define STORE_HOUR_NS (INT64_C(3600) * 1000000000)

/* The part that is written to. */
struct store_part {
    int64_t id, day; /* id 0: none is known */
    struct dictionary words; /* its nodes are the tree's, once it is open */
    struct tree_sum tree;
};

struct store {
    sqlite3 *db;
    char *path;
    int lock; /* descriptor; -1 */
    char *host;
    int64_t run;
    struct store_part part;
    void (*between)(void *context); /* store_between */
    void *context;
};

/* The day of a moment, from 1970-01-01 on: days before it are negative. */
static inline int64_t store_day(int64_t ns)
{
    return ns / STORE_DAY_NS - (ns % STORE_DAY_NS < 0);
}

/* What store_query says of slots, with its from_ns and to_ns, and of parts, with its host twice. */
#define IN_RANGE                                                                                   \
    " slot.begin_ns + (slot.end_ns - slot.begin_ns) / 2 >= ? AND "                                 \
    "slot.begin_ns + (slot.end_ns - slot.begin_ns) / 2 < ? "
#define OF_HOST " AND (? = '' OR part.host = ?) "

/* What a damaged database says is a time that one can calculate with. */
static inline int64_t store_moment_at(sqlite3_stmt *rows, int column)
{
    const int64_t most = INT64_MAX / 4;
    int64_t ns = sqlite3_column_int64(rows, column);
    return ns > most ? most : ns < -most ? -most : ns;
}

/* reader.c: reads the dictionary of a part. *words is to be freed whatever comes of it. */
bool store_words(struct store *s, int64_t part, struct dictionary *words, struct err *e);

/* keep.c: forgets the totals of a part that changes, and the digest of its day. */
bool store_totals_drop(struct store *s, int64_t part, struct err *e);

/* query.c: a host's day, whose parts have their totals; its trees bounded as digest.h says. NULL:
 * *e. */
struct profile *store_day_get(struct store *s, const char *host, int64_t day, uint32_t nodes_most,
                              uint64_t *unit_ns, struct err *e);
/* write.c: makes it the day's digest, a part of its own with totals and no slots. */
bool store_digest_put(struct store *s, const char *host, int64_t day, const struct profile *p,
                      uint64_t unit_ns, struct err *e);

#endif
