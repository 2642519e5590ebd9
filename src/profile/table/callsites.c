/* Calls by call site and callee: in a profile, in its file. */
#include "profile/table/events.h"

EVENTS_TABLE(CALLSITES, callsites, 45,
             "optional, with 24: calls by call site and callee, likewise",
             NULL);
