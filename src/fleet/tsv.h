/* Tables as text, as the server reads and writes them (TabSeparated): a row a line, fields between
 * tabs; what would be either is escaped by a backslash.
 *
 * Context: ordinary code. Reading is safe on any bytes.
 * Ownership: what is read is changed in place, and lends its fields until it is freed. */
#ifndef PENUMBRA_FLEET_TSV_H
#define PENUMBRA_FLEET_TSV_H

#include "base/buf.h"
#include "base/err.h"

/* ---- writing ---- */

void tsv_put_text(struct buf *b, const char *text);
/* As a string within a statement: '...'. */
void tsv_put_literal(struct buf *b, const char *text);

/* ---- reading ---- */

struct tsv {
    char *data; /* with a byte after its end that may be written */
    size_t size, at;
    unsigned long long line;
    struct err *e;
    bool failed;
};

/* The next row, which has to have `count` fields, each ended by a byte 0 and without another one.
 * False: there is no more, or it is another table (ERR_FORMAT, t->failed). */
bool tsv_row(struct tsv *t, char **fields, unsigned count);
/* A number in decimal; what is none fails the table, and is 0. */
uint64_t tsv_u64(struct tsv *t, const char *field);
int64_t tsv_i64(struct tsv *t, const char *field);
/* [1,2,3]: the next of its numbers. *at is the field at first. False: there is no more, or it is no
 * list. */
bool tsv_list(struct tsv *t, const char **at, uint64_t *value);
/* What is wrong with the row that was read last. */
void tsv_fail(struct tsv *t, const char *wanted);

#endif
