#include <inttypes.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/options.h"
#include "modules/hierarchy.h"

struct arguments {
    bool show;
};

static const struct option_row rows[] = {
    {0, "show", .help = "print the last result, without measuring", FIELD(struct arguments, show)},
};

static const struct options options = {
    .command = "calibrate",
    .usage = "Usage: penumbra calibrate [--show]\n\n"
             "Measures how long loads from each level of this machine's memory hierarchy take, and "
             "keeps the\n"
             "result: record --tool latency judges loads by it, and measures by itself if there is "
             "none. It\n"
             "takes some tenths of a second. Measure again on a quiet machine, or when the machine "
             "has changed.\n\n"
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
