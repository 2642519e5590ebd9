/* The live file: by it a recording that is killed can be found. It is there before the program is,
 * and what was at its place is kept until the program has started:
 *
 *     penumbra.pnb (old)  ──link──>  penumbra.pnb.PID.old      begin
 *     penumbra.pnb        <──────    live file
 *     penumbra.pnb.PID.old removed                             settle, the program runs
 *                          or renamed to penumbra.pnb          settle, it could not be started
 *
 * Context: ordinary code. Ownership: the caller's struct; nothing is open. */
#ifndef PENUMBRA_COLLECTOR_RECORD_LIVE_H
#define PENUMBRA_COLLECTOR_RECORD_LIVE_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "profile/live.h"

struct record_live {
    char file[PATH_MAX]; /* without symbolic links; "": nothing was written yet */
    char old[PATH_MAX];  /* "": there was none */
};

/* Where the old file cannot be kept, nothing is written before the program runs. */
void record_live_begin(struct record_live *l, const char *output, const struct live_info *info);
/* False: the file cannot be written. */
bool record_live_settle(struct record_live *l, const char *output, const struct live_info *info,
                        bool started, struct err *e);

#endif
