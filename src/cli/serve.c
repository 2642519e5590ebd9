/* `penumbra serve`: what a profile database has, as a page in the browser. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/database.h"
#include "cli/options.h"
#include "cli/serve_pages.h"
#include "collector/watch/privileges.h"
#include "database/store.h"

struct arguments {
    struct source_options source;
    uint32_t port;
    bool quiet;
};

static const struct option_row rows[] = {
    SOURCE_ROWS(struct arguments, source),
    {'p', "port", "PORT", .fallback = "0: any that is free",
     .help = "where it listens, on 127.0.0.1 alone", FIELD(struct arguments, port),
     NUMBER(number_counts, 0, 65535)},
    {'q', "quiet", .help = "print the address alone", FIELD(struct arguments, quiet)},
};

static const struct options options = {
    .command = "serve",
    .usage = "Usage: penumbra serve [options]\n"
             "Shows what the database of penumbra daemon has as a page in the browser: services, "
             "times, flame graphs,\n"
             "functions, and what changed between two ranges of time. It prints the page's "
             "address, which holds a\n"
             "token: whoever has it can read the database, on this machine alone. SIGINT and "
             "SIGTERM end it.\n\n"
             "Options:\n",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
};

static bool run(const struct arguments *a, struct err *e)
{
    static struct serve_context context;
    struct source *s = NULL;
    sigset_t signals;
    int number;
    bool ok = source_open(&s, &a->source, e) && source_name(&a->source, context.name, e);
    source_close(s);
    context.source = a->source;
    if (!ok)
        return false;
    /* The server's thread inherits it, and what privileges are left. */
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    const struct web_options web = {.port = (uint16_t)a->port, .handle = serve_answer,
                                    .context = &context};
    struct web *w = privileges_read(e) ? web_begin(&web, e) : NULL;
    if (!w)
        return false;
    printf("http://127.0.0.1:%u/?token=%s\n", (unsigned)web_port(w), web_token(w));
    fflush(stdout);
    if (!a->quiet)
        fprintf(stderr, "penumbra serve: %s, until Ctrl+C\n", context.name);
    sigwait(&signals, &number);
    web_end(w);
    return true;
}

int command_serve(int argc, char **argv)
{
    struct arguments a = {.port = 0};
    struct err e = {0};
    int first, status = 0;
    if (!options_take(&options, argc, argv, &a, &first, &status))
        return status;
    bool ok = first == argc || err_set(&e, ERR_USAGE, "\"%s\" is too much: the database is given "
                                                      "by --db FILE", argv[first]);
    return ok && run(&a, &e) ? 0 : command_fail("serve", &e);
}
