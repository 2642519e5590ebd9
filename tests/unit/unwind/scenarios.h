/* What the single-stepped child runs: code of real libraries, by kinds of call frame information.
 *
 * Context: scenarios_prepare in the parent, before the index is built; scenarios_run in the
 * child. */
#ifndef PENUMBRA_TESTS_SCENARIOS_H
#define PENUMBRA_TESTS_SCENARIOS_H

/* Loads and initializes libraries, so that the child steps through the work only. Libraries that
 * are not installed are left out and named on stderr. */
void scenarios_prepare(void);

void scenarios_run(void);

#endif
