#include "report/dump.h"

#include <inttypes.h>

#include "profile/decode.h"

static void print_section(void *watcher, const struct section_in *s, const char *name)
{
    fprintf(watcher, "section %" PRIu32 ": %s (%s%s%" PRIu64 " bytes", s->type, name,
            s->flags & SECTION_REQUIRED ? "required, " : "",
            s->flags & SECTION_ALONE ? "refers to no other, " : "", s->raw);
    if (s->flags & SECTION_ZSTD)
        fprintf(watcher, ", stored in %" PRIu64, s->stored);
    fprintf(watcher, ")\n");
}

static void print_bytes(FILE *out, const uint8_t *bytes, size_t size)
{
    fputc('"', out);
    for (size_t i = 0; i < size; i++)
        if (bytes[i] == '"' || bytes[i] == '\\')
            fprintf(out, "\\%c", bytes[i]);
        else if (bytes[i] >= 0x20 && bytes[i] < 0x7f)
            fputc(bytes[i], out);
        else
            fprintf(out, "\\x%02x", bytes[i]);
    fputc('"', out);
}

static void print_field(void *watcher, const struct cursor_field *f)
{
    fprintf(watcher, "%8zu  %s: ", f->at, f->what);
    if (f->bytes)
        print_bytes(watcher, f->bytes, f->size);
    else if (f->is_signed)
        fprintf(watcher, "%" PRId64, f->value);
    else
        fprintf(watcher, "%" PRIu64, (uint64_t)f->value);
    fputc('\n', watcher);
}

bool report_dump(FILE *out, const uint8_t *data, size_t size, const char *name, struct err *e)
{
    const struct decode_watch watch = {print_section, print_field, out};
    struct profile *p = profile_decode(data, size, name, &watch, e);
    profile_free(p);
    return p != NULL;
}
