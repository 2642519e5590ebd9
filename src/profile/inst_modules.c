#include "profile/inst_modules.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "penumbra/inst.h"
#include "sigsafe/settings.h"

enum { EVENTS_MOST = 4096, FIELDS_MOST = 65536, STRING_MOST = 4096 };

static const uint32_t sizes[INST_TABLES] = {
    [INST_FUNCTIONS] = sizeof(struct penumbra_inst_function),
    [INST_BLOCKS] = sizeof(struct penumbra_inst_block),
    [INST_EVENTS] = sizeof(struct penumbra_inst_event),
    [INST_VALUES] = sizeof(struct penumbra_inst_value),
    [INST_TYPES] = sizeof(struct penumbra_inst_type),
    [INST_FIELDS] = sizeof(struct penumbra_inst_field),
    [INST_STRINGS] = 1,
};

/* ---- tables ---- */

static uint32_t records(const struct inst_module_view *m, enum inst_table table)
{
    uint64_t n = m->tables[table].bytes / sizes[table];
    return n < UINT32_MAX / 2 ? (uint32_t)n : 0;
}

/* *left: bytes of tables that may still be looked at. False without memory. */
static bool view_make(struct spool_view *v, const struct spool_module *from, uint64_t *left,
                      struct inst_module_view *to)
{
    *to = (struct inst_module_view){.flags = from->flags, .first = from->first, .ids = from->ids};
    for (unsigned i = 0; i < INST_TABLES; i++) {
        uint64_t bytes = from->tables[i].bytes;
        const void *copy =
            bytes && bytes <= *left ? spool_at(&v->spool, from->tables[i].copy, bytes) : NULL;
        v->damage += bytes && !copy;
        *left -= copy ? bytes : 0;
        to->tables[i] = (struct inst_table_view){copy, from->tables[i].at, copy ? bytes : 0};
    }
    to->blocks = records(to, INST_BLOCKS);
    to->values = records(to, INST_VALUES);
    to->fields = records(to, INST_FIELDS);
    to->types = records(to, INST_TYPES);
    to->field = calloc((size_t)to->fields + 1, sizeof *to->field);
    to->type = calloc((size_t)to->types + 1, sizeof *to->type);
    return to->field && to->type;
}

static int compare_modules(const void *a, const void *b)
{
    const struct inst_module_view *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

struct inst_modules *inst_modules_read(struct spool_view *v)
{
    const struct inst_settings *settings = settings_inst_as(&v->spool);
    struct record_list list = {0};
    struct inst_modules *m = calloc(1, sizeof *m);
    uint64_t left = v->spool.mapped;
    bool ok = m && (!settings || spool_view_list(v, &settings->modules,
                                                 sizeof(struct spool_module), &list));
    if (ok)
        m->list = calloc((size_t)list.count + 1, sizeof *m->list);
    ok = ok && m->list;
    for (uint32_t i = 0; ok && i < list.count; i++)
        ok = view_make(v, list.records[i], &left, &m->list[m->count++]);
    free(list.records);
    if (!ok) {
        inst_modules_free(m);
        return NULL;
    }
    qsort(m->list, m->count, sizeof *m->list, compare_modules);
    return m;
}

void inst_modules_free(struct inst_modules *m)
{
    for (uint32_t i = 0; m && m->list && i < m->count; i++) {
        free(m->list[i].field);
        free(m->list[i].type);
    }
    if (m) {
        entity_batch_free(&m->entities);
        free(m->list);
    }
    free(m);
}

struct inst_module_view *inst_modules_find(struct inst_modules *m, uint32_t id)
{
    uint32_t low = ARRAY_LEADING(m->count, i, m->list[i].first <= id);
    struct inst_module_view *found = low ? &m->list[low - 1] : NULL;
    return found && id - found->first < found->ids ? found : NULL;
}

/* A copy of a record: the program may write to the spool meanwhile. False: there is none. */
static bool record_get(const struct inst_module_view *m, enum inst_table table, uint32_t number,
                       void *out)
{
    if (number >= records(m, table))
        return false;
    memcpy(out, m->tables[table].copy + (uint64_t)number * sizes[table], sizes[table]);
    return true;
}

/* Where the reference in a member of a record leads: bytes from the start of that table. 0 is a
 * reference to nothing: false. */
static bool follow(const struct inst_module_view *m, enum inst_table table, uint32_t number,
                   size_t member, int32_t reference, enum inst_table to, uint64_t *at)
{
    uint64_t from = m->tables[table].at + (uint64_t)number * sizes[table] + member;
    *at = from + (uint64_t)(int64_t)reference - m->tables[to].at;
    return reference && *at < m->tables[to].bytes;
}

static bool follow_record(const struct inst_module_view *m, enum inst_table table, uint32_t number,
                          size_t member, int32_t reference, enum inst_table to, uint32_t *out)
{
    uint64_t at;
    if (!follow(m, table, number, member, reference, to, &at) || at % sizes[to])
        return false;
    *out = (uint32_t)(at / sizes[to]);
    return *out < records(m, to);
}

/* NULL: none. */
static const char *follow_string(const struct inst_module_view *m, enum inst_table table,
                                 uint32_t number, size_t member, int32_t reference)
{
    uint64_t at;
    if (!follow(m, table, number, member, reference, INST_STRINGS, &at))
        return NULL;
    uint64_t left = m->tables[INST_STRINGS].bytes - at;
    const char *string = (const char *)m->tables[INST_STRINGS].copy + at;
    return memchr(string, 0, left < STRING_MOST ? left : STRING_MOST) ? string : NULL;
}

#define STRING_OF(m, table, number, record, member)                                                \
    follow_string(m, table, number, offsetof(__typeof__(record), member), (record).member)

/* ---- events ---- */

static bool block_get(const struct inst_module_view *m, uint32_t block,
                      struct penumbra_inst_block *b, uint32_t *first)
{
    return record_get(m, INST_BLOCKS, block, b) &&
           follow_record(m, INST_BLOCKS, block, offsetof(struct penumbra_inst_block, events),
                         b->events, INST_EVENTS, first);
}

uint32_t inst_block_events(const struct inst_module_view *m, uint32_t block)
{
    struct penumbra_inst_block b;
    uint32_t first;
    if (!block_get(m, block, &b, &first))
        return 0;
    uint32_t most = records(m, INST_EVENTS) - first;
    most = most < EVENTS_MOST ? most : EVENTS_MOST;
    return b.n < most ? b.n : most;
}

/* Of a function: its file, and its name where *name is NULL. */
static bool place_of(const struct inst_module_view *m, uint32_t function, const char **name,
                     const char **file)
{
    struct penumbra_inst_function f;
    if (!record_get(m, INST_FUNCTIONS, function, &f))
        return false;
    const char *own = STRING_OF(m, INST_FUNCTIONS, function, f, name);
    *file = STRING_OF(m, INST_FUNCTIONS, function, f, file);
    *name = *name ? *name : own;
    *file = *file ? *file : "";
    return *name != NULL;
}

bool inst_event(const struct inst_module_view *m, uint32_t block, uint32_t number,
                struct inst_event_view *out)
{
    struct penumbra_inst_block b;
    struct penumbra_inst_event e;
    uint32_t first, function;
    if (!block_get(m, block, &b, &first) || !record_get(m, INST_EVENTS, first + number, &e) ||
        !follow_record(m, INST_BLOCKS, block, offsetof(struct penumbra_inst_block, function),
                       b.function, INST_FUNCTIONS, &function))
        return false;
    *out = (struct inst_event_view){.kind = e.kind, .line = e.line, .site = e.site};
    if (e.kind == PENUMBRA_INST_EDGE) {
        struct penumbra_inst_function f;
        out->edge = e.aux;
        if (e.source != UINT16_MAX && record_get(m, INST_FUNCTIONS, function, &f))
            out->from = f.line + e.source;
    }
    out->caller = STRING_OF(m, INST_EVENTS, first + number, e, caller);
    if (!place_of(m, function, &out->caller, &out->file))
        return false;
    size_t what = offsetof(struct penumbra_inst_event, what);
    if (e.kind == PENUMBRA_INST_READ || e.kind == PENUMBRA_INST_WRITE)
        return follow_record(m, INST_EVENTS, first + number, what, e.what, INST_FIELDS,
                             &out->field);
    if (e.kind == PENUMBRA_INST_CALL || e.kind == PENUMBRA_INST_INLINED)
        out->callee = STRING_OF(m, INST_EVENTS, first + number, e, what);
    return out->callee || (e.kind != PENUMBRA_INST_CALL && e.kind != PENUMBRA_INST_INLINED);
}

bool inst_value(const struct inst_module_view *m, uint32_t value, struct inst_value_view *out)
{
    struct penumbra_inst_value v;
    uint32_t function;
    if (!record_get(m, INST_VALUES, value, &v) ||
        !follow_record(m, INST_VALUES, value, offsetof(struct penumbra_inst_value, function),
                       v.function, INST_FUNCTIONS, &function))
        return false;
    *out = (struct inst_value_view){.kind = v.kind, .line = v.line, .index = v.index};
    out->name = STRING_OF(m, INST_VALUES, value, v, name);
    out->name = out->name ? out->name : "";
    out->caller = STRING_OF(m, INST_VALUES, value, v, caller);
    if (!follow_record(m, INST_VALUES, value, offsetof(struct penumbra_inst_value, type), v.type,
                       INST_TYPES, &out->type))
        out->type = UINT32_MAX;
    return place_of(m, function, &out->caller, &out->file);
}

bool inst_target(const struct inst_module_view *m, uint32_t value, struct inst_event_view *out)
{
    struct inst_value_view v;
    if (!inst_value(m, value, &v) || v.kind != PENUMBRA_INST_TARGET)
        return false;
    *out = (struct inst_event_view){.line = v.line, .site = v.index, .caller = v.caller,
                                    .file = v.file};
    return true;
}

/* ---- types ---- */

static uint64_t entity_make(struct entity_batch *b, uint32_t kind, const char *name,
                            const char *scope, uint64_t at, uint64_t number)
{
    struct profile_entity e = {.kind = kind, .name = (char *)(uintptr_t)name,
                               .scope = (char *)(uintptr_t)scope, .at = at, .number = number};
    return entity_batch_add(b, &e);
}

static uint64_t type_entity(struct inst_module_view *m, struct entity_batch *b, uint32_t type,
                            const char **name)
{
    struct penumbra_inst_type t;
    if (!record_get(m, INST_TYPES, type, &t))
        return 0;
    *name = STRING_OF(m, INST_TYPES, type, t, name);
    const char *file = STRING_OF(m, INST_TYPES, type, t, file);
    *name = *name ? *name : "";
    if (!m->type[type])
        m->type[type] = entity_make(b, ENTITY_TYPE, *name, file ? file : "", t.line, t.size);
    return m->type[type];
}

uint64_t inst_type(struct inst_module_view *m, struct entity_batch *b, uint32_t type)
{
    const char *name;
    return type_entity(m, b, type, &name);
}

uint64_t inst_field(struct inst_module_view *m, struct entity_batch *b, uint32_t field,
                    uint32_t *news)
{
    struct penumbra_inst_field f;
    struct inst_field_view *v = &m->field[field < m->fields ? field : m->fields];
    const char *scope = NULL;
    *news = UINT32_MAX;
    if (v->entity)
        return v->entity;
    if (!record_get(m, INST_FIELDS, field, &f) ||
        !follow_record(m, INST_FIELDS, field, offsetof(struct penumbra_inst_field, type), f.type,
                       INST_TYPES, &v->type))
        return 0;
    bool known = m->type[v->type];
    const char *name = STRING_OF(m, INST_FIELDS, field, f, name);
    if (!type_entity(m, b, v->type, &scope))
        return 0;
    v->first_bit = f.offset;
    v->entity = entity_make(b, ENTITY_FIELD, name ? name : "", scope, f.offset / 8,
                            f.size / 8 + (f.size % 8 != 0));
    *news = known ? UINT32_MAX : v->type;
    return v->entity;
}

uint32_t inst_type_fields(const struct inst_module_view *m, uint32_t type, uint32_t *first)
{
    struct penumbra_inst_type t;
    if (!record_get(m, INST_TYPES, type, &t) ||
        !follow_record(m, INST_TYPES, type, offsetof(struct penumbra_inst_type, fields), t.fields,
                       INST_FIELDS, first))
        return 0;
    uint32_t most = m->fields - *first;
    most = most < FIELDS_MOST ? most : FIELDS_MOST;
    return t.n < most ? t.n : most;
}

bool inst_member(const struct inst_module_view *m, struct entity_batch *b, uint32_t field,
                 struct inst_member *out)
{
    struct penumbra_inst_field f;
    if (!record_get(m, INST_FIELDS, field, &f))
        return false;
    const char *name = STRING_OF(m, INST_FIELDS, field, f, type_name);
    bool bits = f.flags & PENUMBRA_INST_BITFIELD;
    *out = (struct inst_member){.type = entity_make(b, ENTITY_TYPE, name ? name : "", "", 0, 0),
                                .align = f.align,
                                .bits = bits ? f.size & UINT32_MAX : 0,
                                .first_bit = bits ? f.offset & UINT32_MAX : 0,
                                .flags = f.flags};
    return out->type;
}
