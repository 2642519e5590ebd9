#include "report/values.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "penumbra/module.h"
#include "report/values_internal.h"
#include "x86/format.h"

enum { STRING_LEAST = 3, STRING_MOST = 40, BYTES_LEAST = 4 };

struct value_reader *value_reader_new(const struct view *v, const struct symbols_options *options)
{
    const struct profile *p = v->profile;
    struct value_reader *r = observed_values(p) ? calloc(1, sizeof *r) : NULL;
    if (!r)
        return NULL;
    r->view = v;
    r->values = observed_values(p);
    r->options = *options;
    r->codes = calloc(p->image_count ? p->image_count : 1, sizeof *r->codes);
    r->tried = calloc(p->image_count ? p->image_count : 1, sizeof *r->tried);
    if (r->codes && r->tried)
        return r;
    value_reader_free(r);
    return NULL;
}

void value_reader_free(struct value_reader *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; r->codes && i < r->view->profile->image_count; i++)
        if (r->codes[i])
            code_close(r->codes[i]);
    free(r->codes);
    free(r->tried);
    free(r->sampled);
    free(r);
}

struct code *value_code(struct value_reader *r, uint32_t image)
{
    struct err ignored = { 0 };
    if (image >= r->view->profile->image_count)
        return NULL;
    if (!r->tried[image])
        r->codes[image] = code_open(&r->view->profile->images[image], &r->options, &ignored);
    r->tried[image] = true;
    return r->codes[image];
}

/* NULL: the place is none. */
const struct profile_entity *value_entity(struct value_reader *r, uint32_t image, uint64_t offset)
{
    return image == PROFILE_IMAGE_NONE && entity_is(offset)
               ? profile_entity_find(r->view->profile, offset)
               : NULL;
}

static const char value_separator[] = ": ";

const char *value_entity_name(const struct profile_entity *entity)
{
    const char *at = strstr(entity->name, value_separator);
    return at ? at + strlen(value_separator) : "";
}

void value_entity_function(const struct profile_entity *entity, char *out, size_t size)
{
    const char *end = strstr(entity->name, value_separator);
    size_t length = end ? (size_t)(end - entity->name) : strlen(entity->name);
    snprintf(out, size, "%.*s", (int)(length < size ? length : size), entity->name);
}

void value_place(struct value_reader *r, uint32_t image, uint64_t offset, char *out, size_t size)
{
    struct code_function f;
    struct code *code = value_code(r, image);
    const struct profile_entity *entity = value_entity(r, image, offset);
    if (entity && entity->kind == ENTITY_INSTRUCTION)
        snprintf(out, size, "%.200s+0x%" PRIx64, entity->name, entity->at);
    else if (entity)
        snprintf(out, size, "%s", entity->name);
    else if (code && code_function(code, offset, &f) && f.name[0])
        snprintf(out, size, offset == f.start ? "%.200s" : "%.200s+0x%" PRIx64, f.name,
                 offset - f.start);
    else if (image < r->view->profile->image_count)
        snprintf(out, size, "%.200s+0x%" PRIx64, symbols_image_name(r->view->symbols, image),
                 offset);
    else
        snprintf(out, size, "0x%" PRIx64, offset);
}

void value_function(struct value_reader *r, uint32_t image, uint64_t offset, char *out, size_t size)
{
    struct code_function f;
    struct code *code = value_code(r, image);
    const struct profile_entity *entity = value_entity(r, image, offset);
    if (entity) {
        value_entity_function(entity, out, size);
        return;
    }
    snprintf(out, size, "%.240s", code && code_function(code, offset, &f) ? f.name : "");
}

void value_assembly(struct value_reader *r, uint32_t image, uint64_t offset, char *out, size_t size)
{
    size_t available = 0;
    char text[X86_TEXT_SIZE] = "";
    struct code *code = value_code(r, image);
    const struct profile_entity *entity = value_entity(r, image, offset);
    if (entity && entity->kind == ENTITY_INSTRUCTION) {
        snprintf(out, size, "%s", entity->scope);
        return;
    }
    const uint8_t *bytes = code ? code_bytes(code, offset, &available) : NULL;
    if (bytes)
        x86_format(bytes, available < 15 ? available : 15, offset, NULL, NULL, text, sizeof text);
    snprintf(out, size, "%s", text);
}

void value_line(struct value_reader *r, uint32_t image, uint64_t offset, char *out, size_t size)
{
    const char *file, *directory;
    uint32_t line;
    struct code *code = value_code(r, image);
    const struct profile_entity *entity = value_entity(r, image, offset);
    out[0] = 0;
    if (entity && entity->kind == ENTITY_INSTRUCTION)
        return;
    if (entity) {
        const char *after = strrchr(entity->scope, '/');
        snprintf(out, size, "%.200s:%" PRIu64, after ? after + 1 : entity->scope, entity->at);
        return;
    }
    if (!code || !code_line(code, offset, &file, &directory, &line))
        return;
    const char *slash = strrchr(file, '/');
    snprintf(out, size, "%.200s:%" PRIu32, slash ? slash + 1 : file, line);
}

static bool is_printable(uint8_t c)
{
    return (c >= ' ' && c < 0x7f) || c == '\n' || c == '\t';
}

/* Whether a string is at the bytes; then it is in out, quoted, and cut. */
static bool quote(const uint8_t *bytes, size_t available, size_t least, char *out, size_t size)
{
    size_t length = 0, at = 0;
    while (length < available && length < STRING_MOST && is_printable(bytes[length]))
        length++;
    bool ended = length < available && bytes[length] == 0;
    if (length < least || (!ended && length < STRING_MOST) || size < 2 * STRING_MOST + 8)
        return false;
    out[at++] = '"';
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '"' || bytes[i] == '\\' || bytes[i] < ' ')
            out[at++] = '\\';
        out[at++] = bytes[i] == '\n' ? 'n' : bytes[i] == '\t' ? 't' : (char)bytes[i];
    }
    snprintf(out + at, size - at, ended ? "\"" : "\"...");
    return true;
}

static void address_text(struct value_reader *r, uint32_t image, uint64_t offset, char *out,
                         size_t size)
{
    size_t available = 0;
    struct code_function f;
    struct code *code = value_code(r, image);
    const uint8_t *bytes = code ? code_bytes(code, offset, &available) : NULL;
    if (!bytes || code_function(code, offset, &f) ||
        !quote(bytes, available, STRING_LEAST, out, size))
        value_place(r, image, offset, out, size);
}

/* Small numbers as they are; what sign extension made as negative; eight letters as letters; all
 * else in both bases. */
static void guess_text(uint64_t bits, char *out, size_t size)
{
    uint8_t bytes[9] = { 0 };
    const uint64_t negative = UINT64_C(0xffffffff00000000);
    memcpy(bytes, &bits, sizeof bits);
    if (quote(bytes, sizeof bytes, BYTES_LEAST, out, size))
        return;
    if (bits < 10)
        snprintf(out, size, "%" PRIu64, bits);
    else if (bits >= negative)
        snprintf(out, size, "%" PRId64, (int64_t)bits);
    else if (bits >= UINT64_C(0xfffff000) && bits <= UINT32_MAX)
        snprintf(out, size, "0x%" PRIx64 " (%" PRId32 ")", bits, (int32_t)(uint32_t)bits);
    else
        snprintf(out, size, "0x%" PRIx64 " (%" PRIu64 ")", bits, bits);
}

static void plain_text(const struct profile_value_kind *kind, uint64_t bits, char *out, size_t size)
{
    float one;
    double two;
    uint32_t low = (uint32_t)bits;
    switch (kind->format) {
    case PENUMBRA_SHOW_DECIMAL: snprintf(out, size, "%" PRIu64, bits); break;
    case PENUMBRA_SHOW_SIGNED: snprintf(out, size, "%" PRId64, (int64_t)bits); break;
    case PENUMBRA_SHOW_FLOAT:
        memcpy(&one, &low, sizeof one);
        snprintf(out, size, "%.9g", (double)one);
        break;
    case PENUMBRA_SHOW_DOUBLE:
        memcpy(&two, &bits, sizeof two);
        snprintf(out, size, "%.17g", two);
        break;
    case PENUMBRA_SHOW_NAME:
        if (bits < kind->name_count) {
            snprintf(out, size, "%s", kind->names[bits]);
            break;
        }
        snprintf(out, size, "%" PRIu64, bits);
        break;
    case PENUMBRA_SHOW_GUESS: guess_text(bits, out, size); break;
    default: snprintf(out, size, "0x%" PRIx64, bits);
    }
}

void value_text(struct value_reader *r, uint32_t kind, const struct hotlist_entry *entry, char *out,
                size_t size)
{
    static const char *const regions[REGION_COUNT] = {
        [REGION_OTHER] = "[somewhere]", [REGION_STACK] = "[stack]",
        [REGION_HEAP] = "[heap]", [REGION_MAPPED] = "[mapped]",
    };
    const char *text = profile_values_text(r->values, kind, entry);
    if (text)
        snprintf(out, size, "%s", text);
    else if (entry->space == HOTLIST_PLAIN)
        plain_text(&r->values->kinds[kind], entry->bits, out, size);
    else if (entry->space == HOTLIST_HASH)
        snprintf(out, size, "#%016" PRIx64, entry->bits);
    else if (entry->space == HOTLIST_REGION)
        snprintf(out, size, "%s", regions[entry->bits < REGION_COUNT ? entry->bits : REGION_OTHER]);
    else
        address_text(r, entry->space - HOTLIST_IMAGE, entry->bits, out, size);
}
