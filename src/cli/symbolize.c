#include <stdio.h>

#include "cli/command.h"
#include "cli/live_line.h"
#include "cli/options.h"
#include "collector/open_profile.h"
#include "profile/parts.h"
#include "symbols/symbols.h"

struct arguments {
    const char *input, *output; /* output NULL: in its place */
    struct symbols_options symbols;
    bool quiet;
};

static const struct option_row rows[] = {
    {'o', "output", "OUT", .help = "write the profile to OUT (default: in FILE's place)",
     FIELD(struct arguments, output)},
    {0, "debug-dir", "DIR", .help = "look for separate debug files in DIR, too",
     FIELD(struct arguments, symbols.debug_path)},
    {'q', "quiet", .help = "no summary", FIELD(struct arguments, quiet)},
};

static const struct options options = {
    .command = "symbolize",
    .usage = "Usage: penumbra symbolize [OPTIONS] [FILE]\n\n"
             "Puts the names of functions, inlined functions, files and lines into the profile "
             "FILE (default\n"
             "penumbra.pnb), so that it can be read without the programs that were recorded. "
             "penumbra record\n"
             "does so by itself, with the debug information at hand. This command adds better "
             "names: from debug\n"
             "packages installed since, or from DEBUGINFOD_URLS. It does not use files of another "
             "build than the\n"
             "recorded one, and keeps the names that are in the profile already.\n\n"
             "Options:\n",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
};

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
    buf_put_count(&b, places, "address", "addresses");
    buf_puts(&b, " in ");
    buf_put_count(&b, images, "file", "files");
    buf_printf(&b, ", of %llu with debug information -> %s\n%s", (unsigned long long)lines,
               a->output ? a->output : a->input, symbols_warnings(s));
    if (buf_ok(&b))
        fwrite(b.data, 1, b.size, stderr);
    buf_free(&b);
}

static bool add_names(const struct arguments *a, struct profile *p, struct err *e)
{
    struct symbols *s = symbols_load_with(p, &a->symbols, e);
    bool ok = s && symbols_keep(s, p, e);
    symbols_free(s);
    return ok;
}

static bool add_names_to_parts(const struct arguments *a, struct profile *p, struct err *e)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < p->part_count; i++) {
        struct profile *part = profile_part_open(&p->parts[i], e);
        ok = part && add_names(a, part, e);
    }
    return ok;
}

int command_symbolize(int argc, char **argv)
{
    struct arguments a = {.symbols.detail = SYMBOLS_LINES};
    struct err e = {0};
    int first, status;
    if (!options_take(&options, argc, argv, &a, &first, &status))
        return status;
    if (argc - first > 1) {
        err_set(&e, ERR_USAGE, "one file at a time: penumbra symbolize [OPTIONS] [FILE]");
        return command_fail("symbolize", &e);
    }
    a.input = first < argc ? argv[first] : PROFILE_DEFAULT;
    struct profile *p = open_profile(a.input, command_progress(), &e);
    struct symbols *s = p ? symbols_load_with(p, &a.symbols, &e) : NULL;
    bool ok = s && symbols_keep(s, p, &e) && add_names_to_parts(&a, p, &e) &&
              profile_write(p, a.output ? a.output : a.input, &e);
    if (ok && !a.quiet)
        say(&a, p, s);
    symbols_free(s);
    profile_free(p);
    return ok ? 0 : command_fail("symbolize", &e);
}
