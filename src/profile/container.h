/* The container of a .pnb file: magic, header, section table, compressed and checksummed sections.
 * What is inside the sections is kind/'s (profiles) and live.c's (live files).
 * docs/format.md is the reference; the numbers here and there are the same ones.
 *
 *     0   89 50 4e 42 0d 0a 1a 0a   magic, "\x89PNB\r\n\x1a\n"
 *     8   version      u32
 *    12   kind         u32          enum container_kind
 *    16   sections     u32          entries in the table
 *    20   checksum     u32          CRC-32 of bytes 0..19 and of the table
 *    24   table        40 bytes each:
 *           0 type u32 | 4 flags u32 | 8 offset u64 | 16 stored u64 | 24 raw u64
 *          32 checksum u32, of the stored bytes | 36 reserved u32, 0
 *   ...   sections, back to back, to the end of the file
 *
 * Context: ordinary code.
 * Ownership: a struct container borrows the file's bytes; container_load gives malloc'ed bytes. */
#ifndef PENUMBRA_PROFILE_CONTAINER_H
#define PENUMBRA_PROFILE_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define CONTAINER_VERSION 1u
#define CONTAINER_HEADER_SIZE 24u
#define CONTAINER_ENTRY_SIZE 40u
#define CONTAINER_SECTIONS_MAX 1024u
#define CONTAINER_RAW_MAX (UINT64_C(1) << 33) /* bytes of one section, decompressed */

enum container_kind {
    CONTAINER_PROFILE = 0,
    CONTAINER_LIVE = 1,
    CONTAINER_DICTIONARY = 2, /* what a database keeps: src/database/ */
    CONTAINER_COUNTS = 3,
    CONTAINER_BATCH = 4, /* what a daemon sends: src/fleet/ */
};

enum section_flags {
    SECTION_REQUIRED = 1, /* a reader that does not know the type must refuse the file */
    SECTION_ZSTD = 2,     /* one zstd frame; else the bytes as they are */
    SECTION_ALONE = 4,    /* refers to no other section, and may be there more than once */
};

/* A type of section, as far as a container knows it. */
struct section_type {
    uint32_t number;
    const char *name;
    uint32_t flags; /* SECTION_REQUIRED */
};

/* ---- writing ---- */

struct section_out {
    const struct section_type *type;
    struct buf raw;
};

/* The bytes of a file with these sections, malloc'ed; NULL on failure. Without
 * `compress`, sections are stored as they are. */
uint8_t *container_finish(enum container_kind kind, const struct section_out *sections,
                          uint32_t count, bool compress, size_t *size, struct err *e);

/* ---- reading ---- */

struct section_in {
    uint32_t type, flags;
    uint64_t offset, stored, raw;
    uint32_t checksum;
};

/* The types that a reader knows; NULL: it does not know this one. */
typedef const struct section_type *section_lookup(uint32_t number);

struct container {
    const char *name; /* of the file, for messages */
    const uint8_t *data;
    size_t size;
    uint32_t kind, count; /* of sections */
    section_lookup *lookup;
};

/* Checks the header, the table and every checksum; c->lookup is to be set. Unknown sections are
 * checked and passed over, unless they are required. */
bool container_open(struct container *c, const uint8_t *data, size_t size, const char *name,
                    struct err *e);

/* Section i of the table, after container_open. */
struct section_in container_section(const struct container *c, uint32_t i);
/* The section of that type; false: there is none. */
bool container_find(const struct container *c, uint32_t type, struct section_in *out);

/* The section's contents, decompressed; to free(). NULL: damaged, or no memory. */
uint8_t *container_load(const struct container *c, const struct section_in *s, size_t *size,
                        struct err *e);

/* ---- section contents ---- */

/* Told of each field that a cursor reads: where it begins, what it is, and its value: of the two,
 * bytes where they are not NULL. */
struct cursor_field {
    size_t at;
    const char *what;
    int64_t value;
    bool is_signed;
    const uint8_t *bytes;
    size_t size;
};
struct cursor_watch {
    void (*field)(void *watcher, const struct cursor_field *f);
    void *watcher;
};

/* Reads a section's contents. After the first failure everything reads as zero and *e is set. */
struct cursor {
    const uint8_t *data;
    size_t size, at;
    const char *file, *section; /* names, for messages */
    uint64_t offset;            /* of the section in the file */
    const struct cursor_watch *watch; /* may be NULL */
    struct err *e;
    bool failed;
};

/* Records "...: at byte N of section S: expected WHAT". Returns false. */
bool cursor_fail(struct cursor *c, const char *expected);
uint64_t cursor_uleb_any(struct cursor *c, uint64_t max, const char *what);
int64_t cursor_sleb_any(struct cursor *c, const char *what);

/* Most numbers are one byte, which nobody watches. */
static inline bool cursor_is_short(const struct cursor *c)
{
    return c->at < c->size && c->data[c->at] < 0x80 && !c->failed && !c->watch;
}

/* A LEB128 number of at most `max`. */
static inline uint64_t cursor_uleb(struct cursor *c, uint64_t max, const char *what)
{
    return cursor_is_short(c) && c->data[c->at] <= max ? c->data[c->at++]
                                                       : cursor_uleb_any(c, max, what);
}

static inline int64_t cursor_sleb(struct cursor *c, const char *what)
{
    return cursor_is_short(c) ? (int64_t)(c->data[c->at++] ^ 0x40) - 0x40
                              : cursor_sleb_any(c, what);
}

/* A column: `count` numbers of any size in a row. */
void cursor_ulebs(struct cursor *c, uint64_t *out, uint32_t count, const char *what);
void cursor_slebs(struct cursor *c, int64_t *out, uint32_t count, const char *what);

/* The number of items that follow, each of which takes at least `each` more bytes. */
uint32_t cursor_count(struct cursor *c, size_t each, const char *what);
const uint8_t *cursor_bytes(struct cursor *c, size_t size, const char *what);
/* A counted string, neither copied nor terminated; NULL on failure. */
const char *cursor_text(struct cursor *c, uint32_t *length, const char *what);
/* The same, malloc'ed and terminated. */
char *cursor_string(struct cursor *c, const char *what);
/* Nothing may be left over. */
bool cursor_end(struct cursor *c);

#endif
