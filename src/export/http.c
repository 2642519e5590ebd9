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

static bool address(struct http *h, const char *path, struct err *e)
{
    CURLUcode code = h->curl.url_set(h->url, CURLUPART_URL, h->text, CURLU_DISALLOW_USER);
    if (!code && !is_part(h, CURLUPART_SCHEME, "http", "https"))
        code = CURLUE_UNSUPPORTED_SCHEME;
    if (!code && is_part(h, CURLUPART_PATH, "/", ""))
        code = h->curl.url_set(h->url, CURLUPART_PATH, path, 0);
    return !code || err_set(e, code == CURLUE_OUT_OF_MEMORY ? ERR_INTERNAL : ERR_USAGE,
                            "'%s' is no address of a collector, http://HOST:PORT or "
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
    h->text = strdup(url);
    h->ca_file = ca_file ? strdup(ca_file) : NULL;
    h->easy = h->curl.easy_init();
    h->url = h->curl.url();
    bool ok = (h->text && (h->ca_file || !ca_file) && h->easy && h->url) ||
              err_set(e, ERR_INTERNAL, "cannot send: out of memory");
    if (ok && address(h, path, e))
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

/* ---- requests ---- */

static size_t take_body(char *data, size_t one, size_t size, void *arg)
{
    struct http_answer *answer = arg;
    size_t room = HTTP_BODY_MAX - answer->body.size;
    buf_put(&answer->body, data, one * size < room ? one * size : room);
    return one * size;
}

/* Accumulates as libcurl's own functions do: the first code that is no success is kept. */
#define SET(option, value)                                                                         \
    (code = code ? code : h->curl.easy_setopt(h->easy, CURLOPT_##option, value))

static CURLcode prepare(struct http *h, const struct curl_slist *fields, const struct buf *body,
                        uint32_t timeout_ms, struct http_answer *answer)
{
    CURLcode code = CURLE_OK;
    SET(CURLU, h->url);
    SET(USERAGENT, "penumbra");
    SET(NOSIGNAL, 1L);
    SET(HTTPHEADER, fields);
    SET(POSTFIELDSIZE_LARGE, (curl_off_t)body->size);
    SET(POSTFIELDS, (const char *)body->data);
    SET(TIMEOUT_MS, (long)timeout_ms);
    SET(WRITEFUNCTION, take_body);
    SET(WRITEDATA, answer);
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

static struct curl_slist *head_fields(const struct http *h, const char *type)
{
    char field[128];
    struct curl_slist *all = NULL;
    /* no Expect: collectors that do not know it are waited for a second */
    const char *const more[] = { field, "Content-Encoding: gzip", "Expect:" };
    snprintf(field, sizeof field, "Content-Type: %s", type);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        struct curl_slist *longer = h->curl.slist_append(all, more[i]);
        if (!longer) {
            h->curl.slist_free_all(all);
            return NULL;
        }
        all = longer;
    }
    return all;
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

bool http_post(struct http *h, const char *type, const struct buf *body, uint32_t timeout_ms,
               struct http_answer *answer, bool *again, struct err *e)
{
    *answer = (struct http_answer){ 0 };
    struct curl_slist *fields = head_fields(h, type);
    CURLcode code = fields ? prepare(h, fields, body, timeout_ms, answer) : CURLE_OUT_OF_MEMORY;
    h->why[0] = 0;
    if (!code)
        code = h->curl.easy_perform(h->easy);
    if (!code)
        take_figures(h, answer);
    h->curl.slist_free_all(fields);
    *again = code && !is_lasting(code);
    return !code || err_set(e, code == CURLE_OUT_OF_MEMORY ? ERR_INTERNAL : ERR_OUTPUT,
                            "cannot send to the collector %s: %s", h->text,
                            h->why[0] ? h->why : h->curl.easy_strerror(code));
}

void http_answer_fini(struct http_answer *answer)
{
    buf_free(&answer->body);
    *answer = (struct http_answer){ 0 };
}
