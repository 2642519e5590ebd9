/* The decoder's table, which gen/ makes at build time. */
#include "x86/form.h"

#include "x86_table.inc"
