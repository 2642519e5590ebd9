/* Instrumentation without duplicates: the paper's No-Duplication (section 3.2), and exhaustive
 * instrumentation, with which samples are compared.
 *
 * Context: the plugin's pass, outside cfg layout mode. */
#ifndef PENUMBRA_COMPILER_INPLACE_H
#define PENUMBRA_COMPILER_INPLACE_H

void instrument_in_place();

#endif
