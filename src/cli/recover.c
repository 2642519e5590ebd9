#include <getopt.h>
#include <stdio.h>

#include "base/suggest.h"
#include "cli/command.h"
#include "cli/live_line.h"
#include "cli/open_profile.h"

#define DEFAULT_FILE "penumbra.pnb"

static const char help[] =
    "Usage: penumbra recover [-o OUT] [FILE]\n\n"
    "Finishes a recording whose collector was killed: turns the counters, which the program and\n"
    "the collector shared, into a complete profile. penumbra report and penumbra export do the\n"
    "same by themselves when they meet a file of this kind.\n\n"
    "FILE is the recording's output (default penumbra.pnb), or the file of the counters itself\n"
    "(/dev/shm/penumbra-*.spool); then the profile goes to penumbra.pnb, or to OUT.\n\n"
    "Options:\n"
    "  -o, --output OUT  write the profile to OUT and remove FILE (default: in FILE's place)\n"
    "  -h, --help        this text\n";

static int usage(struct err *e, const char *typed)
{
    struct suggest s = {0};
    const char *name = typed;
    while (*name == '-')
        name++;
    suggest_offer(&s, name, "output");
    suggest_offer(&s, name, "help");
    if (s.best)
        err_set(e, ERR_USAGE, "there is no option %s; did you mean --%s?", typed, s.best);
    else
        err_set(e, ERR_USAGE, "there is no option %s; see penumbra recover --help", typed);
    return command_fail("recover", e);
}

static void say(const struct profile *p, const char *path)
{
    struct profile_totals t;
    struct buf b = {0};
    profile_totals(p, &t);
    buf_printf(&b, "penumbra: recovered ");
    put_count(&b, t.taken, "sample", "samples");
    buf_puts(&b, " of ");
    put_count(&b, p->process_count, "process", "processes");
    buf_printf(&b, ", %llu dropped", (unsigned long long)t.dropped_all);
    put_drops(&b, t.drops);
    buf_printf(&b, " -> %s\n", path);
    if (buf_ok(&b))
        fwrite(b.data, 1, b.size, stderr);
    buf_free(&b);
}

int command_recover(int argc, char **argv)
{
    static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    struct err e = {0};
    const char *to = NULL;
    int option;
    opterr = 0;
    optind = 0;
    while ((option = getopt_long(argc, argv, ":o:h", longs, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (option == ':')
            err_set(&e, ERR_USAGE, "%s needs a file name", argv[optind - 1]);
        if (option == ':')
            return command_fail("recover", &e);
        if (option == '?')
            return usage(&e, argv[optind - 1]);
        to = optarg;
    }
    if (argc - optind > 1) {
        err_set(&e, ERR_USAGE, "one file at a time: penumbra recover [-o OUT] [FILE]");
        return command_fail("recover", &e);
    }
    const char *path = optind < argc ? argv[optind] : DEFAULT_FILE;
    if (!to && recover_is_spool(path))
        to = DEFAULT_FILE;
    struct profile *p = NULL;
    enum recover_outcome outcome = recover_profile(path, to, &p, &e);
    if (outcome == RECOVER_FAILED)
        return command_fail("recover", &e);
    if (outcome == RECOVER_DONE)
        say(p, to ? to : path);
    else
        fprintf(stderr, "penumbra: %s is complete; there is nothing to recover\n", path);
    profile_free(p);
    return 0;
}
