#include "export/firefox_tables.h"

#include <stdlib.h>
#include <string.h>

#include "export/stack.h"

enum { NONE = UINT32_MAX }; /* an index that is null in the file */
enum { RESOURCE_LIBRARY = 1 };
#define PAGE UINT64_C(4096)

struct resource_key {
    uint32_t lib, name;
};
struct function_key {
    uint32_t name, source, resource;
};
struct native_key {
    uint64_t address;
    uint32_t lib, name;
};
struct frame_key {
    uint64_t address; /* UINT64_MAX: none */
    uint32_t function, native, line, depth, category, unused;
};
struct stack_key {
    uint32_t prefix, frame;
};
/* Keys are compared as bytes: no padding. */
_Static_assert(sizeof(struct function_key) == 12, "padding in a key");
_Static_assert(sizeof(struct native_key) == 16, "padding in a key");
_Static_assert(sizeof(struct frame_key) == 32, "padding in a key");

bool firefox_tables_ok(const struct firefox_tables *t)
{
    return intern_ok(&t->strings) && intern_ok(&t->sources) && intern_ok(&t->resources) &&
           intern_ok(&t->functions) && intern_ok(&t->natives) && intern_ok(&t->frames) &&
           intern_ok(&t->stacks) && intern_ok(t->libs);
}

void firefox_tables_fini(struct firefox_tables *t)
{
    struct intern *const all[] = {&t->strings, &t->sources, &t->resources, &t->functions,
                                  &t->natives, &t->frames,  &t->stacks};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        intern_fini(all[i]);
}

/* ---- from nodes ---- */

static enum firefox_category category_of(const struct profile *p, const struct profile_node *n)
{
    if (n->image < p->image_count)
        return p->images[n->image].flags & PROFILE_IMAGE_MAIN ? FIREFOX_PROGRAM : FIREFOX_LIBRARY;
    if (n->image != PROFILE_IMAGE_NONE)
        return FIREFOX_OTHER;
    if (!entity_is(n->offset))
        return FIREFOX_GENERATED;
    const struct profile_entity *entity = profile_entity_find(p, n->offset);
    uint32_t kind = entity ? entity->kind : ENTITY_KIND_COUNT;
    return kind == ENTITY_KERNEL                                     ? FIREFOX_KERNEL
           : kind == ENTITY_INTERPRETED || kind == ENTITY_GENERATED ? FIREFOX_GENERATED
                                                                     : FIREFOX_OTHER;
}

/* Addresses in a library count from where its first page is. */
static uint64_t in_library(const struct profile_image *image, uint64_t address)
{
    uint64_t first = image->first_vaddr & ~(PAGE - 1);
    return address >= first ? address - first : 0;
}

static uint32_t resource_of(struct firefox_tables *t, const struct profile_node *n)
{
    if (n->image >= t->profile->image_count)
        return NONE;
    const char *name = stack_image_name(t->symbols, n);
    struct resource_key key = {.lib = intern_add(t->libs, &n->image, sizeof n->image),
                               .name = intern_add_string(&t->strings, name)};
    return intern_add(&t->resources, &key, sizeof key);
}

static uint32_t source_of(struct firefox_tables *t, const char *file)
{
    if (!*file)
        return NONE;
    uint32_t name = intern_add_string(&t->strings, file);
    return intern_add(&t->sources, &name, sizeof name);
}

static uint32_t function_of(struct firefox_tables *t, const struct symbol_frame *frame,
                            uint32_t resource)
{
    struct function_key key = {.name = intern_add_string(&t->strings, frame->function),
                               .source = source_of(t, frame->file),
                               .resource = resource};
    return intern_add(&t->functions, &key, sizeof key);
}

/* The symbol that covers the address: the physical function. */
static uint32_t native_of(struct firefox_tables *t, const struct profile_node *n,
                          const struct symbol_frame *physical)
{
    if (n->image >= t->profile->image_count || !physical->start)
        return NONE;
    struct native_key key = {.address = in_library(&t->profile->images[n->image], physical->start),
                             .lib = intern_add(t->libs, &n->image, sizeof n->image),
                             .name = intern_add_string(&t->strings, physical->function)};
    return intern_add(&t->natives, &key, sizeof key);
}

static uint32_t stack_add(struct firefox_tables *t, uint32_t prefix, uint32_t frame)
{
    struct stack_key key = {prefix, frame};
    return intern_add(&t->stacks, &key, sizeof key);
}

/* The frames of a node, the physical one outermost, below `stack`. */
static uint32_t stack_of_node(struct firefox_tables *t, const struct profile_thread *thread,
                              uint32_t node, uint32_t stack)
{
    const struct profile_node *n = &thread->nodes[node];
    struct symbol_location at = stack_frames(t->profile, t->symbols, thread, node);
    uint32_t resource = resource_of(t, n);
    struct frame_key key = {.address = UINT64_MAX,
                            .native = native_of(t, n, &at.frames[at.count - 1]),
                            .category = category_of(t->profile, n)};
    if (n->image < t->profile->image_count)
        key.address = in_library(&t->profile->images[n->image], n->offset);
    for (uint32_t i = at.count; i-- > 0; key.depth++) {
        key.function = function_of(t, &at.frames[i], resource);
        key.line = at.frames[i].line;
        stack = stack_add(t, stack, intern_add(&t->frames, &key, sizeof key));
    }
    return stack;
}

/* The stack of weight that the root itself has. */
static uint32_t unknown_stack(struct firefox_tables *t)
{
    static const struct symbol_frame unknown = {.function = "[unknown]", .file = ""};
    struct frame_key key = {.address = UINT64_MAX, .native = NONE, .category = FIREFOX_OTHER};
    key.function = function_of(t, &unknown, NONE);
    return stack_add(t, FIREFOX_NO_STACK, intern_add(&t->frames, &key, sizeof key));
}

static bool has_weight(const struct profile *p, const struct profile_node *n)
{
    uint64_t any = n->self;
    for (uint32_t m = 1; m < p->metric_count; m++)
        any |= n->more[m - 1];
    return any != 0;
}

/* Parents come before their children (profile.h). */
uint32_t *firefox_stacks(struct firefox_tables *t, const struct profile_thread *thread)
{
    const struct profile_node *nodes = thread->nodes;
    uint32_t *stack_of = calloc((size_t)thread->node_count + 1, sizeof *stack_of);
    if (!stack_of || !thread->node_count)
        return stack_of;
    for (uint32_t i = thread->node_count; i-- > 1;) {
        stack_of[i] |= has_weight(t->profile, &nodes[i]);
        stack_of[nodes[i].parent] |= stack_of[i];
    }
    stack_of[0] = FIREFOX_NO_STACK;
    for (uint32_t i = 1; i < thread->node_count; i++)
        stack_of[i] = stack_of[i] ? stack_of_node(t, thread, i, stack_of[nodes[i].parent])
                                  : FIREFOX_NO_STACK;
    if (has_weight(t->profile, nodes))
        stack_of[0] = unknown_stack(t);
    return stack_of;
}

/* ---- to columns ---- */

static void column_begin(struct json *j, const char *name)
{
    json_key(j, name);
    json_open(j, '[');
}

static void put_index(struct json *j, uint32_t index)
{
    if (index == NONE)
        json_null(j);
    else
        json_u64(j, index);
}

/* A column of equal values. */
static void put_nulls(struct json *j, const char *name, uint32_t count)
{
    column_begin(j, name);
    for (uint32_t i = 0; i < count; i++)
        json_null(j);
    json_close(j, ']');
}
static void put_zeros(struct json *j, const char *name, uint32_t count)
{
    column_begin(j, name);
    for (uint32_t i = 0; i < count; i++)
        json_u64(j, 0);
    json_close(j, ']');
}
static void put_falses(struct json *j, const char *name, uint32_t count)
{
    column_begin(j, name);
    for (uint32_t i = 0; i < count; i++)
        json_bool(j, false);
    json_close(j, ']');
}

/* A column of the indices at `at` in the keys of a table. */
static void put_column(struct json *j, const char *name, const struct intern *from, size_t at)
{
    column_begin(j, name);
    for (uint32_t i = 0; i < from->count; i++) {
        uint32_t index;
        memcpy(&index, (const char *)intern_key(from, i) + at, sizeof index);
        put_index(j, index);
    }
    json_close(j, ']');
}
#define COLUMN(j, name, from, type, field) put_column(j, name, from, offsetof(struct type, field))

static void table_begin(struct json *j, const char *name, const struct intern *rows)
{
    json_key(j, name);
    json_open(j, '{');
    json_key_u64(j, "length", rows->count);
}

static void put_stack_table(struct json *j, const struct firefox_tables *t)
{
    table_begin(j, "stackTable", &t->stacks);
    COLUMN(j, "prefix", &t->stacks, stack_key, prefix);
    COLUMN(j, "frame", &t->stacks, stack_key, frame);
    json_close(j, '}');
}

static void put_frame_table(struct json *j, const struct firefox_tables *t)
{
    const struct intern *rows = &t->frames;
    table_begin(j, "frameTable", rows);
    column_begin(j, "address");
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct frame_key *key = intern_key(rows, i);
        if (key->address == UINT64_MAX)
            json_i64(j, -1);
        else
            json_u64(j, key->address);
    }
    json_close(j, ']');
    COLUMN(j, "inlineDepth", rows, frame_key, depth);
    COLUMN(j, "category", rows, frame_key, category);
    put_zeros(j, "subcategory", rows->count);
    COLUMN(j, "func", rows, frame_key, function);
    COLUMN(j, "nativeSymbol", rows, frame_key, native);
    put_nulls(j, "innerWindowID", rows->count);
    column_begin(j, "line");
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct frame_key *key = intern_key(rows, i);
        put_index(j, key->line ? key->line : NONE);
    }
    json_close(j, ']');
    put_nulls(j, "column", rows->count);
    json_close(j, '}');
}

static void put_func_table(struct json *j, const struct firefox_tables *t)
{
    const struct intern *rows = &t->functions;
    table_begin(j, "funcTable", rows);
    COLUMN(j, "name", rows, function_key, name);
    put_falses(j, "isJS", rows->count);
    put_falses(j, "relevantForJS", rows->count);
    column_begin(j, "resource");
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct function_key *key = intern_key(rows, i);
        json_i64(j, key->resource == NONE ? -1 : (int64_t)key->resource);
    }
    json_close(j, ']');
    COLUMN(j, "source", rows, function_key, source);
    put_nulls(j, "lineNumber", rows->count);
    put_nulls(j, "columnNumber", rows->count);
    json_close(j, '}');
}

static void put_natives(struct json *j, const struct firefox_tables *t)
{
    const struct intern *rows = &t->natives;
    table_begin(j, "nativeSymbols", rows);
    COLUMN(j, "libIndex", rows, native_key, lib);
    column_begin(j, "address");
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct native_key *key = intern_key(rows, i);
        json_u64(j, key->address);
    }
    json_close(j, ']');
    COLUMN(j, "name", rows, native_key, name);
    put_nulls(j, "functionSize", rows->count);
    json_close(j, '}');
}

static void put_resources(struct json *j, const struct firefox_tables *t)
{
    const struct intern *rows = &t->resources;
    table_begin(j, "resourceTable", rows);
    COLUMN(j, "lib", rows, resource_key, lib);
    COLUMN(j, "name", rows, resource_key, name);
    put_nulls(j, "host", rows->count);
    column_begin(j, "type");
    for (uint32_t i = 0; i < rows->count; i++)
        json_u64(j, RESOURCE_LIBRARY);
    json_close(j, ']');
    json_close(j, '}');
}

static void put_sources(struct json *j, const struct firefox_tables *t)
{
    table_begin(j, "sources", &t->sources);
    put_nulls(j, "uuid", t->sources.count);
    put_column(j, "filename", &t->sources, 0);
    json_close(j, '}');
}

void firefox_put_tables(struct firefox_tables *t, struct json *j)
{
    json_key(j, "shared");
    json_open(j, '{');
    put_stack_table(j, t);
    put_frame_table(j, t);
    put_func_table(j, t);
    put_natives(j, t);
    put_resources(j, t);
    put_sources(j, t);
    column_begin(j, "stringArray");
    for (uint32_t i = 0; i < t->strings.count; i++)
        json_string(j, intern_key(&t->strings, i));
    json_close(j, ']');
    json_close(j, '}');
}
