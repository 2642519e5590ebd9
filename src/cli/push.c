#include "cli/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/options.h"
#include "collector/open_profile.h"
#include "export/export.h"
#include "export/gzip.h"
#include "export/http.h"
#include "profile/block_tree.h"
#include "report/from_edges.h"

/* Where collectors take the signal, if the address does not say. */
static const char default_path[] = "/v1development/profiles";

enum { MS = 1000, WAIT_MAX_S = 30 };

struct arguments {
    const char *input, *url, *ca_file;
    double timeout_s; /* of one try */
    uint32_t retries;
    const char *observation; /* NULL: the first */
    bool quick, quiet;
};

static const struct option_row rows[] = {
    {0, "otlp", "URL", .filled = true,
     .help = "the collector: http://HOST:PORT or https://HOST:PORT; /v1development/profiles "
             "follows, unless URL has a path of its own",
     FIELD(struct arguments, url)},
    {0, "cacert", "FILE", .filled = true,
     .help = "whom to trust for https: the authorities' certificates (PEM), instead of the "
             "system's",
     FIELD(struct arguments, ca_file)},
    {0, "timeout", "TIME", .fallback = "10s",
     .help = "how long a try may take",
     FIELD(struct arguments, timeout_s),
     NUMBER(number_durations, 1e6, 3600e9, .per = 1e9)},
    {0, "retries", "N", .fallback = "5",
     .help = "more tries if the collector cannot be reached, or is busy, a second after the first "
             "one and twice as long after each",
     FIELD(struct arguments, retries), NUMBER(number_counts, 0, 1000)},
    {0, "observation", "NAME",
     .help = "of a merged profile that keeps several apart: this one instead of the first (exact, "
             "sampled, a carrier, a tool, or CARRIER:TOOL)",
     FIELD(struct arguments, observation), .word = observation_word},
    {0, "quick", .help = "names from symbol tables only: no lines, no inlined functions",
     FIELD(struct arguments, quick)},
    {'q', "quiet", .help = "say nothing if all is well", FIELD(struct arguments, quiet)},
};

static const struct options options = {
    .command = "push",
    .usage = "Usage: penumbra push --otlp URL [options] [FILE]\n"
             "Sends a recorded profile (penumbra.pnb by default) to an OpenTelemetry collector. "
             "FILE stays.\n"
             "\n",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
};

/* The bytes to send: what `export --format otlp` writes, compressed. */
static bool pack(const struct arguments *a, struct buf *out, uint64_t *samples, struct err *e)
{
    const struct symbols_options names = {.detail = a->quick ? SYMBOLS_QUICK : SYMBOLS_LINES};
    const struct export_options all = {.max_depth = EXPORT_DEFAULT_MAX_DEPTH};
    struct export_result result = {0};
    struct buf plain = {0};
    struct gzip gzip;
    const char *metric = NULL;
    struct profile *p = open_profile_by(a->input, a->observation, &metric, PROFILE_APART,
                                        command_progress(), e);
    bool ok = p && blocks_from_edges(p, &names, e) && profile_blocks_as_samples(p, e);
    struct symbols *s = ok ? symbols_load_with(p, &names, e) : NULL;
    ok = s && export_otlp(p, s, &all, &plain, &result, e);
    if (ok) {
        gzip_begin(&gzip, out);
        gzip_put(&gzip, plain.data, plain.size);
        ok = (gzip_end(&gzip) && buf_ok(out)) ||
             err_set(e, ERR_INTERNAL, "cannot compress the profile: out of memory");
    }
    *samples = result.samples;
    buf_free(&plain);
    symbols_free(s);
    profile_free(p);
    return ok;
}

/* What OpenTelemetry's protocol says may be tried again. */
static bool is_passing(int status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}

static void wait_s(uint32_t seconds)
{
    struct timespec t = {.tv_sec = seconds};
    while (nanosleep(&t, &t)) {
    }
}

/* What the collector did not take, though it answered 200: ExportProfilesServiceResponse, its field
 * partial_success (1) with rejected_profiles (1) and error_message (2). */
static bool is_partial(const struct buf *body)
{
    enum { PARTIAL_SUCCESS = 1 << 3 | 2 };
    return body->size > 2 && body->data[0] == PARTIAL_SUCCESS && body->data[1];
}

/* wait: changed if the collector says how long; again: another try may help. */
static bool send_once(const struct arguments *a, struct http *http, const struct buf *bytes,
                      uint32_t *wait, bool *again, struct err *e)
{
    struct http_answer answer;
    bool ok = http_post(http, "application/x-protobuf", bytes, (uint32_t)(a->timeout_s * MS),
                        &answer, again, e);
    if (ok) {
        if (answer.status / 100 != 2)
            ok = err_set(e, ERR_OUTPUT, "the collector %s answers with HTTP status %d",
                         http_name(http), answer.status);
        else if (is_partial(&answer.body))
            ok = err_set(e, ERR_OUTPUT, "the collector %s took a part of the profile only",
                         http_name(http));
        *again = is_passing(answer.status);
        if (answer.retry_after)
            *wait = answer.retry_after > WAIT_MAX_S ? WAIT_MAX_S : answer.retry_after;
    }
    http_answer_fini(&answer);
    return ok;
}

static bool send_profile(const struct arguments *a, struct http *http, const struct buf *bytes,
                         struct err *e)
{
    uint32_t next = 1;
    for (uint32_t left = a->retries;; left--) {
        struct err why = {0};
        uint32_t wait = next;
        bool again;
        if (send_once(a, http, bytes, &wait, &again, &why))
            return true;
        if (!again || !left)
            return err_set(e, why.code, "%s; %s is as it was", why.message, a->input);
        if (!a->quiet)
            fprintf(stderr, "penumbra push: %s; trying again in %" PRIu32 " s\n", why.message,
                    wait);
        wait_s(wait);
        next = next * 2 > WAIT_MAX_S ? WAIT_MAX_S : next * 2;
    }
}

int command_push(int argc, char **argv)
{
    struct err e = {0};
    struct arguments a = {.input = PROFILE_DEFAULT, .timeout_s = 10, .retries = 5};
    struct buf bytes = {0};
    uint64_t samples = 0;
    int first, status;
    if (!options_take(&options, argc, argv, &a, &first, &status))
        return status;
    if (argc - first > 1)
        err_set(&e, ERR_USAGE, "one profile at a time, but '%s' follows '%s'", argv[first + 1],
                argv[first]);
    else if (!a.url)
        err_set(&e, ERR_USAGE, "where to? --otlp http://HOST:PORT names the collector");
    if (e.code)
        return command_fail("push", &e);
    if (first < argc)
        a.input = argv[first];
    struct http *http = http_open(a.url, default_path, a.ca_file, &e);
    bool ok = http && pack(&a, &bytes, &samples, &e) && send_profile(&a, http, &bytes, &e);
    if (ok && !a.quiet)
        fprintf(stderr, "penumbra push: %s: %" PRIu64 " samples, %zu bytes -> %s\n", a.input,
                samples, bytes.size, http_name(http));
    http_close(http);
    buf_free(&bytes);
    return ok ? 0 : command_fail("push", &e);
}
