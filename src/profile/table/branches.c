/* Ways on from branches: in a profile, in its file. */
#include "profile/table/events.h"

EVENTS_TABLE(BRANCHES, branches, 48,
             "optional, with 24: ways on from branches, by line, likewise",
             NULL);
