#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "cli/command.h"
#include "cli/options.h"
#include "collector/control.h"
#include "sigsafe/spool_inst.h"

static const struct options options = {
    .command = "control",
    .usage = "Usage: penumbra control PID interval N\n\n"
             "Changes a recording while it runs. PID is a process that is recorded with penumbra "
             "record --carrier\n"
             "compiled; the change is for all processes of the recording.\n\n"
             "interval N: observe at one of N checks on average, from 1 (all) to 16M; 0 is off. "
             "Threads notice\n"
             "at their next sample, or within 1M checks where it was off. What was built with "
             "penumbra cc\n"
             "--plugin check=switched executes no checks while it is off.\n\n"
             "Options:\n",
};

static bool take(int argc, char **argv, struct err *e)
{
    double pid, interval;
    if (argc != 3 || strcmp(argv[1], "interval") != 0)
        return err_set(e, ERR_USAGE, "it is penumbra control PID interval N");
    return number_parse(argv[0], number_counts, 1, 1 << 22, "the process", &pid, e) &&
           number_parse(argv[2], number_counts, 0, INST_INTERVAL_MOST, "the interval", &interval,
                        e) &&
           control_interval((int)pid, (uint32_t)interval, e);
}

int command_control(int argc, char **argv)
{
    struct err e = {0};
    struct {
        int none;
    } arguments;
    int first, status;
    if (!options_take(&options, argc, argv, &arguments, &first, &status))
        return status;
    return take(argc - first, argv + first, &e) ? 0 : command_fail("control", &e);
}
