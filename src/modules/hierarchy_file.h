/* The text that a measured hierarchy is remembered as (hierarchy.h has load and save).
 *
 * Context: ordinary code. Ownership: values. */
#ifndef PENUMBRA_MODULES_HIERARCHY_FILE_H
#define PENUMBRA_MODULES_HIERARCHY_FILE_H

#include "modules/hierarchy.h"

/* False: it is not such a text, of this version, or it is damaged. */
bool hierarchy_parse(const char *text, struct hierarchy *h);

#endif
