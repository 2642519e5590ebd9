#include "export/http.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is used of libcurl: CALL(name) for curl_name. */
#define CURL_CALLS(CALL)                                                                           \
    CALL(global_init) CALL(global_cleanup) CALL(easy_init) CALL(easy_setopt) CALL(easy_perform)    \
    CALL(easy_getinfo) CALL(easy_strerror) CALL(easy_cleanup) CALL(slist_append)                   \
    CALL(slist_free_all) CALL(url) CALL(url_set) CALL(url_get) CALL(url_strerror)                  \
    CALL(url_cleanup) CALL(free)

struct curl {
    void *library;
#define MEMBER(name) __typeof__(curl_##name) *name;
    CURL_CALLS(MEMBER)
#undef MEMBER
};

struct http {
    struct curl curl;
    CURL *easy;
    CURLU *url;
    char *text, *ca_file; /* as given */
    char why[CURL_ERROR_SIZE];
};

/* ---- the library ---- */

static bool load(struct curl *c, struct err *e)
{
    static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };
    for (size_t i = 0; !c->library && i < sizeof names / sizeof *names; i++)
        c->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    bool all = c->library;
#define LOAD(name) all = all && (c->name = dlsym(c->library, "curl_" #name));
    CURL_CALLS(LOAD)
#undef LOAD
    if (all && !c->global_init(CURL_GLOBAL_DEFAULT))
        return true;
    err_set(e, ERR_INTERNAL,
            "cannot send: libcurl cannot be loaded; 'apt-get install libcurl4' installs it");
    return false;
}

/* ---- addresses ---- */

static bool is_part(const struct http *h, CURLUPart part, const char *first, const char *second)
{
    char *text = NULL;
    bool is = !h->curl.url_get(h->url, part, &text, 0) &&
              (!strcmp(text, first) || !strcmp(text, second));
    h->curl.free(text);
    return is;
}

static bool address(struct http *h, const char *url, const char *path, struct err *e)
{
    CURLUcode code = h->curl.url_set(h->url, CURLUPART_URL, url, CURLU_DISALLOW_USER);
    if (!code && !is_part(h, CURLUPART_SCHEME, "http", "https"))
        code = CURLUE_UNSUPPORTED_SCHEME;
    if (!code && is_part(h, CURLUPART_PATH, "/", ""))
        code = h->curl.url_set(h->url, CURLUPART_PATH, path, 0);
    /* What is before an @ may be a password. */
    if (code && strchr(url, '@'))
        return err_set(e, ERR_USAGE, "the address of a server is to be http://HOST:PORT or "
                                     "https://HOST:PORT, without a user or a password");
    return !code || err_set(e, code == CURLUE_OUT_OF_MEMORY ? ERR_INTERNAL : ERR_USAGE,
                            "'%s' is no address of a server, http://HOST:PORT or "
                            "https://HOST:PORT: %s", h->text, h->curl.url_strerror(code));
}

struct http *http_open(const char *url, const char *path, const char *ca_file, struct err *e)
{
    struct http *h = calloc(1, sizeof *h);
    if (!h || !load(&h->curl, e)) {
        free(h);
        err_set(e, ERR_INTERNAL, "cannot send: out of memory");
        return NULL;
    }
    h->text = strndup(url, strcspn(url, "?#"));
    h->ca_file = ca_file ? strdup(ca_file) : NULL;
    h->easy = h->curl.easy_init();
    h->url = h->curl.url();
    bool ok = (h->text && (h->ca_file || !ca_file) && h->easy && h->url) ||
              err_set(e, ERR_INTERNAL, "cannot send: out of memory");
    if (ok && address(h, url, path, e))
        return h;
    http_close(h);
    return NULL;
}

void http_close(struct http *h)
{
    if (!h)
        return;
    h->curl.easy_cleanup(h->easy);
    h->curl.url_cleanup(h->url);
    h->curl.global_cleanup(); /* not dlclose: what TLS libraries do at exit is in them */
    free(h->text);
    free(h->ca_file);
    free(h);
}

const char *http_name(const struct http *h)
{
    return h->text;
}

char *http_path_take(struct http *h)
{
    char *text = NULL, *path = NULL;
    if (!h->curl.url_get(h->url, CURLUPART_PATH, &text, CURLU_URLDECODE))
        path = strdup(*text == '/' ? text + 1 : text);
    h->curl.free(text);
    if (path && h->curl.url_set(h->url, CURLUPART_PATH, "/", 0)) {
        free(path);
        path = NULL;
    }
    return path;
}

/* ---- requests ---- */

struct taking {
    struct http_answer *answer;
    size_t most;
    bool cut; /* what is too long is cut; else it is refused */
};

static size_t take_body(char *data, size_t one, size_t size, void *arg)
{
    struct taking *t = arg;
    struct buf *body = &t->answer->body;
    size_t room = t->most - body->size, wanted = one * size;
    if (wanted > room && !t->cut)
        return 0;
    buf_put(body, data, wanted < room ? wanted : room);
    return buf_ok(body) || t->cut ? wanted : 0;
}

/* Accumulates as libcurl's own functions do: the first code that is no success is kept. */
#define SET(option, value)                                                                         \
    (code = code ? code : h->curl.easy_setopt(h->easy, CURLOPT_##option, value))

static CURLcode prepare(struct http *h, const struct curl_slist *fields,
                        const struct http_request *r, struct taking *taking)
{
    CURLcode code = CURLE_OK;
    SET(CURLU, h->url);
    SET(USERAGENT, "penumbra");
    SET(NOSIGNAL, 1L);
    SET(HTTPHEADER, fields);
    SET(POSTFIELDSIZE_LARGE, (curl_off_t)r->body->size);
    SET(POSTFIELDS, r->body->size ? (const char *)r->body->data : "");
    SET(TIMEOUT_MS, (long)r->timeout_ms);
    SET(EXPECT_100_TIMEOUT_MS, (long)r->timeout_ms);
    SET(WRITEFUNCTION, take_body);
    SET(WRITEDATA, taking);
    SET(ERRORBUFFER, h->why);
    if (h->ca_file)
        SET(CAINFO, h->ca_file);
    return code;
}

/* What another try does not change. */
static bool is_lasting(CURLcode code)
{
    return code == CURLE_OUT_OF_MEMORY || code == CURLE_PEER_FAILED_VERIFICATION ||
           code == CURLE_SSL_CACERT_BADFILE || code == CURLE_UNSUPPORTED_PROTOCOL ||
           code == CURLE_NOT_BUILT_IN || code == CURLE_UNKNOWN_OPTION;
}

static bool field_add(const struct http *h, struct curl_slist **all, const char *name,
                      const char *value)
{
    char *field;
    if (asprintf(&field, "%s:%s%s", name, *value ? " " : "", value) < 0)
        return false;
    struct curl_slist *longer = h->curl.slist_append(*all, field);
    free(field);
    *all = longer ? longer : *all;
    return longer;
}

static struct curl_slist *head_fields(const struct http *h, const struct http_request *r)
{
    struct curl_slist *all = NULL;
    /* no Expect: collectors that do not know it are waited for a second */
    bool ok = field_add(h, &all, "Content-Type", r->type) &&
              (!r->gzip || field_add(h, &all, "Content-Encoding", "gzip")) &&
              field_add(h, &all, "Expect", r->expect ? "100-continue" : "");
    for (unsigned i = 0; ok && i < r->field_count; i++)
        ok = field_add(h, &all, r->fields[i].name, r->fields[i].value);
    if (ok)
        return all;
    h->curl.slist_free_all(all);
    return NULL;
}

static bool query_set(struct http *h, const struct http_request *r)
{
    CURLUcode code = h->curl.url_set(h->url, CURLUPART_QUERY, NULL, 0);
    for (unsigned i = 0; !code && i < r->query_count; i++) {
        char *pair = NULL;
        if (asprintf(&pair, "%s=%s", r->query[i].name, r->query[i].value) < 0)
            return false;
        code = h->curl.url_set(h->url, CURLUPART_QUERY, pair, CURLU_APPENDQUERY | CURLU_URLENCODE);
        free(pair);
    }
    return !code;
}

static void take_figures(struct http *h, struct http_answer *answer)
{
    long status = 0;
    curl_off_t wait = 0;
    h->curl.easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &status);
    h->curl.easy_getinfo(h->easy, CURLINFO_RETRY_AFTER, &wait);
    answer->status = (int)status;
    answer->retry_after = wait < 0 ? 0 : wait > UINT32_MAX ? UINT32_MAX : (uint32_t)wait;
}

static bool exchange(struct http *h, const struct http_request *r, bool cut,
                     struct http_answer *answer, bool *again, struct err *e)
{
    struct taking taking = {.answer = answer, .most = r->answer_most, .cut = cut};
    *answer = (struct http_answer){ 0 };
    struct curl_slist *fields = head_fields(h, r);
    CURLcode code = fields ? prepare(h, fields, r, &taking) : CURLE_OUT_OF_MEMORY;
    h->why[0] = 0;
    if (!code)
        code = h->curl.easy_perform(h->easy);
    if (!code)
        take_figures(h, answer);
    h->curl.slist_free_all(fields);
    *again = code && !is_lasting(code);
    return !code || err_set(e, code == CURLE_OUT_OF_MEMORY ? ERR_INTERNAL : ERR_OUTPUT,
                            "cannot send to %s: %s", h->text,
                            h->why[0] ? h->why : h->curl.easy_strerror(code));
}

bool http_send(struct http *h, const struct http_request *r, struct http_answer *answer,
               bool *again, struct err *e)
{
    *answer = (struct http_answer){ 0 };
    *again = false;
    return query_set(h, r) ? exchange(h, r, false, answer, again, e)
                           : err_set(e, ERR_INTERNAL, "cannot send: out of memory");
}

bool http_post(struct http *h, const char *type, const struct buf *body, uint32_t timeout_ms,
               struct http_answer *answer, bool *again, struct err *e)
{
    const struct http_request r = {.type = type, .gzip = true, .body = body,
                                   .timeout_ms = timeout_ms, .answer_most = HTTP_BODY_MAX};
    return exchange(h, &r, true, answer, again, e);
}

void http_answer_fini(struct http_answer *answer)
{
    buf_free(&answer->body);
    *answer = (struct http_answer){ 0 };
}
