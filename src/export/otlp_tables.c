#include "export/otlp_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/stack.h"
#include "export/text.h"
#include "otlp.pb-c.h"

/* Fields of ProfilesDictionary. */
enum {
    MAPPING_TABLE = 1,
    LOCATION_TABLE,
    FUNCTION_TABLE,
    LINK_TABLE,
    STRING_TABLE,
    ATTRIBUTE_TABLE,
    STACK_TABLE,
};

/* Keys are compared as bytes: no padding. */
struct function_key {
    uint32_t name, file;
};
struct location_key {
    uint32_t image;   /* as in profile_node */
    uint32_t process; /* index + 1 where the address means something in one process only, else 0 */
    uint64_t offset;
};
struct attribute_key {
    uint32_t key, text; /* text: of a string, its number; 0: it is a number */
    int64_t number;
};
_Static_assert(sizeof(struct function_key) == 8, "padding in a key");
_Static_assert(sizeof(struct location_key) == 16, "padding in a key");
_Static_assert(sizeof(struct attribute_key) == 16, "padding in a key");

/* A location that stands for the frames left out of a deep stack. */
#define OFFSET_LEFT_OUT UINT64_MAX

/* ---- packing ---- */

static void put_head(struct buf *out, unsigned field, size_t size)
{
    enum { LENGTH_DELIMITED = 2, NUMBER_SHIFT = 3 };
    buf_put_uleb(out, field << NUMBER_SHIFT | LENGTH_DELIMITED);
    buf_put_uleb(out, size);
}

void otlp_put_message(struct buf *out, unsigned field, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    put_head(out, field, size);
    uint8_t *at = buf_reserve(out, size);
    if (at)
        out->size += protobuf_c_message_pack(message, at);
}

void otlp_put_bytes(struct buf *out, unsigned field, const struct buf *bytes)
{
    put_head(out, field, bytes->size);
    buf_put(out, bytes->data, bytes->size);
    out->failed |= !buf_ok(bytes);
}

/* ---- entries ---- */

int32_t otlp_string(struct otlp_tables *t, const char *string)
{
    return (int32_t)intern_add_string(&t->strings, string);
}

static int32_t attribute(struct otlp_tables *t, const struct attribute_key *key, Otlp__AnyValue *v)
{
    uint32_t before = t->attributes.count;
    uint32_t number = intern_add(&t->attributes, key, sizeof *key);
    Otlp__KeyValueAndUnit entry = OTLP__KEY_VALUE_AND_UNIT__INIT;
    entry.key_strindex = (int32_t)key->key;
    entry.value = v;
    if (t->attributes.count > before)
        otlp_put_message(&t->packed, ATTRIBUTE_TABLE, &entry.base);
    return (int32_t)number;
}

int32_t otlp_attribute_string(struct otlp_tables *t, const char *key, const char *value)
{
    struct attribute_key k = { .key = (uint32_t)otlp_string(t, key) };
    k.text = (uint32_t)otlp_string(t, *value ? value : "[unnamed]");
    Otlp__AnyValue v = OTLP__ANY_VALUE__INIT;
    char *text = strdup(*value ? value : "[unnamed]");
    if (text)
        text_clean_utf8(text);
    t->packed.failed |= !text;
    v.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
    v.string_value = text;
    int32_t index = attribute(t, &k, &v);
    free(text);
    return index;
}

int32_t otlp_attribute_number(struct otlp_tables *t, const char *key, int64_t value)
{
    const struct attribute_key k = { .key = (uint32_t)otlp_string(t, key), .number = value };
    Otlp__AnyValue v = OTLP__ANY_VALUE__INIT;
    v.value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
    v.int_value = value;
    return attribute(t, &k, &v);
}

static int32_t function(struct otlp_tables *t, const struct symbol_frame *frame)
{
    const struct function_key key = { .name = (uint32_t)otlp_string(t, frame->function),
                                      .file = (uint32_t)otlp_string(t, frame->file) };
    uint32_t before = t->functions.count;
    uint32_t number = intern_add(&t->functions, &key, sizeof key);
    Otlp__Function entry = OTLP__FUNCTION__INIT;
    entry.name_strindex = entry.system_name_strindex = (int32_t)key.name;
    entry.filename_strindex = (int32_t)key.file;
    if (t->functions.count > before)
        otlp_put_message(&t->packed, FUNCTION_TABLE, &entry.base);
    return (int32_t)number;
}

static void put_location(struct otlp_tables *t, const struct location_key *key,
                         const struct symbol_location *at)
{
    Otlp__Location entry = OTLP__LOCATION__INIT;
    Otlp__Line *lines = calloc(at->count, sizeof *lines);
    Otlp__Line **pointers = calloc(at->count, sizeof *pointers);
    for (uint32_t i = 0; lines && pointers && i < at->count; i++) {
        otlp__line__init(&lines[i]);
        lines[i].function_index = function(t, &at->frames[i]);
        lines[i].line = at->frames[i].line;
        pointers[i] = &lines[i];
    }
    entry.n_lines = at->count;
    entry.lines = pointers;
    if (key->image < t->profile->image_count) {
        entry.mapping_index = (int32_t)key->image + 1;
        entry.address = t->maps[key->image].bias + key->offset;
    } else if (key->image == PROFILE_IMAGE_NONE && !entity_is(key->offset)) {
        entry.address = key->offset;
    }
    if (lines && pointers)
        otlp_put_message(&t->packed, LOCATION_TABLE, &entry.base);
    else
        t->packed.failed = true;
    free(lines);
    free(pointers);
}

static uint32_t location(struct otlp_tables *t, const struct profile_thread *thread, uint32_t node)
{
    const struct profile_node *n = &thread->nodes[node];
    struct location_key key = { .image = n->image, .offset = n->offset };
    if (n->image == PROFILE_IMAGE_NONE && !entity_is(n->offset))
        key.process = thread->process + 1;
    uint32_t before = t->locations.count;
    uint32_t number = intern_add(&t->locations, &key, sizeof key);
    if (t->locations.count > before) {
        struct symbol_location at = stack_frames(t->profile, t->symbols, thread, node);
        put_location(t, &key, &at);
    }
    return number;
}

static uint32_t location_left_out(struct otlp_tables *t)
{
    static const struct symbol_frame frame = { .function = STACK_LEFT_OUT, .file = "" };
    const struct location_key key = { .image = PROFILE_IMAGE_PSEUDO, .offset = OFFSET_LEFT_OUT };
    uint32_t before = t->locations.count;
    uint32_t number = intern_add(&t->locations, &key, sizeof key);
    if (t->locations.count > before)
        put_location(t, &key, &(struct symbol_location){ .frames = &frame, .count = 1 });
    return number;
}

int32_t otlp_stack(struct otlp_tables *t, const struct profile_thread *thread, const uint32_t *path,
                   uint32_t length, uint32_t max_depth, bool *cut)
{
    enum { LOCATION_INDICES = 1 };
    struct stack_cut c = stack_cut_make(length, max_depth);
    struct buf ids = { 0 }, entry = { 0 };
    uint32_t tail = c.cut ? c.tail : length;
    for (uint32_t i = 0; i < tail; i++)
        buf_put_uleb(&ids, location(t, thread, path[length - 1 - i]));
    if (c.cut)
        buf_put_uleb(&ids, location_left_out(t));
    for (uint32_t i = c.cut ? c.head : 0; i-- > 0;)
        buf_put_uleb(&ids, location(t, thread, path[i]));
    if (!length)
        buf_put_uleb(&ids, location(t, thread, 0));
    uint32_t before = t->stacks.count;
    uint32_t number = intern_add(&t->stacks, ids.data, ids.size);
    otlp_put_bytes(&entry, LOCATION_INDICES, &ids);
    if (t->stacks.count > before)
        otlp_put_bytes(&t->packed, STACK_TABLE, &entry);
    t->packed.failed |= !buf_ok(&ids) || !buf_ok(&entry);
    buf_free(&ids);
    buf_free(&entry);
    *cut = c.cut;
    return (int32_t)number;
}

/* ---- the tables ---- */

bool otlp_tables_init(struct otlp_tables *t, const struct profile *p, const struct symbols *s)
{
    static const unsigned fields[] = { MAPPING_TABLE, LOCATION_TABLE, FUNCTION_TABLE,
                                       LINK_TABLE,    ATTRIBUTE_TABLE, STACK_TABLE };
    struct intern *const tables[] = { &t->strings, &t->functions, &t->locations, &t->stacks,
                                      &t->attributes };
    *t = (struct otlp_tables){ .profile = p, .symbols = s, .maps = pprof_maps_build(p) };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        intern_add_string(tables[i], "");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        put_head(&t->packed, fields[i], 0);
    return t->maps;
}

void otlp_tables_fini(struct otlp_tables *t)
{
    free(t->maps);
    intern_fini(&t->strings);
    intern_fini(&t->functions);
    intern_fini(&t->locations);
    intern_fini(&t->stacks);
    intern_fini(&t->attributes);
    buf_free(&t->packed);
}

static void put_mapping(struct otlp_tables *t, uint32_t image)
{
    const struct profile_image *from = &t->profile->images[image];
    char build_id[2 * PROFILE_BUILD_ID_MAX + 1] = "";
    int32_t attributes[1];
    for (uint32_t i = 0; i < from->build_id_size && i < PROFILE_BUILD_ID_MAX; i++)
        snprintf(build_id + 2 * (size_t)i, 3, "%02x", from->build_id[i]);
    Otlp__Mapping entry = OTLP__MAPPING__INIT;
    entry.memory_start = t->maps[image].start;
    entry.memory_limit = t->maps[image].limit;
    entry.filename_strindex = otlp_string(t, from->path);
    entry.attribute_indices = attributes;
    if (from->build_id_size) {
        attributes[0] = otlp_attribute_string(t, "process.executable.build_id.gnu", build_id);
        entry.n_attribute_indices = 1;
    }
    otlp_put_message(&t->packed, MAPPING_TABLE, &entry.base);
}

/* Strings come last: all the others may add some. They must be UTF-8. */
bool otlp_tables_put(struct otlp_tables *t, struct buf *out)
{
    for (uint32_t i = 0; i < t->profile->image_count; i++)
        put_mapping(t, i);
    buf_put(out, t->packed.data, t->packed.size);
    for (uint32_t i = 0; intern_ok(&t->strings) && i < t->strings.count; i++) {
        char *string = (char *)t->strings.keys.data + t->strings.entries[i].at;
        text_clean_utf8(string);
        put_head(out, STRING_TABLE, t->strings.entries[i].size);
        buf_put(out, string, t->strings.entries[i].size);
    }
    return intern_ok(&t->strings) && intern_ok(&t->functions) && intern_ok(&t->locations) &&
           intern_ok(&t->stacks) && intern_ok(&t->attributes) && buf_ok(&t->packed) && buf_ok(out);
}
