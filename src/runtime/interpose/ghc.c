/* GHC's run time system is mostly linked into the program, of which nothing then says so: it
 * exports none of its symbols, and may be stripped. But before it runs anything it asks for a
 * variable that nobody else asks for (rts/RtsFlags.c). */
#include <stdlib.h>
#include <string.h>

#include "runtime/trampoline/trampoline.h"
#include "runtime/interpose/real.h"

EXPORT char *getenv(const char *name)
{
    if (strcmp(name, "GHCRTS") == 0)
        trampoline_disable_as(TRAMPOLINE_HASKELL);
    return REAL(getenv)(name);
}
