/* What a recording tells its caller. Each function may be NULL: then nobody is told.
 *
 *     recording_start         note, warning; in_child
 *     recording_wait          warning, live, stopped
 *     recording_finish        note, warning, stopped, progress, finished; in_child
 *     recording_program_wait  stopped
 *
 * Context: all but in_child are called on the thread that is in the function of recording.h.
 * Ownership: what is passed is valid during the call. */
#ifndef PENUMBRA_COLLECTOR_CALLBACKS_H
#define PENUMBRA_COLLECTOR_CALLBACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/profile.h"

/* What has been counted so far. */
struct recording_live {
    uint64_t elapsed_ns;
    uint32_t processes, threads;
    uint32_t budget_ppm; /* 0: there is none */
    struct profile_totals totals;
};

struct recording_result {
    const struct profile *profile;
    const char *path;  /* of its file, without symbolic links */
    const char *shown; /* the same as the user may call it */
};

struct recording_callbacks {
    void *context;
    /* One sentence: how the recording differs from what was asked for, or from what one might
     * expect. Most are kept in the profile, too. */
    void (*note)(void *context, const char *sentence);
    /* A part of the recording has failed; the rest goes on. ERR_ATTACH: something of ours is left
     * in the process that was attached to. */
    void (*warning)(void *context, const struct err *what);
    /* Every quarter of a second. */
    void (*live)(void *context, const struct recording_live *live);
    /* Names of code are read: of so many files so far. After a second, then every three. */
    void (*progress)(void *context, unsigned done, unsigned all);
    /* The profile has been written. The program may go on. */
    void (*finished)(void *context, const struct recording_result *result);
    /* A terminal has stopped the program, and it has been stopped for a fifth of a second. True: it
     * is to go on. (The penumbra command stops itself meanwhile, so that the shell sees it.) False:
     * this is asked again after another fifth. */
    bool (*stopped)(void *context);
    /* In each process that the recording forks to execute a program (the one that is recorded, its
     * copies, a shell to measure with), before exec; and in those that read names. May make
     * async-signal-safe calls only, such as giving signals their actions back. In other processes
     * that it forks, which measure or run a module, the caller's signal handlers stay. */
    void (*in_child)(void *context);
};

void tell_note(const struct recording_callbacks *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Each line is a note. */
void tell_notes(const struct recording_callbacks *c, const char *lines);
void tell_warning(const struct recording_callbacks *c, const struct err *what);
void tell_in_child(const struct recording_callbacks *c);

#endif
