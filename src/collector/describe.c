#include "collector/describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "collector/events.h"

bool describe_set(char **string, const char *value, struct err *e)
{
    char *copy = strdup(value);
    if (!copy)
        return err_set(e, ERR_INTERNAL, "out of memory");
    free(*string);
    *string = copy;
    return true;
}

static void cpu_model(char *model, size_t size)
{
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[512];
    snprintf(model, size, "x86-64");
    while (f && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(model, size, "%s", colon + 1 + strspn(colon + 1, " "));
        break;
    }
    if (f)
        fclose(f);
}

/* Hardware events have names of ours; the spool knows their numbers only. What is counted exactly
 * has no trigger of the spool's. */
static bool describe_metrics(struct profile *p, const struct spool_config *config, struct err *e)
{
    uint32_t which[METRICS_MAX];
    for (uint32_t m = 0; m < p->metric_count; m++)
        which[m] = profile_trigger_of(p, m);
    for (uint32_t m = 0; m < p->metric_count; m++) {
        bool exact = p->metrics[m].how == METRIC_EXACT;
        const struct event *event = exact || (m && which[m] == which[m - 1])
                                        ? NULL
                                        : events_of_trigger(spool_trigger_at(config, which[m]));
        bool hardware = event && event->trigger == TRIGGER_HARDWARE;
        if (event && (which[m] || !config->outside) &&
            (!describe_set(&p->metrics[m].trigger, event->name, e) ||
             (hardware && which[m] && !describe_set(&p->metrics[m].name, event->name, e))))
            return false;
    }
    return true;
}

bool describe_machine(struct profile *p, const struct spool_config *config, struct err *e)
{
    struct utsname name;
    char model[256];
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    p->cpus = cpus > 0 ? (uint32_t)cpus : 1;
    cpu_model(model, sizeof model);
    return describe_metrics(p, config, e) &&
           describe_set(&p->kernel, uname(&name) ? "" : name.release, e) &&
           describe_set(&p->cpu, model, e);
}

static void put_quoted(struct buf *b, const char *argument)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./,:=+@%^";
    if (*argument && !argument[strspn(argument, plain)]) {
        buf_puts(b, argument);
        return;
    }
    buf_put_u8(b, '\'');
    for (; *argument; argument++)
        if (*argument == '\'')
            buf_puts(b, "'\\''");
        else
            buf_put_u8(b, (uint8_t)*argument);
    buf_put_u8(b, '\'');
}

char *describe_command(char **argv)
{
    struct buf b = {0};
    for (char **argument = argv; *argument; argument++) {
        if (argument != argv)
            buf_put_u8(&b, ' ');
        put_quoted(&b, *argument);
    }
    buf_put_u8(&b, '\0');
    size_t size;
    return (char *)buf_detach(&b, &size);
}
