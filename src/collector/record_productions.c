#include "collector/record_productions.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sigsafe/tools.h"
#include "symbols/function_range.h"

bool record_productions_add(struct record_productions *o, const char *file, struct err *e)
{
    if (o->count == RECORD_PRODUCTIONS_MOST)
        return err_set(e, ERR_USAGE, "there are more than %d files (--production)",
                       RECORD_PRODUCTIONS_MOST);
    o->files[o->count++] = file;
    return true;
}

static bool asks_for_productions(uint64_t tools)
{
    bool any = false;
    for (uint32_t i = tools_next(tools, 0); i < TOOL_KIND_COUNT; i = tools_next(tools, i + 1))
        any |= tool_about(i)->productions;
    return any;
}

static uint64_t tool_of_productions(void)
{
    for (uint32_t i = 0; i < TOOL_KIND_COUNT; i++)
        if (tool_about(i)->productions)
            return tools_one(i);
    return 0;
}

bool record_productions_settle(struct record_productions *o, struct record_engine *engine,
                               struct err *e)
{
    if (!o->count && asks_for_productions(engine->tools))
        return err_set(e, ERR_USAGE, "the tool productions does what files say: give one or more, "
                                     "--production FILE (hot-methods, for example)");
    if (!o->count && (o->frequency || o->burst))
        return err_set(e, ERR_USAGE, "%s is about productions: add --production FILE",
                       o->burst ? "--burst" : "--frequency A/B");
    if (!o->count)
        return true;
    uint64_t sparsity;
    bool bursts = engine->carrier == CARRIER_BURST || engine->carrier == CARRIER_AUTO;
    if (o->frequency && bursts)
        return err_set(e, ERR_USAGE,
                       "there a clock begins bursts, not a counter of events: leave "
                       "--frequency %s out, or say how often in a second: --frequency 1000",
                       o->frequency);
    o->by_time = bursts || (engine->carrier == CARRIER_SHADOW && !o->frequency);
    o->burst = o->burst ? o->burst : PRODUCTION_BURST_DEFAULT;
    o->frequency = o->frequency ? o->frequency : PRODUCTION_FREQUENCY_DEFAULT;
    engine->tools |= tool_of_productions();
    if (engine->carrier == CARRIER_HANDLER)
        engine->carrier = CARRIER_EXACT;
    o->sampled = engine->carrier != CARRIER_EXACT;
    return production_frequency(o->frequency, o->burst, &sparsity, e);
}

/* ---- reading ---- */

/* Beside the command in its build directory, or where it is installed. */
static const char *folder_find(char path[PATH_MAX])
{
    static const char *const places[] = {"%s/productions", "%s/../share/penumbra/productions",
                                         PENUMBRA_DATADIR "/penumbra/productions"};
    char self[PATH_MAX / 2] = "";
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0 && strrchr(self, '/'))
        *strrchr(self, '/') = '\0';
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        if (i < 2)
            snprintf(path, PATH_MAX, "%s%s", self, places[i] + strlen("%s"));
        else
            snprintf(path, PATH_MAX, "%s", places[i]);
        if (!access(path, R_OK | X_OK))
            return path;
    }
    return NULL;
}

/* Of the program's file. */
static bool function_find(void *context, const char *name, struct production_program *p,
                          struct production_function *out, struct err *e)
{
    const char *program = context, *slash = strrchr(program, '/');
    const char *file = slash ? slash + 1 : program;
    if (!symbols_function_range(program, name, &out->lo, &out->hi))
        return err_set(e, ERR_USAGE,
                       "there is no function \"%s\" in the symbol tables of %s; a library's code "
                       "is T.IMAGE == \"libc.so.6\" and a range of T.PC",
                       name, program);
    out->image = production_image(p, file, strlen(file));
    return out->image != UINT32_MAX ||
           err_set(e, ERR_USAGE, "these are more than %d images", PRODUCTION_IMAGES);
}

bool record_productions_read(const struct record_productions *o, const char *program,
                             struct production_program *out, struct err *e)
{
    char folder[PATH_MAX], real[PATH_MAX];
    struct production_settings settings = {.burst = o->burst ? o->burst : PRODUCTION_BURST_DEFAULT};
    const char *frequency = o->frequency ? o->frequency : PRODUCTION_FREQUENCY_DEFAULT;
    if (!production_frequency(frequency, settings.burst, &settings.sparsity, e))
        return false;
    if (o->by_time)
        settings.sparsity = 0;
    if (program && realpath(program, real)) {
        settings.function = function_find;
        settings.context = real;
    }
    if (!production_read(o->files, o->count, folder_find(folder), &settings, out, e))
        return false;
    out->sampled = o->sampled;
    out->by_time = o->by_time;
    out->by_model = o->by_model;
    return true;
}

bool record_productions_put(const struct record_productions *o, const char *program,
                            struct record_spool *spool, struct production_settings_block *settings,
                            struct err *e)
{
    if (!o->count)
        return true;
    struct production_program *made = calloc(1, sizeof *made);
    struct production_program *to = spool_alloc_as(&spool->spool, sizeof *to);
    bool ok = made && to && record_productions_read(o, program, made, e);
    if (ok) {
        memcpy(to, made, sizeof *to);
        settings->program = spool_ref_of(&spool->spool, to);
    }
    free(made);
    return ok || err_set(e, ERR_INTERNAL, "there is no room for the productions");
}
