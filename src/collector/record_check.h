/* Can this program be recorded, and can the profile be written? Asked before anything is started or
 * left behind; each way to fail has its own message and exit status (docs/exit-status.md).
 *
 * Context: the main thread.
 * Ownership: strings in the structs are inside them. */
#ifndef PENUMBRA_COLLECTOR_RECORD_CHECK_H
#define PENUMBRA_COLLECTOR_RECORD_CHECK_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "sigsafe/elf_probe.h"

struct record_program {
    char path[PATH_MAX]; /* the file that will be executed */
    bool shell_script;   /* no #! line: runs through /bin/sh, as execvp does */
    bool without_library; /* nothing is preloaded: it may be static. The caller's */
    bool any;             /* nor is it entered: whatever the kernel executes. The caller's */
    char first[ELF_PROBE_NAME_MAX]; /* what goes before our library (preload.h), or "" */
};

/* Finds `name` as execvp would (PATH, unless it holds a slash) and checks that it is a dynamically
 * linked x86-64 program of glibc's, or a script whose interpreters lead to one. */
bool record_check_program(const char *name, struct record_program *out, struct err *e);

/* Resolves symbolic links of `output` into path[PATH_MAX], and checks that the profile can be
 * written there: a file is made beside it and removed again. (A device or a pipe is only asked for
 * permission.) */
bool record_check_output(const char *output, char *path, struct err *e);

/* That there is a /proc, and that it is this process's. */
bool record_check_proc(struct err *e);

/* libpenumbra-rt.so: $PENUMBRA_RUNTIME, or beside the penumbra command, or where it is installed.
 * family: NULL, or of the interposed functions it must have (events.h). */
bool record_find_runtime(char *path, unsigned size, const char *family, struct err *e);

#endif
