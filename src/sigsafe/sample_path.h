/* What every sample runs through. At a thousand samples a second the program has pushed all of it
 * out of the caches and translation buffers in between: a sample costs by the lines and pages that
 * it touches. These functions lie side by side (.text.hot) on three pages instead of eleven.
 *
 * Context: any. */
#ifndef PENUMBRA_SIGSAFE_SAMPLE_PATH_H
#define PENUMBRA_SIGSAFE_SAMPLE_PATH_H

#define SAMPLE_PATH __attribute__((hot))

#endif
