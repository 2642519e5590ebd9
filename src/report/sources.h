/* Lines of source files, read as they are asked for.
 *
 * Only regular files of bounded size are read: the names come from debug information, which may
 * name anything.
 *
 * Context: ordinary code.
 * Ownership: strings live until sources_free. */
#ifndef PENUMBRA_REPORT_SOURCES_H
#define PENUMBRA_REPORT_SOURCES_H

#include <stdint.h>

struct sources;

struct sources *sources_new(void);
void sources_free(struct sources *s);

/* The path of a file named in debug information; "" without memory. */
const char *sources_path(struct sources *s, const char *directory, const char *file);

/* A line's text without its end (numbers from 1), "" if it cannot be read. path: of
 * sources_path. */
const char *sources_line(struct sources *s, const char *path, uint32_t line);

#endif
