/* Values with names; what they were is in hotlists: in a profile, in its file. */
#include "profile/table/events.h"

EVENTS_TABLE(NAMED, named, 46,
             "optional, with 24: how often values with names were seen, likewise",
             NULL);
