/* Tools' tables (profile/table/table.h) in reports: one row a tool, made from the list of tools
 * (sigsafe/tools.h). `penumbra report --NAME` shows the table of the tool NAME.
 *
 * Context: ordinary code. What a hostile file's tables hold may be anything.
 * Ownership: constant data. */
#ifndef PENUMBRA_REPORT_TABLE_VIEW_H
#define PENUMBRA_REPORT_TABLE_VIEW_H

#include "report/json.h"
#include "report/report.h"

/* `table` is not NULL, except as said. */
struct table_view {
    /* A line of the header; may be NULL. */
    void (*header)(FILE *out, const struct view *v, const void *table,
                   const struct report_style *style);
    bool (*text)(FILE *out, const struct view *v, const void *table,
                 const struct report_style *style, struct err *e);
    /* Members of the report's object. limit: only the first rows; 0: all. table: NULL where the
     * tool has observed nothing. */
    void (*json)(struct json *j, const struct view *v, const void *table, uint32_t limit);
    /* What it says about a function, the code in [start, end), above its annotation: lines, and a
     * member of the annotation's object. Either may be NULL. */
    void (*over)(FILE *out, const struct view *v, const void *table, uint32_t image,
                 uint64_t start, uint64_t end);
    void (*json_over)(struct json *j, const struct view *v, const void *table, uint32_t image,
                      uint64_t start, uint64_t end);
    /* What it says about one instruction, below it in an annotation: lines, indented so far, and a
     * member of the instruction's object. Either may be NULL. */
    void (*at)(FILE *out, const struct view *v, const void *table, uint32_t image, uint64_t offset,
               int indent);
    void (*json_at)(struct json *j, const struct view *v, const void *table, uint32_t image,
                    uint64_t offset);
};

/* By enum tool_table (sigsafe/tools.h); NULL: it is shown as hotlists. */
extern const struct table_view *const table_views[];

/* The tool that keeps it. */
const struct tool_about *table_keeper(unsigned table);
/* The table in this profile; NULL: it has none. */
const void *table_of(const struct view *v, unsigned table);

/* Of all tables that the profile has. */
void tables_header(FILE *out, const struct view *v, const struct report_style *style);
void tables_json(struct json *j, const struct view *v, uint32_t limit);
void tables_over(FILE *out, const struct view *v, uint32_t image, uint64_t start, uint64_t end);
void tables_json_over(struct json *j, const struct view *v, uint32_t image, uint64_t start,
                      uint64_t end);
void tables_at(FILE *out, const struct view *v, uint32_t image, uint64_t offset, int indent);
void tables_json_at(struct json *j, const struct view *v, uint32_t image, uint64_t offset);

#endif
