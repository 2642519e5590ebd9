#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "calibrate/calibrate.h"
#include "cli/command.h"
#include "cli/options.h"
#include "collector/machine_file.h"
#include "modules/hierarchy.h"

enum { SECONDS = 20 };

struct arguments {
    bool show;
    const char *machine;
};

static const struct option_row rows[] = {
    {0, "show", .help = "print the last result, without measuring", FIELD(struct arguments, show)},
    {'m', "machine", "FILE",
     .help = "measure this machine's processor instead, and write FILE, which simulate --machine "
             "takes",
     .filled = true, FIELD(struct arguments, machine)},
};

static const struct options options = {
    .command = "calibrate",
    .usage = "Usage: penumbra calibrate [--show | --machine FILE]\n\n"
             "Measures how long loads from each level of this machine's memory hierarchy take, and "
             "keeps the\n"
             "result: record --tool latency judges loads by it, and measures by itself if there is "
             "none. It\n"
             "takes some tenths of a second. Measure again on a quiet machine, or when the machine "
             "has changed.\n"
             "With --machine it measures the processor's latencies, widths and window, in some "
             "20 seconds.\n\n"
             "Options:\n",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
};

static double ns(const struct hierarchy *h, uint32_t ticks)
{
    return (double)ticks * 1e9 / (double)h->hz;
}

static void print_level(const struct hierarchy *h, unsigned level, const char *nearer)
{
    const struct hierarchy_bound *b = &h->levels[level];
    const char *name = hierarchy_level_names[level];
    if (!b->present) {
        printf("%-7s  this machine says that it has none\n", name);
        return;
    }
    printf("%-7s  %6" PRIu32 "  %8.1f", name, b->median, ns(h, b->median));
    if (!nearer)
        printf("\n");
    else if (!b->apart)
        printf("          cannot be told apart from %s: %.0f%% misjudged\n", nearer,
               b->wrong / 1e4);
    else
        printf("  %8.1f  %8.1f%%\n", ns(h, b->from), b->wrong / 1e4);
}

static void print(const struct hierarchy *h)
{
    const char *nearer = NULL;
    printf("%s\n", h->machine);
    printf("Time stamp counter: %.2f GHz, in steps of %.1f ns; measuring takes %.1f ns, which is "
           "subtracted.\n\n",
           (double)h->hz / 1e9, ns(h, h->step), ns(h, h->cost));
    printf("           typical load   from that on\n");
    printf("level     ticks        ns        ns  misjudged\n");
    for (unsigned level = 0; level < HIERARCHY_LEVELS; level++) {
        print_level(h, level, nearer);
        if (h->levels[level].present)
            nearer = hierarchy_level_names[level];
    }
}

/* What was not measured says whose value it has. */
static bool write_machine(const char *path, const struct machine *m, const bool measured[],
                          const char *nearest, struct err *e)
{
    char name[96], value[64];
    const struct machine_key *key;
    hierarchy_machine(name, sizeof name);
    FILE *f = fopen(path, "we");
    if (!f)
        return err_set_errno(e, ERR_OUTPUT, errno, "cannot write the machine file %s", path);
    fprintf(f, "# %s\n# Measured by penumbra calibrate; what says %s is that machine's.\n", name,
            nearest);
    for (unsigned i = 0; (key = machine_key_at(i)); i++) {
        machine_value(m, key, value, sizeof value);
        fprintf(f, measured[i] ? "%-23s = %s\n" : "%-23s = %-16s ; %s\n", key->name, value,
                nearest);
    }
    bool failed = ferror(f);
    if (fclose(f) || failed)
        return err_set_errno(e, ERR_OUTPUT, errno, "cannot write the machine file %s", path);
    return true;
}

static int measure_machine(const char *path)
{
    static struct machine m;
    bool measured[sizeof m.given] = {false};
    struct err e = {0};
    const char *nearest = calibrate_nearest();
    unsigned found = 0, all = 0;
    if (!machine_file_load(nearest, NULL, &m, &e) || !calibrate(&m, measured, SECONDS, &e) ||
        !write_machine(path, &m, measured, nearest, &e))
        return command_fail("calibrate", &e);
    for (; machine_key_at(all); all++)
        found += measured[all];
    printf("%s: %u of %u values were measured; the others are those of %s\n", path, found, all,
           nearest);
    return 0;
}

int command_calibrate(int argc, char **argv)
{
    struct arguments a = {0};
    struct err e = {0};
    struct hierarchy h;
    int first, status;
    if (!options_take(&options, argc, argv, &a, &first, &status))
        return status;
    if (first < argc) {
        err_set(&e, ERR_USAGE,
                "penumbra calibrate takes no argument; see penumbra calibrate --help");
        return command_fail("calibrate", &e);
    }
    if (a.machine && !a.show)
        return measure_machine(a.machine);
    if (a.show && !hierarchy_load(&h)) {
        err_set(&e, ERR_NOT_FOUND,
                "nothing is remembered of this machine yet; "
                "measure it: penumbra calibrate");
        return command_fail("calibrate", &e);
    }
    if (!a.show && !hierarchy_measure(&h, &e))
        return command_fail("calibrate", &e);
    print(&h);
    return a.show || hierarchy_save(&h, &e) ? 0 : command_fail("calibrate", &e);
}
