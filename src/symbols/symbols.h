/* From (image, link-time address) to function, file, line and inlined frames, through elfutils.
 * Only at report time, never while a program runs.
 *
 * Separate debug files are found by build-id (/usr/lib/debug/.build-id, $DEBUGINFOD_URLS through
 * libdebuginfod when configured) and by .gnu_debuglink. A file whose build-id differs from the
 * profile's is not used for symbols, and that is said once (symbols_warnings).
 *
 * Names that the profile keeps (profile/names.h) come first: a file is opened only for what is not
 * kept, and replaces what is kept only if it is of the same build and knows more.
 *
 * Context: ordinary code, one thread a struct symbols.
 * Ownership: strings returned live as long as the struct symbols. */
#ifndef PENUMBRA_SYMBOLS_SYMBOLS_H
#define PENUMBRA_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/profile.h"

struct symbols;

/* In the order in which people name a place; the padding costs little, there is one a function.
 * NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding) */
struct symbol_frame {
    const char *function; /* demangled; "[name+0x12ab]" of the image where nothing is known */
    const char *file;     /* "" if unknown */
    uint32_t line;        /* 0 if unknown */
    uint64_t start;       /* link-time address of the (outermost) function; 0 if unknown */
    bool inlined;         /* this frame was inlined into the next one */
    bool unnamed;         /* function only says where it is */
};

/* Everything that a node's address means, innermost first; frames[count - 1] is the physical
 * function. Valid until symbols_free. */
struct symbol_location {
    const struct symbol_frame *frames;
    uint32_t count; /* at least 1 */
};

enum symbols_detail {
    SYMBOLS_QUICK,     /* symbol tables only, no DWARF */
    SYMBOLS_FUNCTIONS, /* and inlined frames, but no files and lines: half the time */
    SYMBOLS_LINES,     /* everything */
};

struct symbols_options {
    enum symbols_detail detail;
    const char *debug_path; /* one more root of separate debug files, or NULL */
    /* The image's file where its path does not lead to it: a descriptor, which is closed
     * afterwards, or -1. NULL: nobody holds one. */
    int (*open_image)(void *context, const struct profile_image *image);
    /* What is known of an image, as soon as it is; small files come first. False: enough. */
    bool (*image_done)(void *context, const struct symbols *s, uint32_t image);
    void *context; /* of both */
};

/* Resolves all distinct addresses of p at once (sorted by image and address), with a progress bar
 * on standard error if that is a terminal and it takes more than a second. quick: symbol tables
 * only, no DWARF. NULL only without memory. p must outlive the result. */
struct symbols *symbols_load(const struct profile *p, bool quick, struct err *e);
/* symbols_load with a finer choice: quick is SYMBOLS_QUICK, otherwise SYMBOLS_LINES. */
struct symbols *symbols_load_with(const struct profile *p, const struct symbols_options *options,
                                  struct err *e);
void symbols_free(struct symbols *s);

struct symbol_location symbols_find(const struct symbols *s, const struct profile_process *process,
                                    uint32_t image, uint64_t offset);

/* Keeps the names of an image in `names`, which is of the same profile's images and has none of
 * this one; of images whose file was not there it keeps nothing. s: with SYMBOLS_LINES. False
 * without memory. */
bool symbols_keep_image(const struct symbols *s, uint32_t image, struct profile_names *names);
/* Makes all names those that the profile keeps. */
bool symbols_keep(const struct symbols *s, struct profile *p, struct err *e);

/* Short name of an image for people: "libc.so.6", "[vdso]", "[jit]". */
const char *symbols_image_name(const struct symbols *s, uint32_t image);

/* The same of a place, which may be an entity (profile/entities.h): "[kernel]". */
const char *symbols_place_name(const struct symbols *s, uint32_t image, uint64_t offset);

/* The profile whose names they are. */
const struct profile *symbols_profile(const struct symbols *s);

/* Sentences, one a line, on images whose file is gone, changed, or has no symbols, and on
 * runtimes that do not say what the code is called that they generate. */
const char *symbols_warnings(const struct symbols *s);

#endif
