#include "cli/source.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/database.h"

/* A month of a large fleet takes a while. */
enum { TIMEOUT_MS = 300000 };

struct source {
    struct store *store; /* one of them */
    struct fleet *fleet;
};

struct fleet_options source_fleet(const struct source_options *o)
{
    return (struct fleet_options){.url = o->store, .auth_file = o->auth_file,
                                  .ca_file = o->ca_file, .timeout_ms = TIMEOUT_MS};
}

bool source_check(const struct source_options *o, struct err *e)
{
    return o->store || (!o->auth_file && !o->ca_file) ||
           err_set(e, ERR_USAGE, "--store-auth and --store-ca are of --store URL");
}

bool source_check_one(const struct source_options *o, struct err *e)
{
    return source_check(o, e) &&
           (!o->store || !o->database ||
            err_set(e, ERR_USAGE, "--db FILE and --store URL are different sources"));
}

bool source_name(const struct source_options *o, char name[PATH_MAX], struct err *e)
{
    if (!o->store)
        return database_path(o->database, false, name, e);
    int n = snprintf(name, PATH_MAX, "%s", o->store);
    return (n > 0 && n < PATH_MAX) || err_set(e, ERR_USAGE, "--store URL is too long, or empty");
}

bool source_open(struct source **to, const struct source_options *o, struct err *e)
{
    char path[PATH_MAX];
    const struct fleet_options fleet = source_fleet(o);
    struct source *s = *to = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, ERR_INTERNAL, "out of memory");
    if (!source_check_one(o, e) || !source_name(o, path, e))
        return false;
    return o->store ? fleet_open(&s->fleet, &fleet, e) : store_open(&s->store, path, STORE_READ, e);
}

void source_close(struct source *s)
{
    if (!s)
        return;
    store_close(s->store);
    fleet_close(s->fleet);
    free(s);
}

bool source_range(struct source *s, const struct store_query *q, struct store_range *range,
                  struct err *e)
{
    return s->fleet ? fleet_range(s->fleet, q, range, e) : store_range(s->store, q, range, e);
}

struct profile *source_get(struct source *s, const struct store_query *q,
                           struct store_range *range, struct err *e)
{
    return s->fleet ? fleet_get(s->fleet, q, range, e) : store_get(s->store, q, range, e);
}

bool source_services(struct source *s, const struct store_query *q,
                     void (*tell)(void *context, const struct store_service *service),
                     void *context, struct store_range *range, struct err *e)
{
    return s->fleet ? fleet_services(s->fleet, q, tell, context, range, e)
                    : store_services(s->store, q, tell, context, range, e);
}

bool source_load(struct source *s, const struct store_query *q, uint32_t most,
                 struct store_load *load, struct err *e)
{
    return s->fleet ? fleet_load(s->fleet, q, most, load, e)
                    : store_load(s->store, q, most, load, e);
}
