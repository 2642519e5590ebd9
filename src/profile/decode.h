/* Reading a profile's file while somebody watches; profile_read_memory is the same without.
 *
 * Context: ordinary code.
 * Ownership: a profile is the caller's; names and bytes that a watcher is told of are not. */
#ifndef PENUMBRA_PROFILE_DECODE_H
#define PENUMBRA_PROFILE_DECODE_H

#include "profile/container.h"
#include "profile/profile.h"

struct decode_watch {
    /* Before the fields of each section; a section that is not known has none. */
    void (*section)(void *watcher, const struct section_in *s, const char *name);
    void (*field)(void *watcher, const struct cursor_field *f);
    void *watcher;
};

/* As profile_read_memory; the watch may be NULL. What came before damage has been told. */
struct profile *profile_decode(const uint8_t *data, size_t size, const char *name,
                               const struct decode_watch *watch, struct err *e);

/* Without a watch, and as profile_read_summed. */
struct profile *profile_decode_summed(const uint8_t *data, size_t size, const char *name,
                                      enum profile_summing how, struct err *e);

#endif
