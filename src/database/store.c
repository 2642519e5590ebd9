#include "database/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database/internal.h"

enum { APPLICATION = 0x504e4244, VERSION = 1, BUSY_MS = 5000 };

static const char schema[] =
    "PRAGMA auto_vacuum = INCREMENTAL;"
    "PRAGMA journal_mode = WAL;"
    "BEGIN IMMEDIATE;"
    "CREATE TABLE part (id INTEGER PRIMARY KEY AUTOINCREMENT, host TEXT NOT NULL,"
    " day INTEGER NOT NULL, sealed INTEGER NOT NULL DEFAULT 0,"
    " summed INTEGER NOT NULL DEFAULT 0, nodes INTEGER NOT NULL DEFAULT 1);"
    "CREATE INDEX part_day ON part (day, host);"
    "CREATE TABLE segment (id INTEGER PRIMARY KEY AUTOINCREMENT, part INTEGER NOT NULL,"
    " bytes BLOB NOT NULL);"
    "CREATE INDEX segment_part ON segment (part);"
    "CREATE TABLE service (id INTEGER PRIMARY KEY AUTOINCREMENT, part INTEGER NOT NULL,"
    " name TEXT NOT NULL, program TEXT NOT NULL, UNIQUE (part, name, program));"
    "CREATE TABLE slot (id INTEGER PRIMARY KEY AUTOINCREMENT, part INTEGER NOT NULL,"
    " begin_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, period_ns INTEGER NOT NULL,"
    " cpus INTEGER NOT NULL, covered_ns INTEGER NOT NULL, lost INTEGER NOT NULL,"
    " missed_ns INTEGER NOT NULL, cost_ns INTEGER NOT NULL);"
    "CREATE INDEX slot_part ON slot (part, begin_ns);"
    "CREATE TABLE samples (service INTEGER NOT NULL, slot INTEGER NOT NULL,"
    " taken INTEGER NOT NULL, weight INTEGER NOT NULL, bytes BLOB NOT NULL,"
    " PRIMARY KEY (service, slot)) WITHOUT ROWID;"
    "CREATE TABLE total (service INTEGER NOT NULL, period_ns INTEGER NOT NULL,"
    " bytes BLOB NOT NULL, PRIMARY KEY (service, period_ns)) WITHOUT ROWID;"
    "CREATE TABLE run (id INTEGER PRIMARY KEY AUTOINCREMENT, host TEXT NOT NULL,"
    " began_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, clean INTEGER NOT NULL);"
    "PRAGMA application_id = 0x504e4244;"
    "PRAGMA user_version = 1;"
    "COMMIT;";

/* SQLite would give it the rights that the umask leaves. */
static bool file_make(const char *path, struct err *e)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno != EEXIST)
        return err_set_errno(e, ERR_OUTPUT, errno, "cannot make the database %s", path);
    if (fd >= 0)
        close(fd);
    return true;
}

static bool file_is_there(const char *path, struct err *e)
{
    struct stat st;
    if (lstat(path, &st))
        return err_set_errno(e, ERR_NOT_FOUND, errno,
                             "cannot read the database %s (penumbra daemon makes one; --db FILE "
                             "names another)", path);
    return S_ISREG(st.st_mode) || err_set(e, ERR_FORMAT, "%s is no file, so no database", path);
}

static bool schema_check(struct store *s, enum store_mode mode, struct err *e)
{
    int64_t application, version, tables;
    if (!sql_number(s->db, e, 0, &application, "PRAGMA application_id", "") ||
        !sql_number(s->db, e, 0, &version, "PRAGMA user_version", "") ||
        !sql_number(s->db, e, 0, &tables, "SELECT count(*) FROM sqlite_master", ""))
        return err_prefix(e, "%s", s->path);
    if (!application && !version && !tables && mode == STORE_MAKE)
        return sql_script(s->db, e, schema) || err_prefix(e, "%s", s->path);
    if (application != APPLICATION)
        return err_set(e, ERR_FORMAT, "%s is not a profile database of penumbra's", s->path);
    return version == VERSION ||
           err_set(e, ERR_FORMAT, "%s is of version %lld; this penumbra reads version %d", s->path,
                   (long long)version, VERSION);
}

static bool settle(struct store *s, enum store_mode mode, struct err *e)
{
    sqlite3_busy_timeout(s->db, BUSY_MS);
    /* What a damaged file holds is data: no triggers, views or functions of its own. */
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    const char *more = mode == STORE_READ ? "PRAGMA query_only = ON;"
                                          : "PRAGMA synchronous = FULL;"
                                            "PRAGMA journal_size_limit = 1048576;";
    return schema_check(s, mode, e) && sql_script(s->db, e, more);
}

/* The file's path without symbolic links in its folders: SQLite would refuse them as it does the
 * file, and systemd makes one, /var/lib/penumbra, of a dynamic user's folder. To free(). */
static char *path_resolve(const char *path, struct err *e)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *given = slash ? strndup(path, (size_t)(name - path)) : strdup(".");
    char *folder = given ? realpath(given, NULL) : NULL, *all = NULL;
    if (folder && asprintf(&all, "%s/%s", folder, name) < 0)
        all = NULL;
    if (!all)
        err_set_errno(e, folder ? ERR_INTERNAL : ERR_NOT_FOUND, errno,
                      "cannot find the database %s", path);
    free(folder);
    free(given);
    return all;
}

static int file_open(struct store *s, const char *path, enum store_mode mode)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX;
    int result = sqlite3_open_v2(path, &s->db, flags, NULL);
    /* Others' databases may be readable only. */
    if (mode == STORE_READ && result != SQLITE_OK) {
        sqlite3_close(s->db);
        flags ^= SQLITE_OPEN_READWRITE | SQLITE_OPEN_READONLY;
        result = sqlite3_open_v2(path, &s->db, flags, NULL);
    }
    return result;
}

bool store_open(struct store **to, const char *path, enum store_mode mode, struct err *e)
{
    struct store *s = *to = calloc(1, sizeof *s);
    if (!s || !(s->path = strdup(path)))
        return err_set(e, ERR_INTERNAL, "out of memory");
    s->lock = -1;
    if (!(mode == STORE_MAKE ? file_make(path, e) : file_is_there(path, e)))
        return false;
    char *resolved = path_resolve(path, e);
    if (!resolved)
        return false;
    int result = file_open(s, resolved, mode);
    free(resolved);
    if (result != SQLITE_OK) {
        sql_fail(s->db, "cannot open the database", e);
        return err_prefix(e, "%s", path);
    }
    return settle(s, mode, e);
}

void store_close(struct store *s)
{
    if (!s)
        return;
    sqlite3_close(s->db);
    dictionary_fini(&s->part.words);
    tree_sum_fini(&s->part.tree);
    if (s->lock >= 0)
        close(s->lock);
    free(s->path);
    free(s->host);
    free(s);
}

/* SQLite's own locks are given up when any descriptor of the file is closed: this one is a file of
 * its own. */
bool store_claim(struct store *s, struct err *e)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s-lock", s->path);
    if (n < 0 || n >= (int)sizeof path)
        return err_set(e, ERR_USAGE, "the database's path is too long");
    s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->lock < 0)
        return err_set_errno(e, ERR_OUTPUT, errno, "cannot make the lock %s", path);
    if (!flock(s->lock, LOCK_EX | LOCK_NB))
        return true;
    if (errno != EWOULDBLOCK)
        return err_set_errno(e, ERR_OUTPUT, errno, "cannot lock %s", path);
    return err_set(e, ERR_OUTPUT,
                   "another penumbra daemon writes to %s: end it first, or give this one a "
                   "database of its own (--db FILE)", s->path);
}

bool store_run_begin(struct store *s, const char *host, int64_t now_ns, bool *unclean,
                     struct err *e)
{
    int64_t clean;
    free(s->host);
    s->host = strdup(host);
    if (!s->host)
        return err_set(e, ERR_INTERNAL, "out of memory");
    bool ok = sql_number(s->db, e, 1, &clean,
                         "SELECT clean FROM run WHERE host = ? ORDER BY id DESC LIMIT 1", "s",
                         host) &&
              sql_run(s->db, e, "INSERT INTO run (host, began_ns, last_ns, clean) "
                                "VALUES (?, ?, ?, 0)", "sii", host, now_ns, now_ns);
    *unclean = ok && !clean;
    s->run = sqlite3_last_insert_rowid(s->db);
    return ok;
}

bool store_run_end(struct store *s, int64_t now_ns, struct err *e)
{
    return !s->run || sql_run(s->db, e, "UPDATE run SET last_ns = ?, clean = 1 WHERE id = ?", "ii",
                              now_ns, s->run);
}
