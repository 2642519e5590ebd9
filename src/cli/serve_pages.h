/* What penumbra serve answers: a page of the database, and what is on it as JSON.
 *
 *     /                   the page (web/), with the report or the difference in it
 *     /api/services       as query --json services
 *     /api/report         as query --json
 *     /api/diff           as query --json diff
 *     /api/load           processors in use over time
 *     /api/profile.pnb    as query -o
 *
 * Parameters are named as query's options: last, from, to, before, after, host, service, program,
 * binary, function. The database is opened for each request, and only read.
 *
 * Context: one thread. */
#ifndef PENUMBRA_CLI_SERVE_PAGES_H
#define PENUMBRA_CLI_SERVE_PAGES_H

#include "cli/source.h"
#include "serve/web.h"

struct serve_context {
    struct source_options source;
    char name[PATH_MAX]; /* as the page shows it */
};

/* A handler of web.h. context: a struct serve_context. */
void serve_answer(void *context, const struct web_request *r, struct web_answer *answer);

#endif
