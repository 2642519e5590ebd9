/* The end of a recording: names of all addresses that were seen are read and put into the profile.
 *
 * Debug information may be large, slow to read, or broken. So a child process reads it, and sends
 * what it knows of one image after the other:
 *
 *     child   for each image, small files first: | length u64 | image u64 | names, as in the file |
 *     parent  takes them, until the child ends, the time is up, or somebody asks to stop
 *
 * Images that are missing then get what a second child finds in their symbol tables.
 *
 * Context: the recording's thread.
 * Ownership: arguments are only read; the profile owns its names. */
#ifndef PENUMBRA_COLLECTOR_RECORD_NAMES_H
#define PENUMBRA_COLLECTOR_RECORD_NAMES_H

#include <stdbool.h>

#include "collector/callbacks.h"
#include "collector/record_files.h"
#include "profile/profile.h"

struct record_names {
    struct record_files *files;      /* held open; NULL: none */
    void (*serve)(void *context);    /* called now and then meanwhile; NULL: nobody needs that */
    void *context;
    const struct recording_callbacks *callbacks; /* told how far it is; and in_child */
    /* atomic; when it changes, names that are missing are left out */
    const unsigned *hurried;
    bool gentle;                     /* the program goes on: it comes first */
    bool quick;                      /* symbol tables alone */
};

/* Returns of how many images names are missing since there was no time. */
unsigned record_names_add(const struct record_names *r, struct profile *p);

#endif
