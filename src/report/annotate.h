/* One function's instructions with what was counted at each, beside their source.
 *
 * Where a profile has block counts, an instruction's count is how often it was executed: the sum
 * over the blocks that cover it. In a simulation it is cycles. Else it is the samples that were
 * taken there.
 *
 * Context: ordinary code. Safe on any profile and any image file.
 * Ownership: annotation_free releases an annotation; its strings live until then. The view outlives
 * it. */
#ifndef PENUMBRA_REPORT_ANNOTATE_H
#define PENUMBRA_REPORT_ANNOTATE_H

#include "base/buf.h"
#include "report/json.h"
#include "report/report.h"
#include "report/values.h"

#define ANNOTATION_BYTES_MAX (1u << 22) /* a longer function is cut here */

struct annotation_line {
    uint64_t address; /* link-time; of the kernel's: distance from the function's begin */
    uint64_t place;   /* what values and tables know it by: the address, or an entity */
    uint32_t bytes;   /* 0: not known */
    uint64_t count;
    char *text;       /* disassembly, targets named */
    const char *file; /* "" if the source line is not known */
    uint32_t line;
    const char *source; /* its text, "" if it cannot be read */
    bool kernel;      /* samples behind a system call: of time in it */
    bool is_branch;   /* edges leave it */
    /* times the edges leave it at all, and other than to the next instruction */
    uint64_t left, taken;
};

enum annotation_unit { ANNOTATION_SAMPLES, ANNOTATION_EXECUTIONS, ANNOTATION_CYCLES };

struct annotation {
    char *function, *image;
    char *others; /* functions that the pattern names, too; NULL: none */
    uint64_t start, end;
    enum annotation_unit unit; /* of counts */
    bool any_kernel; /* of its lines */
    bool cut;        /* at ANNOTATION_BYTES_MAX */
    bool unread;     /* some of its lines have no text: the kernel's code could not be read */
    uint64_t total;  /* sum of the counts */
    struct annotation_line *lines;
    uint32_t line_count;
    struct sources *sources;
    struct value_reader *values; /* NULL: the profile has none */
    const struct view *view;
    uint32_t image_index; /* PROFILE_IMAGE_NONE: of the kernel's */
};

/* pattern: a function that view_match finds in `v` (a view with no_inline), or "image+0xoffset",
 * any place of the image. Of several the one of which it is the whole name (view_is_whole_name).
 * Errors: nothing, or more than one function is named so; its code cannot be read. */
struct annotation *annotate(const struct view *v, const char *pattern,
                            const struct symbols_options *options, struct err *e);
/* The same for the function around a link-time address of an image. */
struct annotation *annotate_place(const struct view *v, uint32_t image, uint64_t address,
                                  const struct symbols_options *options, struct err *e);
void annotation_free(struct annotation *a);

void report_annotation(FILE *out, const struct annotation *a, const struct report_style *style);
void annotation_json(struct json *j, const struct annotation *a);

#endif
