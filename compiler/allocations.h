/* The types that allocations are for.
 *
 * Context: on a function's last GIMPLE; what is found is used until the next function. */
#ifndef PENUMBRA_COMPILER_ALLOCATIONS_H
#define PENUMBRA_COMPILER_ALLOCATIONS_H

void allocations_find_types(function *in);

#endif
