#include "serve/web.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* What a client may take: bytes of a request's head, connections, seconds without a word. */
enum { HEAD_MOST = 32768, CONNECTIONS_MOST = 32, SECONDS_MOST = 30 };
enum { COOKIE_SIZE = 32 };

/* What is used of the library: CALL(name) for MHD_name. */
#define MHD_CALLS(CALL)                                                                            \
    CALL(start_daemon) CALL(stop_daemon) CALL(get_daemon_info) CALL(lookup_connection_value)       \
    CALL(create_response_from_buffer_with_free_callback) CALL(add_response_header)                 \
    CALL(queue_response) CALL(destroy_response)

struct mhd {
    void *library;
#define MEMBER(name) __typeof__(MHD_##name) *name;
    MHD_CALLS(MEMBER)
#undef MEMBER
};

struct web {
    struct mhd mhd;
    struct MHD_Daemon *daemon;
    struct web_options options;
    char token[WEB_TOKEN_SIZE], cookie[COOKIE_SIZE]; /* cookie: its name, as ports share them */
    uint16_t port;
};

struct web_request {
    struct web *web;
    struct MHD_Connection *connection;
    const char *path;
};

static bool load(struct mhd *m, struct err *e)
{
    m->library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    bool all = m->library;
#define LOAD(name) all = all && (m->name = dlsym(m->library, "MHD_" #name));
    MHD_CALLS(LOAD)
#undef LOAD
    if (all)
        return true;
    err_set(e, ERR_INTERNAL, "cannot serve: libmicrohttpd cannot be loaded; 'apt-get install "
                             "libmicrohttpd12' installs it");
    return false;
}

/* ---- requests ---- */

const char *web_path(const struct web_request *r)
{
    return r->path;
}

static const char *value_of(const struct web_request *r, enum MHD_ValueKind kind, const char *name)
{
    return r->web->mhd.lookup_connection_value(r->connection, kind, name);
}

const char *web_parameter(const struct web_request *r, const char *name)
{
    return value_of(r, MHD_GET_ARGUMENT_KIND, name);
}

/* In the same time wherever they differ. */
static bool is_token(const struct web *w, const char *given)
{
    unsigned differs = 0;
    if (!given || strlen(given) != sizeof w->token - 1)
        return false;
    for (size_t i = 0; i < sizeof w->token - 1; i++)
        differs |= (unsigned char)(given[i] ^ w->token[i]);
    return !differs;
}

static bool has_token(const struct web_request *r)
{
    static const char bearer[] = "Bearer ";
    const char *given = value_of(r, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
    if (given && !strncmp(given, bearer, sizeof bearer - 1) &&
        is_token(r->web, given + sizeof bearer - 1))
        return true;
    /* One that was given counts, whatever the cookie says. */
    given = web_parameter(r, "token");
    return is_token(r->web, given ? given : value_of(r, MHD_COOKIE_KIND, r->web->cookie));
}

/* With any port: it may be forwarded. */
static bool is_local(const struct web_request *r)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    const char *host = value_of(r, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    for (unsigned i = 0; host && i < sizeof names / sizeof names[0]; i++) {
        size_t length = strlen(names[i]);
        if (!strncasecmp(host, names[i], length) && (!host[length] || host[length] == ':'))
            return true;
    }
    return false;
}

/* ---- answers ---- */

static void refuse(struct web_answer *answer, unsigned status, const char *why)
{
    answer->status = status;
    answer->type = "text/plain; charset=utf-8";
    buf_puts(&answer->body, why);
    buf_put_u8(&answer->body, '\n');
}

static void headers_add(const struct web_request *r, struct MHD_Response *to,
                        const struct web_answer *answer)
{
    static const char *const always[][2] = {
        {MHD_HTTP_HEADER_CACHE_CONTROL, "no-store"},
        {"Content-Security-Policy", "frame-ancestors 'none'"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Referrer-Policy", "no-referrer"},
        {"X-Content-Type-Options", "nosniff"},
    };
    const struct mhd *m = &r->web->mhd;
    char text[256];
    for (unsigned i = 0; i < sizeof always / sizeof always[0]; i++)
        m->add_response_header(to, always[i][0], always[i][1]);
    m->add_response_header(to, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
    if (answer->download) {
        snprintf(text, sizeof text, "attachment; filename=\"%s\"", answer->download);
        m->add_response_header(to, MHD_HTTP_HEADER_CONTENT_DISPOSITION, text);
    }
    if (answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        m->add_response_header(to, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    if (answer->status != MHD_HTTP_FORBIDDEN && web_parameter(r, "token")) {
        snprintf(text, sizeof text, "%s=%s; Path=/; HttpOnly; SameSite=Strict", r->web->cookie,
                 r->web->token);
        m->add_response_header(to, MHD_HTTP_HEADER_SET_COOKIE, text);
    }
}

static enum MHD_Result answer_send(const struct web_request *r, struct web_answer *answer)
{
    const struct mhd *m = &r->web->mhd;
    size_t size = 0;
    if (!buf_ok(&answer->body)) {
        buf_free(&answer->body);
        refuse(answer, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory");
    }
    uint8_t *bytes = buf_detach(&answer->body, &size);
    struct MHD_Response *response =
        m->create_response_from_buffer_with_free_callback(size, bytes, free);
    if (!response) {
        free(bytes);
        return MHD_NO;
    }
    headers_add(r, response, answer);
    enum MHD_Result result = m->queue_response(
        r->connection, answer->status ? answer->status : MHD_HTTP_OK, response);
    m->destroy_response(response);
    return result;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
                                  const char *path, const char *method, const char *version,
                                  const char *body, size_t *body_size, void **state)
{
    struct web *w = context;
    const struct web_request r = {w, connection, path};
    struct web_answer answer = {.status = 0};
    (void)version;
    (void)body;
    (void)body_size;
    (void)state;
    if (!is_local(&r))
        refuse(&answer, MHD_HTTP_FORBIDDEN, "this server is for http://127.0.0.1 alone");
    else if (!has_token(&r))
        refuse(&answer, MHD_HTTP_FORBIDDEN,
               "the token is missing or wrong: open the address that penumbra serve has printed");
    else if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        refuse(&answer, MHD_HTTP_METHOD_NOT_ALLOWED, "this server only reads: GET or HEAD");
    else
        w->options.handle(w->options.context, &r, &answer);
    return answer_send(&r, &answer);
}

/* ---- beginning and end ---- */

static bool token_make(struct web *w, struct err *e)
{
    uint8_t random[(WEB_TOKEN_SIZE - 1) / 2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return err_set_errno(e, ERR_INTERNAL, errno, "cannot make a token");
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(w->token + 2 * i, 3, "%02x", random[i]);
    return true;
}

static bool listen_begin(struct web *w, struct err *e)
{
    const struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(w->options.port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    errno = 0;
    w->daemon = w->mhd.start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD, w->options.port, NULL, NULL, on_request, w,
        MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_MOST,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MOST, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)SECONDS_MOST, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (!w->daemon)
        return err_set_errno(e, ERR_OUTPUT, errno ? errno : EADDRINUSE,
                             "cannot listen on 127.0.0.1, port %u (--port names another; 0 is any "
                             "that is free)", (unsigned)w->options.port);
    const union MHD_DaemonInfo *info = w->mhd.get_daemon_info(w->daemon,
                                                              MHD_DAEMON_INFO_BIND_PORT);
    w->port = info ? info->port : w->options.port;
    return true;
}

struct web *web_begin(const struct web_options *options, struct err *e)
{
    struct web *w = calloc(1, sizeof *w);
    if (!w) {
        err_set(e, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    w->options = *options;
    if (!load(&w->mhd, e) || !token_make(w, e) || !listen_begin(w, e)) {
        free(w);
        return NULL;
    }
    snprintf(w->cookie, sizeof w->cookie, "penumbra-%u", (unsigned)w->port);
    return w;
}

void web_end(struct web *w)
{
    if (!w)
        return;
    w->mhd.stop_daemon(w->daemon); /* not dlclose: what TLS libraries do at exit is in it */
    free(w);
}

uint16_t web_port(const struct web *w)
{
    return w->port;
}

const char *web_token(const struct web *w)
{
    return w->token;
}
