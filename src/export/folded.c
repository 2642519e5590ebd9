#include "export/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/intern.h"
#include "export/stack.h"
#include "export/text.h"

/* A frame's name where ';' separates frames and a line is one stack. */
static void put_name(struct buf *line, const char *name)
{
    for (; *name; name++) {
        unsigned char c = (unsigned char)*name;
        buf_put_u8(line, c == ';' ? ':' : c < 0x20 || c == 0x7f ? ' ' : c);
    }
}

static void put_root(struct buf *line, const struct profile *p, const struct profile_thread *t,
                     bool threads)
{
    const struct profile_process *process = stack_process(p, t);
    const char *name = threads && *t->name ? t->name : process ? process->name : "";
    put_name(line, *name ? name : "[unnamed]");
    if (threads)
        buf_printf(line, "-%" PRId32 "/%" PRId32, process ? process->pid : 0, t->tid);
}

static void put_node(struct buf *line, const struct profile *p, const struct symbols *s,
                     const struct profile_thread *t, uint32_t node)
{
    struct symbol_location at = stack_frames(p, s, t, node);
    for (uint32_t i = at.count; i-- > 0;) {
        buf_put_u8(line, ';');
        put_name(line, at.frames[i].function);
    }
}

static bool fold_thread(struct intern *lines, const struct profile *p, const struct symbols *s,
                        const struct profile_thread *t, const struct export_options *options,
                        struct export_result *result)
{
    struct stack_walk w;
    struct buf line = {0};
    if (!stack_walk_init(&w, t))
        return false;
    while (stack_walk_next(&w)) {
        uint64_t self = t->nodes[w.node].self;
        if (!self)
            continue;
        line.size = 0;
        put_root(&line, p, t, options->threads);
        struct stack_cut cut = stack_cut_make(w.length, options->max_depth);
        for (uint32_t i = 0; i < cut.head; i++)
            put_node(&line, p, s, t, w.path[i]);
        if (cut.cut)
            buf_puts(&line, ";" STACK_LEFT_OUT);
        for (uint32_t i = w.length - cut.tail; i < w.length; i++)
            put_node(&line, p, s, t, w.path[i]);
        if (!w.length)
            buf_puts(&line, ";[unknown]");
        uint32_t number = intern_add(lines, line.data, line.size);
        if (!buf_ok(&line) || !intern_ok(lines))
            break;
        lines->entries[number].sum[0] += self;
        result->samples += self;
        result->shortened += cut.cut;
    }
    bool ok = buf_ok(&line) && intern_ok(lines);
    buf_free(&line);
    stack_walk_fini(&w);
    return ok;
}

bool export_folded(const struct profile *p, const struct symbols *s,
                   const struct export_options *options, struct buf *out,
                   struct export_result *result, struct err *e)
{
    struct intern lines = {0};
    bool ok = true;
    *result = (struct export_result){0};
    for (uint32_t i = 0; ok && i < p->thread_count; i++)
        ok = fold_thread(&lines, p, s, &p->threads[i], options, result);
    for (uint32_t i = 0; ok && i < lines.count; i++) {
        buf_put(out, intern_key(&lines, i), lines.entries[i].size);
        buf_printf(out, " %" PRIu64 "\n", lines.entries[i].sum[0]);
    }
    intern_fini(&lines);
    text_clean_buffer(out);
    if (!ok || !buf_ok(out))
        return err_set(e, ERR_INTERNAL, "folding the stacks: out of memory");
    return true;
}

bool export_is_time(const struct profile *p)
{
    return strcmp(p->metrics[0].unit, "nanoseconds") == 0;
}
