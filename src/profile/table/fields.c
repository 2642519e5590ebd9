/* Accesses to fields of types: in a profile, in its file. */
#include "profile/table/events.h"

EVENTS_TABLE(FIELDS, fields, 44,
             "optional, with 24: accesses to fields of types, by compiled-in instrumentation",
             spool_inst_read);
