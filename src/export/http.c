#include "export/http.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ---- addresses ---- */

static bool take(char *to, size_t room, const char *from, size_t size)
{
    if (!size || size >= room)
        return false;
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)from[i] <= ' ' || (unsigned char)from[i] >= 0x7f)
            return false;
    memcpy(to, from, size);
    to[size] = 0;
    return true;
}

bool http_url_parse(struct http_url *u, const char *text, const char *path, struct err *e)
{
    static const char scheme[] = "http://";
    *u = (struct http_url){ .port = "80" };
    if (strncmp(text, "https://", 8) == 0)
        return err_set(e, ERR_USAGE, "%s wants an encrypted connection, which penumbra does not "
                       "make: send to a collector on this machine, and let it forward", text);
    if (strncmp(text, scheme, sizeof scheme - 1) != 0)
        return err_set(e, ERR_USAGE, "'%s' is no address of a collector: http://HOST:PORT", text);
    const char *host = text + sizeof scheme - 1, *end = host + strcspn(host, "/");
    const char *rest = end, *close = *host == '[' ? strchr(host, ']') : NULL;
    const char *host_end = close ? close + 1 : host + strcspn(host, ":/");
    bool ok = take(u->host, sizeof u->host, host + (close ? 1 : 0),
                   (size_t)(host_end - host) - (close ? 2 : 0));
    if (ok && host_end < end)
        ok = *host_end == ':' && take(u->port, sizeof u->port, host_end + 1,
                                      (size_t)(end - host_end) - 1) &&
             strspn(u->port, "0123456789") == strlen(u->port);
    if (!*rest || !rest[1])
        rest = path;
    ok = ok && !strchr(u->host, '@') && take(u->path, sizeof u->path, rest, strlen(rest));
    return ok || err_set(e, ERR_USAGE, "'%s' is no address of a collector: http://HOST:PORT", text);
}

/* ---- answers ---- */

/* The value of a field of the head, or NULL. */
static const char *field(const char *head, const char *end, const char *name)
{
    size_t size = strlen(name);
    for (const char *line = head; line < end; line = memchr(line, '\n', (size_t)(end - line))) {
        if (*line == '\n')
            line++;
        if ((size_t)(end - line) > size && !strncasecmp(line, name, size) && line[size] == ':')
            return line + size + 1 + strspn(line + size + 1, " \t");
        if (!memchr(line, '\n', (size_t)(end - line)))
            break;
    }
    return NULL;
}

static bool digit(const char *text)
{
    return text && isdigit((unsigned char)*text);
}

bool http_answer_parse(struct http_answer *answer, const char *text, size_t size, bool *all)
{
    const char *end = memmem(text, size, "\r\n\r\n", 4);
    *all = false;
    if (size < 12 || strncmp(text, "HTTP/1.", 7) != 0 || text[8] != ' ' || !digit(text + 9) ||
        !digit(text + 10) || !digit(text + 11))
        return false;
    answer->status = (text[9] - '0') * 100 + (text[10] - '0') * 10 + text[11] - '0';
    if (!end)
        return true;
    const char *retry = field(text, end, "retry-after"), *body = end + 4;
    const char *length = field(text, end, "content-length");
    size_t have = size - (size_t)(body - text);
    unsigned long long wanted = digit(length) ? strtoull(length, NULL, 10) : 0;
    unsigned long long seconds = digit(retry) ? strtoull(retry, NULL, 10) : 0;
    answer->retry_after = seconds > UINT32_MAX ? UINT32_MAX : (uint32_t)seconds;
    *all = digit(length) && have >= wanted;
    if (field(text, end, "transfer-encoding"))
        return true;
    have = digit(length) && have > wanted ? (size_t)wanted : have;
    answer->body.size = 0;
    buf_put(&answer->body, body, have > HTTP_BODY_MAX ? HTTP_BODY_MAX : have);
    return true;
}

void http_answer_fini(struct http_answer *answer)
{
    buf_free(&answer->body);
    *answer = (struct http_answer){ 0 };
}

/* ---- the connection ---- */

struct connection {
    int socket;
    int64_t deadline_ms;
    const char *host, *port;
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Until the socket is ready. False at the deadline, with errno. */
static bool await(const struct connection *c, short events)
{
    for (;;) {
        int64_t left = c->deadline_ms - now_ms();
        struct pollfd p = { .fd = c->socket, .events = events };
        int ready = left > 0 ? poll(&p, 1, (int)left) : 0;
        if (ready > 0)
            return true;
        if (!ready) {
            errno = ETIMEDOUT;
            return false;
        }
        if (errno != EINTR)
            return false;
    }
}

static bool connect_to(struct connection *c, const struct addrinfo *to)
{
    int error = 0;
    socklen_t size = sizeof error;
    c->socket = socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                       to->ai_protocol);
    if (c->socket < 0)
        return false;
    if (!connect(c->socket, to->ai_addr, to->ai_addrlen))
        return true;
    if (errno == EINPROGRESS && await(c, POLLOUT) &&
        !getsockopt(c->socket, SOL_SOCKET, SO_ERROR, &error, &size)) {
        if (!error)
            return true;
        errno = error;
    }
    error = errno;
    close(c->socket);
    c->socket = -1;
    errno = error;
    return false;
}

static bool connect_any(struct connection *c, struct err *e)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *list = NULL;
    int failed = getaddrinfo(c->host, c->port, &hints, &list), error = EHOSTUNREACH;
    if (failed)
        return err_set(e, ERR_OUTPUT, "cannot find the collector %s: %s", c->host,
                       gai_strerror(failed));
    for (const struct addrinfo *at = list; at && c->socket < 0; at = at->ai_next)
        if (!connect_to(c, at))
            error = errno;
    freeaddrinfo(list);
    return c->socket >= 0 || err_set_errno(e, ERR_OUTPUT, error, "cannot connect to the collector "
                                           "%s:%s", c->host, c->port);
}

static bool send_all(const struct connection *c, const uint8_t *data, size_t size)
{
    while (size) {
        ssize_t sent = send(c->socket, data, size, MSG_NOSIGNAL);
        if (sent >= 0) {
            data += sent;
            size -= (size_t)sent;
        } else if (errno != EINTR && (errno != EAGAIN || !await(c, POLLOUT))) {
            return false;
        }
    }
    return true;
}

/* Until the answer is whole, or the server closes. */
static bool receive(const struct connection *c, struct buf *text)
{
    enum { PIECE = 4096, TEXT_MAX = 2 * HTTP_BODY_MAX };
    struct http_answer seen = { 0 };
    bool all = false, ok = true;
    while (ok && !all && text->size < TEXT_MAX) {
        uint8_t *at = buf_reserve(text, PIECE);
        ssize_t got = at ? recv(c->socket, at, PIECE - 1, 0) : -1;
        if (got > 0) {
            text->size += (size_t)got;
            text->data[text->size] = 0;
            http_answer_parse(&seen, (const char *)text->data, text->size, &all);
        } else if (!got) {
            break;
        } else if (!at || (errno != EINTR && (errno != EAGAIN || !await(c, POLLIN)))) {
            ok = false;
        }
    }
    http_answer_fini(&seen);
    return ok;
}

static bool exchange(const struct connection *c, const struct buf *head, const struct buf *body,
                     struct http_answer *answer, struct err *e)
{
    struct buf text = { 0 };
    bool all;
    bool sent = send_all(c, head->data, head->size) && send_all(c, body->data, body->size);
    int error = errno;
    /* a server may answer before it has read all, and close */
    bool received = receive(c, &text);
    if (sent)
        error = errno;
    bool ok = text.size && http_answer_parse(answer, (const char *)text.data, text.size, &all);
    if (!ok && (!sent || !received))
        err_set_errno(e, ERR_OUTPUT, error, "cannot send to the collector %s:%s", c->host, c->port);
    else if (!ok)
        err_set(e, ERR_OUTPUT, "the collector %s:%s gave no answer that is HTTP", c->host, c->port);
    buf_free(&text);
    return ok;
}

bool http_post(const struct http_url *u, const char *type, const struct buf *body,
               uint32_t timeout_ms, struct http_answer *answer, struct err *e)
{
    struct connection c = { .socket = -1, .deadline_ms = now_ms() + timeout_ms, u->host, u->port };
    struct buf head = { 0 };
    bool v6 = strchr(u->host, ':');
    *answer = (struct http_answer){ 0 };
    buf_printf(&head, "POST %s HTTP/1.1\r\nHost: %s%s%s:%s\r\nUser-Agent: penumbra\r\n"
               "Content-Type: %s\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n"
               "Connection: close\r\n\r\n", u->path, v6 ? "[" : "", u->host, v6 ? "]" : "", u->port,
               type, body->size);
    bool ok = buf_ok(&head) || err_set(e, ERR_INTERNAL, "cannot send: out of memory");
    ok = ok && connect_any(&c, e) && exchange(&c, &head, body, answer, e);
    if (c.socket >= 0)
        close(c.socket);
    buf_free(&head);
    return ok;
}
