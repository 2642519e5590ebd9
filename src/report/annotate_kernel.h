/* Functions of the kernel, whose code is in no file: what the profile has of their instructions,
 * with samples (profile/hits.h) and values.
 *
 * Context: ordinary code. Safe on any profile. */
#ifndef PENUMBRA_REPORT_ANNOTATE_KERNEL_H
#define PENUMBRA_REPORT_ANNOTATE_KERNEL_H

#include "report/annotate.h"

/* Whether a place of no image is a kernel function, or an instruction of one. */
bool annotate_is_kernel(const struct view *v, uint32_t image, uint64_t place);
struct annotation *annotate_kernel(const struct view *v, uint64_t place,
                                   const struct symbols_options *options, struct err *e);

#endif
