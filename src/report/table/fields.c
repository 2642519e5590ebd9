/* Accesses to fields of types in reports: each type as pahole shows it, with the heat of each
 * member; what to split off, what to put together, and what threads share. */
#include "report/fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/table/events.h"
#include "report/table/view.h"
#include "report/text.h"

enum { TYPES = 10, PAIRS = 8, LINE = 64, BAR = 12, MEMBER = 34 };

static double share_of(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static double uses_of(const struct field_member *m)
{
    return m->reads + m->writes;
}

/* ---- one type ---- */

static void write_bar(FILE *out, double share)
{
    int full = (int)(share / 100 * BAR + 0.5);
    for (int i = 0; i < BAR; i++)
        fputc(i < full ? '#' : '.', out);
}

/* Where the member ends, in bytes, cut: a hostile file may say anything. */
static uint64_t end_of(const struct field_member *m)
{
    uint64_t end;
    return __builtin_add_overflow(m->entity->at, m->entity->number, &end) ? UINT64_MAX : end;
}

static void write_gap(FILE *out, uint64_t from, uint64_t to)
{
    if (to > from)
        fprintf(out, "        /* %" PRIu64 " byte%s hole */\n", to - from,
                to - from == 1 ? "" : "s");
}

/* A line between members wherever a cache line begins. */
static void write_line(FILE *out, uint64_t at, uint64_t *line)
{
    if (at / LINE == *line)
        return;
    *line = at / LINE;
    fprintf(out, "        /* --- cache line %" PRIu64 ", offset %" PRIu64 " --- */\n", *line,
            *line * LINE);
}

static void write_member(FILE *out, const struct report_style *style,
                         const struct profile_events *t, const struct field_type *type,
                         const struct field_member *m, double all)
{
    char name[128], reads[TEXT_NUMBER_SIZE], writes[TEXT_NUMBER_SIZE];
    double share = share_of(uses_of(m), type->uses);
    struct interval ci = events_interval(t, uses_of(m), m->squares, all);
    int n = snprintf(name, sizeof name, "%s %s", m->type, m->entity->name);
    if (m->bits && n >= 0 && (size_t)n < sizeof name)
        snprintf(name + n, sizeof name - (size_t)n, ":%" PRIu64, m->bits);
    fputs("    ", out);
    size_t used = text_name(out, name, MEMBER);
    fprintf(out, ";%*s /* %5" PRIu64 " %5" PRIu64 " */ ", (int)(MEMBER - used), "",
            m->entity->at, m->entity->number);
    text_colour_share(out, style, share);
    write_bar(out, share);
    text_colour(out, style, TEXT_PLAIN);
    fprintf(out, " %5.1f%%", share_of(uses_of(m), all));
    if (t->most > 1)
        fprintf(out, " [%5.1f, %5.1f]", 100 * ci.low, 100 * ci.high);
    fprintf(out, "  %13s %13s\n", text_count(reads, (uint64_t)m->reads),
            text_count(writes, (uint64_t)m->writes));
}

static void write_members(FILE *out, const struct report_style *style,
                          const struct profile_events *t, const struct field_types *types,
                          const struct field_type *type)
{
    uint64_t end = 0, line = 0;
    fprintf(out, "    %-*s     offset  size    %-*s %6s%s  %13s %13s\n", MEMBER, "", BAR, "heat",
            "share", t->most > 1 ? "   95% interval" : "", "reads", "writes");
    for (uint32_t i = 0; i < type->count; i++) {
        const struct field_member *m = &types->members[type->first + i];
        write_gap(out, end, m->entity->at);
        write_line(out, m->entity->at, &line);
        write_member(out, style, t, type, m, types->uses);
        end = end > end_of(m) ? end : end_of(m);
    }
    if (type->size)
        write_gap(out, end, type->size);
}

/* Bytes of members: of the hot ones, and of all that a copy of the type holds. */
static uint64_t hot_bytes(const struct field_types *types, const struct field_type *type)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < type->hot; i++)
        bytes += types->members[type->order[i]].entity->number & UINT32_MAX;
    return bytes;
}

static void write_names(FILE *out, const struct field_types *types, const struct field_type *type,
                        uint32_t from, uint32_t to)
{
    enum { MOST = 12 };
    for (uint32_t i = from; i < to && i - from < MOST; i++) {
        fputs(i > from ? ", " : "", out);
        text_name(out, types->members[type->order[i]].entity->name, 0);
    }
    if (to - from > MOST)
        fprintf(out, ", and %" PRIu32 " more", to - from - MOST);
}

static void write_split(FILE *out, const struct field_types *types, const struct field_type *type)
{
    if (!(type->uses > 0))
        return;
    fprintf(out, "    hot (%.0f%% of accesses, %" PRIu64 " bytes): ", 100 * FIELDS_HOT,
            hot_bytes(types, type));
    write_names(out, types, type, 0, type->hot);
    if (type->hot < type->count) {
        fputs("\n    cold: ", out);
        write_names(out, types, type, type->hot, type->count);
    }
    fputc('\n', out);
    if (!type->size || !type->placed)
        return;
    fprintf(out, "    hot members first: %" PRIu64 " bytes", type->proposed);
    if (type->proposed < type->size)
        fprintf(out, ", %" PRIu64 " less:", type->size - type->proposed);
    else if (type->proposed > type->size)
        fprintf(out, ", %" PRIu64 " more:", type->proposed - type->size);
    else
        fputs(", as many:", out);
    for (uint32_t i = 0; i < type->placed; i++) {
        fprintf(out, "%s %" PRIu64 " ", i ? "," : "", type->layout[i].offset);
        text_name(out, types->members[type->layout[i].member].entity->name, 0);
    }
    fputc('\n', out);
}

static bool in_type(const struct field_type *type, const struct field_pair *p)
{
    return p->a >= type->first && p->a - type->first < type->count && p->b >= type->first &&
           p->b - type->first < type->count;
}

static void write_pairs(FILE *out, const struct field_types *types, const struct field_type *type,
                        bool shared)
{
    const struct field_pair *list = shared ? types->shared : types->together;
    uint32_t count = shared ? types->shared_count : types->together_count;
    char number[TEXT_NUMBER_SIZE];
    for (uint32_t i = 0, rows = 0; i < count && rows < PAIRS; i++) {
        if (!in_type(type, &list[i]))
            continue;
        if (!rows++)
            fputs(shared ? "    one cache line, several threads (false sharing, if they use the "
                           "same object):\n"
                         : "    used together:\n", out);
        fprintf(out, "      %13s  ", text_count(number, (uint64_t)list[i].weight));
        text_name(out, types->members[list[i].a].entity->name, 0);
        fputs(shared ? " written by one, " : " and ", out);
        text_name(out, types->members[list[i].b].entity->name, 0);
        fputs(shared ? " used by another\n" : "\n", out);
    }
}

static void write_type(FILE *out, const struct report_style *style, const struct profile_events *t,
                       const struct field_types *types, const struct field_type *type)
{
    char number[TEXT_NUMBER_SIZE];
    text_colour(out, style, TEXT_BOLD);
    text_name(out, *type->name ? type->name : "[unnamed]", 0);
    text_colour(out, style, TEXT_PLAIN);
    fputs(" {  /* ", out);
    if (*type->file) {
        text_name(out, type->file, 0);
        fprintf(out, ":%" PRIu32 ", ", type->line);
    }
    fprintf(out, "size %" PRIu64 ", %" PRIu32 " members; %.1f%% of accesses: %s */\n", type->size,
            type->count, share_of(type->uses, types->uses),
            text_count(number, (uint64_t)type->uses));
    write_members(out, style, t, types, type);
    fputs("}\n", out);
    write_split(out, types, type);
    write_pairs(out, types, type, false);
    write_pairs(out, types, type, true);
}

static bool text(FILE *out, const struct view *v, const void *table,
                 const struct report_style *style, struct err *e)
{
    const struct profile_events *t = table;
    struct field_types types = {0};
    if (!t->count) {
        fputs("no accesses to fields were observed (record --carrier compiled, of a program that "
              "penumbra cc has built)\n", out);
        return true;
    }
    bool ok = fields_build(v->profile, t, &types);
    if (ok)
        events_header(out, t);
    uint32_t limit = style->limit && style->limit < TYPES ? style->limit : TYPES, rows = 0;
    for (; ok && rows < types.type_count && rows < limit; rows++) {
        const struct field_type *type = &types.types[rows];
        if (!(type->uses > 0) || share_of(type->uses, types.uses) < style->min)
            break;
        fputs(rows ? "\n" : "", out);
        write_type(out, style, t, &types, type);
    }
    if (ok && rows < types.type_count)
        fprintf(out, "%" PRIu32 " more types\n", types.type_count - rows);
    fields_free(&types);
    return ok || err_set(e, ERR_INTERNAL, "cannot put fields in order: out of memory");
}

/* ---- JSON ---- */

static void json_member(struct json *j, const struct profile_events *t,
                        const struct field_member *m, double all)
{
    struct interval ci = events_interval(t, uses_of(m), m->squares, all);
    json_open(j, '{');
    json_key_string(j, "name", m->entity->name);
    json_key_string(j, "type", m->type);
    json_key_u64(j, "offset", m->entity->at);
    json_key_u64(j, "bytes", m->entity->number);
    json_key_u64(j, "bits", m->bits);
    json_key_u64(j, "reads", (uint64_t)m->reads);
    json_key_u64(j, "writes", (uint64_t)m->writes);
    json_key_double(j, "share", share_of(uses_of(m), all));
    json_key_double(j, "share_low", 100 * ci.low);
    json_key_double(j, "share_high", 100 * ci.high);
    json_close(j, '}');
}

static void json_pairs(struct json *j, const char *key, const struct field_types *types,
                       const struct field_type *type, const struct field_pair *list,
                       uint32_t count)
{
    json_key(j, key);
    json_open(j, '[');
    for (uint32_t i = 0; i < count; i++) {
        if (!in_type(type, &list[i]))
            continue;
        json_open(j, '{');
        json_key_string(j, "first", types->members[list[i].a].entity->name);
        json_key_string(j, "second", types->members[list[i].b].entity->name);
        json_key_u64(j, "count", (uint64_t)list[i].weight);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_type(struct json *j, const struct profile_events *t,
                      const struct field_types *types, const struct field_type *type)
{
    json_open(j, '{');
    json_key_string(j, "name", type->name);
    json_key_string(j, "file", type->file);
    json_key_u64(j, "line", type->line);
    json_key_u64(j, "bytes", type->size);
    json_key_u64(j, "bytes_proposed", type->proposed);
    json_key_double(j, "share", share_of(type->uses, types->uses));
    json_key(j, "members");
    json_open(j, '[');
    for (uint32_t i = 0; i < type->count; i++)
        json_member(j, t, &types->members[type->first + i], types->uses);
    json_close(j, ']');
    json_key(j, "hot");
    json_open(j, '[');
    for (uint32_t i = 0; i < type->hot; i++)
        json_string(j, types->members[type->order[i]].entity->name);
    json_close(j, ']');
    json_key(j, "layout");
    json_open(j, '[');
    for (uint32_t i = 0; i < type->placed; i++) {
        json_open(j, '{');
        json_key_string(j, "name", types->members[type->layout[i].member].entity->name);
        json_key_u64(j, "offset", type->layout[i].offset);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_pairs(j, "together", types, type, types->together, types->together_count);
    json_pairs(j, "shared", types, type, types->shared, types->shared_count);
    json_close(j, '}');
}

/* Members "fields_interval", "fields_bursts", "fields_missed" and "types". */
static void json(struct json *j, const struct view *v, const void *table, uint32_t limit)
{
    static const struct profile_events none;
    const struct profile_events *t = table ? table : &none;
    struct field_types types = {0};
    bool ok = fields_build(v->profile, t, &types);
    j->out->failed |= !ok;
    json_key_u64(j, "fields_interval", t->most);
    json_key_u64(j, "fields_bursts", t->bursts);
    json_key_u64(j, "fields_missed", t->missed);
    json_key(j, "types");
    json_open(j, '[');
    for (uint32_t i = 0; ok && i < types.type_count && (!limit || i < limit); i++)
        json_type(j, t, &types, &types.types[i]);
    json_close(j, ']');
    fields_free(&types);
}

const struct table_view view_fields = {.text = text, .json = json};
