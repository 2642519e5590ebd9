#include "fleet/schema.h"

#include <stddef.h>

/* Rows of one batch are one block of one day, so one part: there as a whole, or not at all. Sums by
 * hour are rows of the same insert for that reason; a materialized view would be another part.
 * Squares have no whole number: an hour's of a large fleet do not fit into 64 bits. */
const char *const fleet_schema[] = {
    "CREATE DATABASE IF NOT EXISTS %s",

    "CREATE TABLE IF NOT EXISTS %s.frames (day Date, id UInt64, kind UInt8, build_id String, "
    "path String, at UInt64, start UInt64, function String, guessed UInt8) "
    "ENGINE = ReplacingMergeTree PARTITION BY day ORDER BY id",

    "CREATE TABLE IF NOT EXISTS %s.stacks (day Date, id UInt64, frames Array(UInt64)) "
    "ENGINE = ReplacingMergeTree PARTITION BY day ORDER BY id",

    "CREATE TABLE IF NOT EXISTS %s.symbols (build_id String, page UInt64, start UInt64, "
    "size UInt64, function String) ENGINE = ReplacingMergeTree ORDER BY (build_id, page, start)",

    "CREATE TABLE IF NOT EXISTS %s.samples (day Date, kind UInt8, hour UInt32, host String, "
    "service String, program String, item UInt64, batch UInt64, begin_ns Int64, end_ns Int64, "
    "cpus UInt32, slots UInt64, taken UInt64, weight UInt64, squares Float64, guessed UInt64, "
    "covered UInt64, lost UInt64, missed UInt64, cost UInt64) "
    "ENGINE = SummingMergeTree((slots, taken, weight, squares, guessed, covered, lost, missed, "
    "cost)) PARTITION BY day ORDER BY (kind, hour, host, service, program, item, batch)",

    NULL,
};
