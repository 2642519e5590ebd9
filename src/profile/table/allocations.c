/* Allocations by call site and type: in a profile, in its file. */
#include "profile/table/events.h"

EVENTS_TABLE(ALLOCATIONS, allocations, 47,
             "optional, with 24: allocations by call site and type, likewise",
             NULL);
