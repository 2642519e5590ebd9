/* Files that names are read from at the end of a recording, while they can still be reached: those
 * of processes in another mount namespace, and those that are deleted or replaced meanwhile.
 *
 *     image    ──> its file, by its path here, or by /proc/PID/root of a process that has it mapped
 *     process  ──> its number in its own namespace, when it began, its /tmp, its jit-PID.dump
 *
 * A process is looked at when it has run for some 50 ms, or at once where a file is not found here:
 * of one that ends sooner, only its /tmp/perf-PID.map is read.
 *
 * A file system that the program may unmount is not kept busy: what is held open lies where the
 * root folder of its process does.
 *
 * Context: the collector's main thread; after a fork the child may read.
 * Ownership: record_files_free closes everything. */
#ifndef PENUMBRA_COLLECTOR_RECORD_FILES_H
#define PENUMBRA_COLLECTOR_RECORD_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/record_living.h"
#include "profile/profile.h"
#include "sigsafe/spool.h"

struct held_image {
    uint64_t dev, ino, file_size;
    int64_t mtime_ns;
    int fd;
};

struct held_process {
    int32_t pid;      /* as the process knows itself */
    int32_t outside;  /* its number here; 0: not found */
    uint64_t began_ns; /* CLOCK_REALTIME, at most; 0: not known */
    uid_t owner;
    bool apart;       /* in another mount namespace or root folder */
    int tmp;          /* its /tmp, if apart; -1 */
    int dump;         /* its jit-PID.dump; -1: none has been seen */
    uint64_t look_ns, wait_ns; /* CLOCK_MONOTONIC: when to look for one next, and after that */
};

struct record_files {
    int32_t attached; /* -p: the number of the process here; 0 */
    struct record_living living;
    uint64_t look_ns;      /* CLOCK_MONOTONIC: when processes are looked at next */
    spool_ref images_seen; /* the newest that was looked at */
    struct held_image *images;
    struct held_process *processes;
    uint32_t image_count, image_capacity, process_count, process_capacity;
    uint32_t open, most; /* descriptors held, and how many may be */
    uint32_t searches;   /* for processes of other namespaces, that may still be made */
};

/* The number here of a recorded process that knows itself as `pid` and is the one; 0: it is not
 * found. May take some milliseconds. */
int32_t record_files_outside(int32_t pid, bool (*is)(const void *context, int32_t outside),
                             const void *context);
void record_files_init(struct record_files *f, int32_t attached);
void record_files_free(struct record_files *f);
/* Looks at images and processes that are new in the spool. */
void record_files_poll(struct record_files *f, const struct spool *s);
/* The same, at the end: what is looked for now and then is looked for once more. */
void record_files_last(struct record_files *f, const struct spool *s);
/* Keeps an image's file, which `outside` has mapped: the descriptor is ours then. False: it may not
 * be held. */
bool record_files_hold(struct record_files *f, const struct held_image *held, int32_t outside);
/* A descriptor of the image's file, to be closed; -1. */
int record_files_open(const struct record_files *f, const struct profile_image *image);
/* Opens a path as a process sees it, its number here being `outside`: links lead nowhere else. */
int record_files_inside(int32_t outside, const char *path, int flags);
/* What is known of a process; NULL: it was not looked at. f may be NULL. */
const struct held_process *record_files_process(const struct record_files *f,
                                                const struct profile_process *p);

#endif
