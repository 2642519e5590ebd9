/* Whose each word of t->lines is: what a tool's own code in the code cache works with.
 *
 * Context: constants only; also read by the assembler. */
#ifndef PENUMBRA_TOOLS_LINES_H
#define PENUMBRA_TOOLS_LINES_H

#define LINE_OF_CALLS 0
#define LINE_OF_RESULTS 1

#endif
