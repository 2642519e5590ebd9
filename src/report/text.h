/* Pieces of text reports: numbers for people, names made harmless, colour.
 *
 * Context: ordinary code. */
#ifndef PENUMBRA_REPORT_TEXT_H
#define PENUMBRA_REPORT_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "report/report.h"

enum text_colour { TEXT_PLAIN, TEXT_BOLD, TEXT_DIM, TEXT_RED, TEXT_YELLOW, TEXT_GREEN };

#define TEXT_NUMBER_SIZE 32
#define TEXT_FUNCTION_WIDE 56

/* "1,234,567"; "12.3 ms". Returns out (TEXT_NUMBER_SIZE bytes). */
const char *text_count(char *out, uint64_t value);
/* "1.50 MiB". */
const char *text_bytes(char *out, double bytes);
const char *text_duration(char *out, double nanoseconds);
/* "12.3", "1240": so many significant digits (9 at most), and all those before the point. */
const char *text_digits(char *out, int digits, double value);

void text_colour(FILE *out, const struct report_style *style, enum text_colour colour);
/* By share of the whole: what is hot stands out. */
void text_colour_share(FILE *out, const struct report_style *style, double percent);

/* Writes a name of unknown origin, at most `columns` wide (0: any width), the cut marked by "..".
 * Controls, bidirectional overrides and malformed UTF-8 are shown as \x1b or \u202e. Returns the
 * columns used. */
size_t text_name(FILE *out, const char *name, size_t columns);
/* The same for a function's name: one that is wider than `columns`, or than TEXT_FUNCTION_WIDE
 * where any width may be used, loses its template arguments first ("std::map<..>::find(int)"), then
 * its parameters, and is cut last. With style->full_names it is shown as it is. */
size_t text_function(FILE *out, const struct report_style *style, const char *name, size_t columns);
/* The columns that text_name would use. */
size_t text_name_width(const char *name, size_t columns);
/* ... and those of text_function. */
size_t text_function_width(const struct report_style *style, const char *name, size_t columns);

/* What the numbers of a view are: "samples", "instructions", "calls". */
const char *text_unit(const struct view *v);

/* Where a function is, to the line's end: its image, at most `columns` wide, and its source. */
void text_place(FILE *out, const struct report_style *style, const struct view_function *f,
                size_t columns);

/* "12.3%", and with style->ci its interval: of `whole`, from `effective` samples. */
void text_percent(FILE *out, const struct view *v, const struct report_style *style,
                  uint64_t part, uint64_t whole);
/* The width of what text_percent writes. */
int text_percent_width(const struct report_style *style);

/* Three columns of a view that has a heap: allocated, live, at peak; nothing for other views. heap:
 * in samples, or NULL for the titles. */
void text_heap(FILE *out, const struct view *v, const uint64_t *heap);

double text_share(uint64_t part, uint64_t whole);

#endif
