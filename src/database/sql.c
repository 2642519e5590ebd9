#include "database/sql.h"

#include <stdarg.h>

static enum err_code code_of(int result)
{
    switch (result & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return ERR_FORMAT;
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return ERR_OUTPUT;
    default: return ERR_INTERNAL;
    }
}

bool sql_fail(sqlite3 *db, const char *what, struct err *e)
{
    enum err_code code = code_of(sqlite3_extended_errcode(db));
    return err_set(e, code, "%s: %s%s", what, sqlite3_errmsg(db),
                   code == ERR_FORMAT ? " (penumbra db check says what is damaged)" : "");
}

static int bind(sqlite3_stmt *s, const char *types, va_list values)
{
    int result = SQLITE_OK;
    for (int i = 1; *types && result == SQLITE_OK; i++, types++) {
        struct sql_blob blob;
        switch (*types) {
        case 'i': result = sqlite3_bind_int64(s, i, va_arg(values, int64_t)); break;
        case 's':
            result = sqlite3_bind_text(s, i, va_arg(values, const char *), -1, SQLITE_TRANSIENT);
            break;
        default:
            blob = va_arg(values, struct sql_blob);
            result = sqlite3_bind_blob64(s, i, blob.data ? (const void *)blob.data : "",
                                         (sqlite3_uint64)blob.size,
                                         SQLITE_STATIC);
        }
    }
    return result;
}

static sqlite3_stmt *prepare(sqlite3 *db, struct err *e, const char *text, const char *types,
                             va_list values)
{
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(db, text, -1, &s, NULL) == SQLITE_OK &&
        bind(s, types, values) == SQLITE_OK)
        return s;
    sql_fail(db, "cannot read the database", e);
    sqlite3_finalize(s);
    return NULL;
}

sqlite3_stmt *sql_prepare(sqlite3 *db, struct err *e, const char *text, const char *types, ...)
{
    va_list values;
    va_start(values, types);
    sqlite3_stmt *s = prepare(db, e, text, types, values);
    va_end(values);
    return s;
}

bool sql_next(sqlite3 *db, sqlite3_stmt *s, struct err *e)
{
    int result = s ? sqlite3_step(s) : SQLITE_DONE;
    if (result == SQLITE_ROW)
        return true;
    if (result != SQLITE_DONE)
        sql_fail(db, sqlite3_stmt_readonly(s) ? "cannot read the database"
                                              : "cannot write the database", e);
    return false;
}

void sql_free(sqlite3_stmt *s)
{
    sqlite3_finalize(s);
}

bool sql_run(sqlite3 *db, struct err *e, const char *text, const char *types, ...)
{
    struct err problem = {0};
    va_list values;
    va_start(values, types);
    sqlite3_stmt *s = prepare(db, &problem, text, types, values);
    va_end(values);
    while (sql_next(db, s, &problem))
        continue;
    sql_free(s);
    return !problem.code || err_set(e, problem.code, "%s", problem.message);
}

bool sql_number(sqlite3 *db, struct err *e, int64_t none, int64_t *to, const char *text,
                const char *types, ...)
{
    struct err problem = {0};
    va_list values;
    va_start(values, types);
    sqlite3_stmt *s = prepare(db, &problem, text, types, values);
    va_end(values);
    *to = sql_next(db, s, &problem) ? sqlite3_column_int64(s, 0) : none;
    sql_free(s);
    return !problem.code || err_set(e, problem.code, "%s", problem.message);
}

bool sql_script(sqlite3 *db, struct err *e, const char *text)
{
    return sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK ||
           sql_fail(db, "cannot write the database", e);
}

struct sql_blob sql_blob_at(sqlite3_stmt *s, int column)
{
    const uint8_t *data = sqlite3_column_blob(s, column);
    return (struct sql_blob){data, (size_t)sqlite3_column_bytes(s, column)};
}

const char *sql_text_at(sqlite3_stmt *s, int column)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    return text ? text : "";
}

bool sql_begin(sqlite3 *db, struct err *e)
{
    return sql_script(db, e, "BEGIN IMMEDIATE");
}

bool sql_end(sqlite3 *db, bool ok, struct err *e)
{
    ok = ok && sql_script(db, e, "COMMIT");
    /* A full disk may have ended it already. */
    if (!ok && !sqlite3_get_autocommit(db))
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return ok;
}
