/* Sampled values as people read them: hotlists beside instructions, places worth specializing.
 *
 * Context: ordinary code, one thread a reader. Safe on any profile and any image file.
 * Ownership: value_reader_free releases the reader and what it opened; rows are
 * value_row_free's. */
#ifndef PENUMBRA_REPORT_VALUES_H
#define PENUMBRA_REPORT_VALUES_H

#include "report/json.h"
#include "report/report.h"

struct value_reader; /* remembers the images that it read symbols and strings from */

/* NULL without memory, or without values in the profile. */
struct value_reader *value_reader_new(const struct view *v, const struct symbols_options *options);
void value_reader_free(struct value_reader *r);

enum { VALUE_TEXT_SIZE = 256 };

/* A value as its kind shows it: "10", "0x7f30", "1.5", "main+0x10", "\"text\"". */
void value_text(struct value_reader *r, uint32_t kind, const struct hotlist_entry *entry, char *out,
                size_t size);
/* A place of code: function, or image+0xoffset. */
void value_place(struct value_reader *r, uint32_t image, uint64_t offset, char *out, size_t size);

/* The name of the function around a place, or "". */
void value_function(struct value_reader *r, uint32_t image, uint64_t offset, char *out,
                    size_t size);

/* One line for each hotlist of the instruction: kind, site, times observed, p, invariance, values.
 * Registers that the procedure does not read as arguments are left out, here and in
 * value_json_at. */
void value_lines(FILE *out, struct value_reader *r, uint32_t image, uint64_t offset, int indent);

/* Members "values", "instructions" (the first `limit` hotlists by place; 0: all) and
 * "semi_invariant" of an object (docs/json.md); loads and conflicts have members of their own
 * (report/loads.h). */
void value_json(struct json *j, struct value_reader *r, uint32_t limit);
/* Member "semi_invariant" alone: the first of what report_semi_invariant lists. */
void value_json_semi_invariant(struct json *j, struct value_reader *r);
/* An array: the hotlists of one instruction. */
void value_json_at(struct json *j, struct value_reader *r, uint32_t image, uint64_t offset);

/* Whether there may be places worth specializing. A profile of loads or conflicts has none. */
bool value_places_were_asked_for(const struct profile_values *values);
/* Places worth specializing, by expected gain: share of all that was observed times invariance. */
bool report_semi_invariant(FILE *out, struct value_reader *r, const struct report_style *style,
                           struct err *e);

/* Where the values come from, and what was lost: a few lines. */
void report_values_header(FILE *out, const struct profile_values *values);
/* Of these the numbers that the module gave, in a line that begins with `name`, if there are
 * any. */
void report_values_facts(FILE *out, const struct profile_values *values, const char *name);
/* Of these what is wrong: nothing is written if nothing is. */
void report_values_losses(FILE *out, const struct profile_values *values);

#endif
