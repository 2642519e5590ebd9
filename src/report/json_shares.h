/* What each thread has of the nodes of a tree that is written as JSON: for the page, which shows
 * one thread's.
 *
 * Context: ordinary code.
 * Ownership: json_shares_free releases what json_shares_make has made. */
#ifndef PENUMBRA_REPORT_JSON_SHARES_H
#define PENUMBRA_REPORT_JSON_SHARES_H

#include "report/json.h"
#include "report/view.h"

struct json_share {
    uint32_t node, thread; /* thread: index in profile.threads */
    uint64_t self;
    uint64_t below; /* own samples of nodes below it that are left out */
};

struct json_shares {
    struct json_share *list; /* by node, then by thread */
    size_t count;
};

/* shown: whether a node is written; of a node that is left out all below it are. Of a view without
 * shares, or one that was refined, there are none. False without memory. */
bool json_shares_make(struct json_shares *s, const struct view *v,
                      bool (*shown)(const struct view *v, uint32_t node, const void *arg),
                      const void *arg);
void json_shares_free(struct json_shares *s);

/* Member "threads" of a node, if it has any: [thread, self], or [thread, self, below]. */
void json_shares_write(struct json *j, const struct json_shares *s, uint32_t node);

#endif
