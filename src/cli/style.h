/* How text is written to a stream: colour, box characters and width, as the terminal and the
 * environment (NO_COLOR, TERM, LC_ALL ...) say.
 *
 * Context: the main thread. */
#ifndef PENUMBRA_CLI_STYLE_H
#define PENUMBRA_CLI_STYLE_H

#include "report/report.h"

/* All else in the style is 0. */
struct report_style style_of_stream(FILE *out, bool ascii);

#endif
