/* SQLite, as the database uses it: statements with bound parameters, errors as struct err.
 *
 * Text of statements is constant. What comes from the machine (names, paths, build-ids) is bound,
 * never part of a statement.
 *
 * Context: ordinary code, one thread a connection.
 * Ownership: sql_free ends a statement. Columns of a row are valid until the next sql_next. */
#ifndef PENUMBRA_DATABASE_SQL_H
#define PENUMBRA_DATABASE_SQL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Bytes to be bound, or of a column. */
struct sql_blob {
    const uint8_t *data;
    size_t size;
};

/* What went wrong with `what`, as SQLite says: ERR_FORMAT of a damaged file, ERR_OUTPUT of one that
 * cannot be written, else ERR_INTERNAL. Returns false. */
bool sql_fail(sqlite3 *db, const char *what, struct err *e);

/* A statement. types: of the values that follow, one letter each: i (int64_t), s (const char *),
 * b (struct sql_blob). NULL: *e. */
sqlite3_stmt *sql_prepare(sqlite3 *db, struct err *e, const char *text, const char *types, ...);
/* True: a row. False: there is none, or *e is set. */
bool sql_next(sqlite3 *db, sqlite3_stmt *s, struct err *e);
void sql_free(sqlite3_stmt *s);
/* Runs a statement that yields no row. */
bool sql_run(sqlite3 *db, struct err *e, const char *text, const char *types, ...);
/* One number, of one row; `none` if there is no row. False: *e. */
bool sql_number(sqlite3 *db, struct err *e, int64_t none, int64_t *to, const char *text,
                const char *types, ...);
/* Several statements without values. */
bool sql_script(sqlite3 *db, struct err *e, const char *text);

struct sql_blob sql_blob_at(sqlite3_stmt *s, int column);
/* "" for NULL. */
const char *sql_text_at(sqlite3_stmt *s, int column);

/* Begins a transaction that writes; ends it. sql_end: commits if ok, else rolls back; returns
 * whether it is committed. */
bool sql_begin(sqlite3 *db, struct err *e);
bool sql_end(sqlite3 *db, bool ok, struct err *e);

#endif
