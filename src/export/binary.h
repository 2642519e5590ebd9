/* The program or library that an optimizer is to be fed for: which image of a profile it is, and
 * its code.
 *
 * A file is of an image if it has the same build-id, also if one of the two was stripped. Without
 * build-ids its size decides, and a remark says so.
 *
 * Context: ordinary code. Safe on any file.
 * Ownership: binary_close releases what binary_open made; the profile must outlive it. */
#ifndef PENUMBRA_EXPORT_BINARY_H
#define PENUMBRA_EXPORT_BINARY_H

#include "base/buf.h"
#include "profile/profile.h"
#include "symbols/code.h"

struct binary {
    const struct profile *profile;
    bool *is;          /* by image: it is this one, or another copy of the same build */
    uint32_t image;    /* the first of them */
    struct code *code;
};

/* file: NULL chooses the main program; of several, the one in which most was counted. Errors say
 * which build was recorded. Remarks, one a line, are appended. */
bool binary_open(struct binary *b, const struct profile *p, const char *file, struct buf *remarks,
                 struct err *e);
void binary_close(struct binary *b);

static inline bool binary_has(const struct binary *b, uint32_t image)
{
    return image < b->profile->image_count && b->is[image];
}

#endif
