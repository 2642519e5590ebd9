#include <getopt.h>
#include <stdio.h>

#include "base/suggest.h"
#include "cli/command.h"
#include "cli/live_line.h"
#include "cli/open_profile.h"
#include "symbols/symbols.h"

#define DEFAULT_FILE "penumbra.pnb"

enum { OPTION_DEBUG_DIR = 256 };

struct arguments {
    const char *input, *output; /* output NULL: in its place */
    struct symbols_options symbols;
    bool quiet, help;
};

static const char help[] =
    "Usage: penumbra symbolize [OPTIONS] [FILE]\n\n"
    "Puts the names of functions, inlined functions, files and lines into the profile FILE (default\n"
    "penumbra.pnb), so that it can be read without the programs that were recorded. penumbra record\n"
    "does so by itself, with the debug information at hand. This command adds better names: from debug\n"
    "packages installed since, or from DEBUGINFOD_URLS. It does not use files of another build than the\n"
    "recorded one, and keeps the names that are in the profile already.\n\n"
    "Options:\n"
    "  -o, --output OUT     write the profile to OUT (default: in FILE's place)\n"
    "      --debug-dir DIR  look for separate debug files in DIR, too\n"
    "  -q, --quiet          no summary\n"
    "  -h, --help           this text\n";

static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                      {"debug-dir", required_argument, NULL, OPTION_DEBUG_DIR},
                                      {"quiet", no_argument, NULL, 'q'},
                                      {"help", no_argument, NULL, 'h'},
                                      {0}};

static bool unknown_option(const char *typed, struct err *e)
{
    struct suggest s = {0};
    const char *name = typed;
    while (*name == '-')
        name++;
    for (unsigned i = 0; longs[i].name; i++)
        suggest_offer(&s, name, longs[i].name);
    if (s.best)
        return err_set(e, ERR_USAGE, "there is no option %s; did you mean --%s?", typed, s.best);
    return err_set(e, ERR_USAGE, "there is no option %s; see penumbra symbolize --help", typed);
}

static bool parse(int argc, char **argv, struct arguments *a, struct err *e)
{
    int option;
    opterr = 0;
    optind = 0;
    while ((option = getopt_long(argc, argv, ":o:qh", longs, NULL)) != -1)
        switch (option) {
        case 'o': a->output = optarg; break;
        case OPTION_DEBUG_DIR: a->symbols.debug_path = optarg; break;
        case 'q': a->quiet = true; break;
        case 'h': a->help = true; return true;
        case ':': return err_set(e, ERR_USAGE, "%s needs an argument", argv[optind - 1]);
        default: return unknown_option(argv[optind - 1], e);
        }
    if (argc - optind > 1)
        return err_set(e, ERR_USAGE, "one file at a time: penumbra symbolize [OPTIONS] [FILE]");
    a->input = optind < argc ? argv[optind] : DEFAULT_FILE;
    return true;
}

static void say(const struct arguments *a, const struct profile *p, const struct symbols *s)
{
    struct buf b = {0};
    uint64_t places = 0, images = 0, lines = 0;
    for (uint32_t i = 0; i < p->names->image_count; i++) {
        places += p->names->images[i].count;
        images += p->names->images[i].count != 0;
        lines += p->names->images[i].count && p->names->images[i].level == NAMES_LINES;
    }
    buf_puts(&b, "penumbra: names of ");
    put_count(&b, places, "address", "addresses");
    buf_puts(&b, " in ");
    put_count(&b, images, "file", "files");
    buf_printf(&b, ", of %llu with debug information -> %s\n%s", (unsigned long long)lines,
               a->output ? a->output : a->input, symbols_warnings(s));
    if (buf_ok(&b))
        fwrite(b.data, 1, b.size, stderr);
    buf_free(&b);
}

int command_symbolize(int argc, char **argv)
{
    struct arguments a = {.symbols.detail = SYMBOLS_LINES};
    struct err e = {0};
    if (!parse(argc, argv, &a, &e))
        return command_fail("symbolize", &e);
    if (a.help) {
        fputs(help, stdout);
        return 0;
    }
    struct profile *p = open_profile(a.input, &e);
    struct symbols *s = p ? symbols_load_with(p, &a.symbols, &e) : NULL;
    bool ok = s && symbols_keep(s, p, &e) && profile_write(p, a.output ? a.output : a.input, &e);
    if (ok && !a.quiet)
        say(&a, p, s);
    symbols_free(s);
    profile_free(p);
    return ok ? 0 : command_fail("symbolize", &e);
}
