#include "cli/daemon_fleet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "fleet/batch.h"
#include "fleet/send.h"
#include "fleet/queue.h"

enum { TIMEOUT_MS = 30000, END_MS = 5000 };

struct daemon_fleet {
    struct sender_options options;
    struct sender *sender;
    struct queue *spool;
    char folder[PATH_MAX];
    char *host;
    uint64_t missed_ns, missed; /* time and samples that were given up, for the next slot */
    bool failing;
};

static void say(const char *message)
{
    fprintf(stderr, "penumbra daemon: %s\n", message);
}

struct daemon_fleet *daemon_fleet_begin(const struct source_options *options, const char *database,
                                        const char *host, uint64_t most, struct err *e)
{
    struct daemon_fleet *f = calloc(1, sizeof *f);
    struct fleet *tried = NULL;
    if (!f || !(f->host = strdup(host))) {
        free(f);
        err_set(e, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    int n = snprintf(f->folder, sizeof f->folder, "%s-spool", database);
    f->options = (struct sender_options){.fleet = source_fleet(options), .spool = f->folder,
                                         .say = say};
    f->options.fleet.timeout_ms = TIMEOUT_MS;
    bool ok = (n > 0 && n < (int)sizeof f->folder) ||
              err_set(e, ERR_USAGE, "the database's path is too long");
    /* A wrong address, or no libcurl, is said at once. */
    ok = ok && fleet_open(&tried, &f->options.fleet, e);
    fleet_close(tried);
    ok = ok && queue_open(&f->spool, f->folder, most, e);
    if (ok)
        f->sender = sender_begin(&f->options, e);
    if (f->sender)
        return f;
    daemon_fleet_end(f);
    return NULL;
}

void daemon_fleet_most(struct daemon_fleet *f, uint64_t most)
{
    if (f)
        queue_bound(f->spool, most);
}

/* An interval that is not in the spool is time that nobody knows of. */
static void give_up(struct daemon_fleet *f, const struct profile *p, const struct store_slot *slot,
                    const struct err *why)
{
    struct profile_totals t;
    profile_totals(p, &t);
    f->missed_ns = slot->missed_ns + (uint64_t)(slot->end_ns - slot->begin_ns);
    f->missed = slot->lost + t.taken;
    if (!f->failing)
        fprintf(stderr, "penumbra daemon: %s; the store misses what is sampled meanwhile\n",
                why->message);
    f->failing = true;
}

void daemon_fleet_put(struct daemon_fleet *f, struct store *s, const struct profile *p,
                      const struct store_slot *slot)
{
    struct err e = {0};
    struct buf bytes = {0};
    struct queue_lost lost = {0};
    uint64_t number = 0;
    if (!f)
        return;
    struct store_slot own = *slot;
    own.missed_ns += f->missed_ns;
    own.lost += f->missed;
    struct profile_names *names = store_names(s, p, &e);
    bool ok = names && (getrandom(&number, sizeof number, 0) == sizeof number ||
                        err_set(&e, ERR_INTERNAL, "no random numbers"));
    ok = ok && batch_make(p, names, &own, f->host, number, &bytes, &e) &&
         queue_put(f->spool, &bytes, &lost, &e);
    f->missed_ns = f->missed = 0;
    if (!ok)
        give_up(f, p, &own, &e);
    else if (f->failing) {
        say("the spool can be written again");
        f->failing = false;
    }
    if (lost.batches)
        fprintf(stderr,
                "penumbra daemon: the spool is full: its oldest %" PRIu64 " batches, %.0f s, are "
                "given up\n", lost.batches, (double)lost.covered_us / 1e6);
    f->missed_ns += lost.covered_us * 1000;
    f->missed += lost.taken;
    profile_names_free(names);
    buf_free(&bytes);
}

uint64_t daemon_fleet_cost_ns(struct daemon_fleet *f)
{
    return f ? sender_cost_ns(f->sender) : 0;
}

void daemon_fleet_end(struct daemon_fleet *f)
{
    if (!f)
        return;
    sender_end(f->sender, END_MS);
    queue_close(f->spool);
    free(f->host);
    free(f);
}
