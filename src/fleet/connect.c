#include "fleet/connect.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "export/gzip.h"
#include "export/http.h"
#include "fleet/schema.h"

enum { HTTP_OK = 200, WORD_MOST = 256, MESSAGE_MOST = 200 };

struct fleet {
    struct http *http;
    char *url, *database;
    char user[WORD_MOST], password[WORD_MOST];
    uint32_t timeout_ms;
    bool has_symbols;
};

/* ---- who asks ---- */

/* A field of the head is one line. */
static bool word_take(char to[WORD_MOST], const char *from, size_t size, struct err *e)
{
    for (size_t i = 0; i < size; i++)
        if (iscntrl((unsigned char)from[i]))
            return err_set(e, ERR_USAGE, "the store's user or password has a control character");
    if (size >= WORD_MOST)
        return err_set(e, ERR_USAGE, "the store's user or password is longer than %d bytes",
                       WORD_MOST - 1);
    memcpy(to, from, size);
    to[size] = '\0';
    return true;
}

static bool line_take(struct fleet *f, char *line, struct err *e)
{
    line[strcspn(line, "\r\n")] = '\0';
    char *colon = strchr(line, ':');
    if (!colon)
        return err_set(e, ERR_USAGE, "its first line is no USER:PASSWORD");
    return word_take(f->user, line, (size_t)(colon - line), e) &&
           word_take(f->password, colon + 1, strlen(colon + 1), e);
}

static bool file_read(struct fleet *f, const char *path, struct err *e)
{
    char line[2 * WORD_MOST + 2] = "";
    struct stat st;
    FILE *in = fopen(path, "re");
    if (!in)
        return err_set_errno(e, ERR_NOT_FOUND, errno, "cannot read %s (--store-auth)", path);
    bool ok = !fstat(fileno(in), &st) && fgets(line, sizeof line, in);
    fclose(in);
    if (!ok)
        return err_set(e, ERR_USAGE, "%s (--store-auth) is empty", path);
    if (st.st_mode & (S_IROTH | S_IWOTH))
        return err_set(e, ERR_USAGE, "everybody may read or write %s (--store-auth): chmod o= %s",
                       path, path);
    ok = line_take(f, line, e) || err_prefix(e, "%s (--store-auth)", path);
    explicit_bzero(line, sizeof line);
    return ok;
}

static bool credentials_find(struct fleet *f, const char *path, struct err *e)
{
    const char *user = getenv("PENUMBRA_STORE_USER");
    const char *password = getenv("PENUMBRA_STORE_PASSWORD");
    if (path)
        return file_read(f, path, e);
    return (!user || word_take(f->user, user, strlen(user), e)) &&
           (!password || word_take(f->password, password, strlen(password), e));
}

/* ---- where ---- */

static bool is_name(const char *text)
{
    enum { NAME_MOST = 64 };
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return length && !text[length] && length <= NAME_MOST && !isdigit((unsigned char)*text);
}

bool fleet_open(struct fleet **to, const struct fleet_options *o, struct err *e)
{
    struct fleet *f = *to = calloc(1, sizeof *f);
    if (!f || !(f->url = strdup(o->url)))
        return err_set(e, ERR_INTERNAL, "out of memory");
    f->timeout_ms = o->timeout_ms;
    if (!credentials_find(f, o->auth_file, e))
        return false;
    /* The server would take a password there; addresses are printed. */
    if (strpbrk(o->url, "?#"))
        return err_set(e, ERR_USAGE, "the address of a store has no parameters (?): a user and a "
                                     "password are in the file of --store-auth");
    f->http = http_open(o->url, "/penumbra", o->ca_file, e);
    if (!f->http)
        return false;
    f->database = http_path_take(f->http);
    if (!f->database)
        return err_set(e, ERR_INTERNAL, "out of memory");
    return is_name(f->database) ||
           err_set(e, ERR_USAGE, "%s: the path is to be the name of a database, of letters, digits "
                                 "and _", o->url);
}

void fleet_close(struct fleet *f)
{
    if (!f)
        return;
    http_close(f->http);
    explicit_bzero(f->password, sizeof f->password);
    free(f->database);
    free(f->url);
    free(f);
}

const char *fleet_database(const struct fleet *f)
{
    return f->database;
}

bool fleet_has_symbols(const struct fleet *f)
{
    return f->has_symbols;
}

void fleet_symbols_set(struct fleet *f, bool there)
{
    f->has_symbols = there;
}

/* ---- statements ---- */

/* What the server says went wrong: its first line, as text. */
static bool refused(const struct fleet *f, const struct http_answer *answer, struct err *e)
{
    char text[MESSAGE_MOST + 1];
    size_t n = 0;
    for (; n < MESSAGE_MOST && n < answer->body.size && answer->body.data[n] != '\n'; n++)
        text[n] = isprint(answer->body.data[n]) ? (char)answer->body.data[n] : '?';
    text[n] = '\0';
    return err_set(e, ERR_OUTPUT, "the store %s answers with HTTP status %d: %s", f->url,
                   answer->status, n ? text : "(nothing)");
}

static bool exchange(struct fleet *f, struct http_request *r, struct buf *answer, struct err *e)
{
    const struct http_pair fields[] = {{"X-ClickHouse-User", f->user},
                                       {"X-ClickHouse-Key", f->password}};
    struct http_answer a;
    bool again;
    r->fields = fields;
    r->field_count = *f->user ? sizeof fields / sizeof fields[0] : 0;
    r->timeout_ms = f->timeout_ms;
    r->answer_most = FLEET_ANSWER_MOST;
    bool ok = http_send(f->http, r, &a, &again, e);
    r->fields = NULL;
    if (ok && a.status != HTTP_OK)
        ok = refused(f, &a, e);
    if (ok && answer) {
        *answer = a.body;
        a.body = (struct buf){0};
    }
    http_answer_fini(&a);
    return ok;
}

bool fleet_ask(struct fleet *f, const struct buf *statement, struct buf *answer, struct err *e)
{
    /* Errors that come late are a status, and no rows, if the server waits for the end. */
    static const struct http_pair query[] = {{"wait_end_of_query", "1"},
                                             {"max_query_size", "1048576"}};
    struct http_request r = {.type = "text/plain", .body = statement, .query = query,
                             .query_count = sizeof query / sizeof query[0]};
    return (buf_ok(statement) || err_set(e, ERR_INTERNAL, "out of memory")) &&
           exchange(f, &r, answer, e);
}

bool fleet_insert(struct fleet *f, const char *table, const char *columns, const char *id,
                  const struct buf *rows, struct err *e)
{
    struct buf text = {0}, packed = {0};
    struct gzip gzip;
    buf_printf(&text, "INSERT INTO %s.%s (%s) FORMAT TabSeparated", f->database, table, columns);
    buf_put_u8(&text, '\0');
    gzip_begin(&gzip, &packed);
    gzip_put(&gzip, rows->data, rows->size);
    bool ok = gzip_end(&gzip) && buf_ok(&packed) && buf_ok(&text);
    if (!ok)
        err_set(e, ERR_INTERNAL, "out of memory");
    else {
        const struct http_pair query[] = {{"query", (const char *)text.data},
                                          {"query_id", id},
                                          {"max_insert_block_size", "16777216"}};
        struct http_request r = {.type = "text/tab-separated-values", .gzip = true, .expect = true,
                                 .body = &packed, .query = query,
                                 .query_count = sizeof query / sizeof query[0]};
        ok = exchange(f, &r, NULL, e);
    }
    buf_free(&text);
    buf_free(&packed);
    return ok;
}

bool fleet_has_table(struct fleet *f, const char *table, bool *there, struct err *e)
{
    struct buf text = {0}, answer = {0};
    buf_printf(&text, "EXISTS TABLE %s.%s", f->database, table);
    bool ok = fleet_ask(f, &text, &answer, e);
    *there = ok && answer.size && answer.data[0] == '1';
    buf_free(&text);
    buf_free(&answer);
    return ok;
}

/* Tables that are missing, unless this one is there. */
static bool tables_make(struct fleet *f, const char *unless, struct err *e)
{
    struct buf text = {0};
    bool made, ok = fleet_has_table(f, unless, &made, e);
    for (unsigned i = 0; ok && !made && fleet_schema[i]; i++) {
        const char *rest = strstr(fleet_schema[i], "%s");
        text.size = 0;
        buf_put(&text, fleet_schema[i], (size_t)(rest - fleet_schema[i]));
        buf_puts(&text, f->database);
        buf_puts(&text, rest + 2);
        ok = fleet_ask(f, &text, NULL, e);
    }
    buf_free(&text);
    return ok;
}

bool fleet_make(struct fleet *f, struct err *e)
{
    return tables_make(f, "samples", e);
}

bool fleet_symbols_make(struct fleet *f, struct err *e)
{
    return tables_make(f, "symbols", e);
}
