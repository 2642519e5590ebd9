#include "report/annotate_inlined.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/saturate.h"
#include "report/ranked.h"
#include "report/text.h"

enum { LISTED = 5 };

/* Of each function, by index, what was counted of the chosen ones that are inlined into it. NULL
 * without memory. */
static struct ranked *hosts_find(const struct view *v, const bool *chosen)
{
    struct ranked *hosts = calloc((size_t)v->function_count + 1, sizeof *hosts);
    const struct view_node *nodes = v->tree.nodes;
    for (uint32_t i = 0; hosts && i < v->function_count; i++)
        hosts[i].index = i;
    for (uint32_t i = 1; hosts && i < v->tree.count; i++) {
        uint32_t host = i, chosen_above = 0;
        if (!chosen[nodes[i].function] || !nodes[i].inlined)
            continue;
        while (nodes[host].inlined && nodes[host].parent != VIEW_NONE) {
            host = nodes[host].parent;
            chosen_above += chosen[nodes[host].function];
        }
        uint64_t *sum = &hosts[nodes[host].function].value;
        if (!chosen_above)
            *sum = add_saturated(*sum, nodes[i].total);
    }
    if (hosts)
        qsort(hosts, v->function_count, sizeof *hosts, compare_ranked);
    return hosts;
}

static void list_hosts(struct buf *out, const struct view *v, const struct ranked *hosts)
{
    char number[TEXT_NUMBER_SIZE];
    uint32_t listed = 0, more = 0;
    for (uint32_t i = 0; i < v->function_count && hosts[i].value; i++) {
        const struct view_function *f = &v->functions[hosts[i].index];
        if (listed == LISTED) {
            more++;
            continue;
        }
        buf_printf(out, "%s%s (%s+0x%" PRIx64 ", %s %s)", listed++ ? ", " : "", f->name,
                   f->image_name, f->start, text_count(number, hosts[i].value), text_unit(v));
    }
    if (more)
        buf_printf(out, ", and %" PRIu32 " more", more);
    buf_put_u8(out, 0);
}

static bool explain(const struct view *v, const char *pattern, struct err *e)
{
    uint32_t count;
    struct err ignored = { 0 };
    struct buf list = { 0 };
    bool *chosen = view_match(v, pattern, &count, &ignored);
    struct ranked *hosts = chosen && count ? hosts_find(v, chosen) : NULL;
    bool found = hosts && v->function_count && hosts[0].value;
    if (found) {
        const struct view_function *f = &v->functions[hosts[0].index];
        list_hosts(&list, v, hosts);
        found = buf_ok(&list);
        if (found)
            err_set(e, ERR_USAGE,
                    "\"%s\" has no code of its own: it is inlined into %s; penumbra annotate "
                    "%s+0x%" PRIx64 " shows it there",
                    pattern, (const char *)list.data, f->image_name, f->start);
    }
    buf_free(&list);
    free(hosts);
    free(chosen);
    return found;
}

bool annotate_find_inlined(const struct profile *p, const char *pattern,
                           const struct symbols_options *options, struct err *e)
{
    static const struct view_options inlined;
    struct symbols_options names = *options;
    struct err ignored = { 0 };
    names.detail = SYMBOLS_FUNCTIONS;
    struct symbols *s = symbols_load_with(p, &names, &ignored);
    struct view *v = s ? view_build(p, s, &inlined, &ignored) : NULL;
    bool found = v && explain(v, pattern, e);
    view_free(v);
    symbols_free(s);
    return found;
}
