/* The line that says what a recording has come to.
 *
 * Context: the main thread.
 * Ownership: the result is only read. */
#ifndef PENUMBRA_CLI_RECORD_SUMMARY_H
#define PENUMBRA_CLI_RECORD_SUMMARY_H

#include "collector/callbacks.h"

/* To standard error. */
void record_summary(const struct recording_result *r);

#endif
