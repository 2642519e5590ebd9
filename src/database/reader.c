#include "database/internal.h"

bool store_words(struct store *s, int64_t part, struct dictionary *words, struct err *e)
{
    struct err problem = {0};
    if (!dictionary_init(words))
        return err_set(e, ERR_INTERNAL, "out of memory");
    sqlite3_stmt *rows = sql_prepare(
        s->db, &problem, "SELECT bytes FROM segment WHERE part = ? ORDER BY id", "i", part);
    while (!problem.code && sql_next(s->db, rows, &problem)) {
        struct sql_blob blob = sql_blob_at(rows, 0);
        dictionary_read(words, blob.data, blob.size, &problem);
    }
    sql_free(rows);
    return !problem.code || err_set(e, problem.code, "%s", problem.message);
}
