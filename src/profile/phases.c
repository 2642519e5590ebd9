#include "profile/phases.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

char *profile_phase_path(const struct profile *p, uint32_t index)
{
    char *path = strdup(p->phases[index].name);
    for (uint32_t outer = p->phases[index].outer; path && outer;
         outer = p->phases[outer - 1].outer) {
        struct buf b = {0};
        size_t size;
        buf_puts(&b, p->phases[outer - 1].name);
        buf_put_u8(&b, '/');
        buf_puts(&b, path);
        buf_put_u8(&b, '\0');
        free(path);
        path = (char *)buf_detach(&b, &size);
    }
    return path;
}

bool profile_phase_is(const struct profile *p, uint32_t index, const char *name)
{
    /* Outer phases come before those in them, so this ends. */
    for (uint32_t at = index + 1; at; at = p->phases[at - 1].outer) {
        char *path = strcmp(p->phases[at - 1].name, name) ? profile_phase_path(p, at - 1) : NULL;
        bool same = !strcmp(p->phases[at - 1].name, name) || (path && !strcmp(path, name));
        free(path);
        if (same)
            return true;
    }
    return false;
}

static bool no_such_phase(const struct profile *p, const char *name, struct err *e)
{
    enum { LISTED = 20 };
    struct buf b = {0};
    for (uint32_t i = 0; i < p->phase_count && i < LISTED; i++) {
        char *path = profile_phase_path(p, i);
        buf_printf(&b, "%s\"%s\"", i ? ", " : "", path ? path : "");
        free(path);
    }
    buf_puts(&b, p->phase_count > LISTED ? ", ..." : "");
    buf_put_u8(&b, '\0');
    if (!p->phase_count)
        err_set(e, ERR_USAGE, "there is no phase \"%s\": the program named none "
                              "(penumbra_phase_begin, in penumbra/penumbra.h)", name);
    else
        err_set(e, ERR_USAGE, "there is no phase \"%s\"; there are %s", name,
                buf_ok(&b) ? (const char *)b.data : "others");
    buf_free(&b);
    return false;
}

bool profile_keep_phase(struct profile *p, const char *name, struct err *e)
{
    bool *kept = calloc((size_t)p->phase_count + 1, sizeof *kept);
    bool any = false;
    if (!kept)
        return err_set(e, ERR_INTERNAL, "cannot choose a phase: out of memory");
    for (uint32_t i = 0; i < p->phase_count; i++)
        any |= kept[i + 1] = profile_phase_is(p, i, name);
    uint32_t count = 0;
    for (uint32_t i = 0; any && i < p->thread_count; i++) {
        if (kept[p->threads[i].phase]) {
            p->threads[count++] = p->threads[i];
            continue;
        }
        profile_thread_fini(&p->threads[i]);
    }
    free(kept);
    if (!any)
        return no_such_phase(p, name, e);
    p->thread_count = count;
    p->kernel_cpu_ns = 0; /* not known of a phase */
    return true;
}

static int compare_threads(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

uint32_t profile_thread_total(const struct profile *p)
{
    uint64_t *ids = p->phase_count ? calloc((size_t)p->thread_count + 1, sizeof *ids) : NULL;
    if (!ids)
        return p->thread_count;
    for (uint32_t i = 0; i < p->thread_count; i++)
        ids[i] = (uint64_t)p->threads[i].process << 32 | (uint32_t)p->threads[i].tid;
    qsort(ids, p->thread_count, sizeof *ids, compare_threads);
    uint32_t total = p->thread_count != 0;
    for (uint32_t i = 1; i < p->thread_count; i++)
        total += ids[i] != ids[i - 1];
    free(ids);
    return total;
}
