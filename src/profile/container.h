/* The container of a .pnb file: magic, header, section table, compressed and checksummed sections.
 * What is inside the sections is encode.c's and decode.c's (profiles) and live.c's (live files).
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

enum container_kind { CONTAINER_PROFILE = 0, CONTAINER_LIVE = 1 };

enum section_flags {
    SECTION_REQUIRED = 1, /* a reader that does not know the type must refuse the file */
    SECTION_ZSTD = 2,     /* one zstd frame; else the bytes as they are */
};

enum section_type {
    SECTION_META = 1,
    SECTION_REASONS = 2,
    SECTION_IMAGES = 3,
    SECTION_PROCESSES = 4,
    SECTION_FRAMES = 5,
    SECTION_THREADS = 6,
    SECTION_TREES = 7,
    SECTION_LIVE = 8,
    SECTION_PHASES = 16,
    SECTION_HEAP = 17,
    SECTION_RANKS = 18,
    SECTION_SANDBOXES = 19,
    SECTION_CPU_TIME = 20,
    SECTION_DELIVERED = 21,
    SECTION_COUNTS = 24,
    SECTION_BLOCKS = 25,
    SECTION_EDGES = 26,
    SECTION_LATENCIES = 27,
    SECTION_VALUES = 32,
    SECTION_HOTLISTS = 33,
    SECTION_TEXTS = 34,
    SECTION_UNOBSERVED = 35,
    SECTION_PATHS = 40,
    SECTION_STREAMS = 41,
    SECTION_SHADOWS = 44,
    SECTION_PLACES = 46,
    SECTION_STOPPED = 48,
    SECTION_INPUT = 50,
    SECTION_SPENT = 52,
    SECTION_SLEEPERS = 54,
    SECTION_PASSED = 56,
    SECTION_HUGE = 58,
    SECTION_NAMES = 60,
    SECTION_TYPES /* one more than the last known type */
};

/* ---- writing ---- */

struct section_out {
    enum section_type type;
    bool optional; /* a reader that does not know it may pass over it */
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

struct container {
    const char *name; /* of the file, for messages */
    const uint8_t *data;
    size_t size;
    uint32_t kind;
    struct section_in known[SECTION_TYPES]; /* by type; offset 0: not there */
};

/* Checks the header, the table and every checksum. Unknown sections are checked and passed over,
 * unless they are required. */
bool container_open(struct container *c, const uint8_t *data, size_t size, const char *name,
                    struct err *e);

/* The section's contents, decompressed; to free(). NULL: not there, or damaged. */
uint8_t *container_load(const struct container *c, enum section_type type, size_t *size,
                        struct err *e);

/* ---- section contents ---- */

/* Reads a section's contents. After the first failure everything reads as zero and *e is set. */
struct cursor {
    const uint8_t *data;
    size_t size, at;
    const struct container *file;
    enum section_type type;
    struct err *e;
    bool failed;
};

const char *section_name(enum section_type type);
/* Records "...: at byte N of section S: expected WHAT". Returns false. */
bool cursor_fail(struct cursor *c, const char *expected);
/* A LEB128 number of at most `max`. */
uint64_t cursor_uleb(struct cursor *c, uint64_t max, const char *what);
int64_t cursor_sleb(struct cursor *c, const char *what);
/* The number of items that follow, each of which takes at least `each` more bytes. */
uint32_t cursor_count(struct cursor *c, size_t each, const char *what);
const uint8_t *cursor_bytes(struct cursor *c, size_t size, const char *what);
/* A counted string, malloc'ed and terminated; NULL on failure. */
char *cursor_string(struct cursor *c, const char *what);
/* Nothing may be left over. */
bool cursor_end(struct cursor *c);

#endif
