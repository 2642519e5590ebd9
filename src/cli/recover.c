#include <stdio.h>

#include "cli/command.h"
#include "cli/live_line.h"
#include "cli/options.h"
#include "collector/open_profile.h"

struct arguments {
    const char *output; /* NULL: not given */
};

static const struct option_row rows[] = {
    {'o', "output", "OUT",
     .help = "write the profile to OUT and remove FILE (default: in FILE's place)",
     FIELD(struct arguments, output)},
};

static const struct options options = {
    .command = "recover",
    .usage = "Usage: penumbra recover [-o OUT] [FILE]\n\n"
             "Finishes a recording whose collector was killed: turns the counters, which the "
             "program and\n"
             "the collector shared, into a complete profile. penumbra report and penumbra export "
             "do the\n"
             "same by themselves when they meet a file of this kind.\n\n"
             "FILE is the recording's output (default penumbra.pnb), or the file of the counters "
             "itself\n"
             "(/dev/shm/penumbra-*.spool); then the profile goes to penumbra.pnb, or to OUT.\n\n"
             "Options:\n",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
};

static void say(const struct profile *p, const char *path)
{
    struct profile_totals t;
    struct buf b = {0};
    profile_totals(p, &t);
    buf_printf(&b, "penumbra: recovered ");
    buf_put_count(&b, t.taken, "sample", "samples");
    buf_puts(&b, " of ");
    buf_put_count(&b, p->process_count, "process", "processes");
    buf_printf(&b, ", %llu dropped", (unsigned long long)t.dropped_all);
    put_drops(&b, t.drops);
    buf_printf(&b, " -> %s\n", path);
    if (buf_ok(&b))
        fwrite(b.data, 1, b.size, stderr);
    buf_free(&b);
}

int command_recover(int argc, char **argv)
{
    struct arguments a = {0};
    struct err e = {0};
    int first, status;
    if (!options_take(&options, argc, argv, &a, &first, &status))
        return status;
    if (argc - first > 1) {
        err_set(&e, ERR_USAGE, "one file at a time: penumbra recover [-o OUT] [FILE]");
        return command_fail("recover", &e);
    }
    const char *to = a.output, *path = first < argc ? argv[first] : PROFILE_DEFAULT;
    if (!to && recover_is_spool(path))
        to = PROFILE_DEFAULT;
    struct profile *p = NULL;
    enum recover_outcome outcome = recover_profile(path, to, &p, command_progress(), &e);
    if (outcome == RECOVER_FAILED)
        return command_fail("recover", &e);
    if (outcome == RECOVER_DONE)
        say(p, to ? to : path);
    else
        fprintf(stderr, "penumbra: %s is complete; there is nothing to recover\n", path);
    profile_free(p);
    return 0;
}
