/* What a profile database has, as JSON: of query and serve.
 *
 * Context: ordinary code.
 * Ownership: nothing is kept. */
#ifndef PENUMBRA_CLI_DATABASE_JSON_H
#define PENUMBRA_CLI_DATABASE_JSON_H

#include "cli/source.h"
#include "report/json.h"

/* A service's program: an object. */
void database_service_json(struct json *j, const struct store_service *s);
/* All of them, in an array. False: *e. */
bool database_services_json(struct json *j, struct source *s, const struct store_query *q,
                            struct store_range *range, struct err *e);
/* {"from": ms, "step": ms, "cpus": [...]}: how many processors were used in each step; null: it was
 * not looked. Times are since 1970. */
bool database_load_json(struct json *j, struct source *s, const struct store_query *q,
                        struct err *e);

#endif
