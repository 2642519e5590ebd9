/* The live file: what stands at the output path while a recording runs. Writing it at the start
 * shows at once whether the output can be written; if the collector is killed, it says where the
 * spool is, so that the profile can still be made.
 *
 * Context: ordinary code, in the collector.
 * Ownership: a struct live_info owns nothing. */
#ifndef PENUMBRA_PROFILE_LIVE_H
#define PENUMBRA_PROFILE_LIVE_H

#include "base/err.h"
#include "sigsafe/spool.h"

#define LIVE_BOOT_ID_MAX 64

struct live_info {
    char spool_path[SPOOL_PATH_MAX];
    int32_t pid;                /* of the collector */
    uint64_t pid_start_ticks;   /* field 22 of /proc/PID/stat: tells a reused pid apart */
    uint64_t start_realtime_ns; /* of the recording */
    char boot_id[LIVE_BOOT_ID_MAX]; /* the kernel's random boot_id: a spool in memory and a pid
                                       mean something only until the next boot */
};

/* Describes the calling process, now, with this spool. */
bool live_describe_self(struct live_info *info, const char *spool_path, struct err *e);

/* Atomically and privately, like profile_write. What is not a regular file (a pipe, /dev/null) is
 * only checked for being writable; nothing is written to it. */
bool live_write(const char *path, const struct live_info *info, struct err *e);

/* *is_live: whether path holds a live file; if it does, *info is set. False only if the file cannot
 * be read, or is a live file that is damaged. Any other content: true, with *is_live false. */
bool live_read(const char *path, struct live_info *info, bool *is_live, struct err *e);

/* Whether the spool and the pid are of this boot; and whether the collector still runs. */
bool live_same_boot(const struct live_info *info);
bool live_collector_runs(const struct live_info *info);

#endif
