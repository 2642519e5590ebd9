#include "collector/record_names.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "profile/kind/names.h"
#include "symbols/symbols.h"

/* How long the end of a recording takes at most: for everything, then for symbol tables alone. */
#define LINES_NS UINT64_C(10000000000)
#define QUICK_NS UINT64_C(3000000000)
#define SAY_FIRST_NS UINT64_C(1000000000)
#define SAY_NEXT_NS UINT64_C(3000000000)

enum { POLL_MS = 50, HEAD_BYTES = 16, NICE = 10 };

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* ---- the child ---- */

static bool send_all(int to, const uint8_t *data, size_t size)
{
    while (size) {
        ssize_t n = write(to, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

struct sender {
    int to;
    uint32_t images;
    struct record_files *files;
};

static bool image_send(void *context, const struct symbols *s, uint32_t image)
{
    struct sender *sender = context;
    struct buf head = {0}, body = {0};
    struct profile_names *names = profile_names_new(sender->images);
    bool ok = names && symbols_keep_image(s, image, names);
    if (ok)
        kind_names_write(&body, names);
    buf_put_u64(&head, body.size);
    buf_put_u64(&head, image);
    ok = ok && buf_ok(&head) && buf_ok(&body) && send_all(sender->to, head.data, head.size) &&
         send_all(sender->to, body.data, body.size);
    buf_free(&head);
    buf_free(&body);
    profile_names_free(names);
    return ok;
}

static int image_open(void *context, const struct profile_image *image)
{
    struct sender *sender = context;
    return sender->files ? record_files_open(sender->files, image) : -1;
}

/* Expendable: neither the profile nor the program may suffer from what reading names takes. */
static void become_expendable(pid_t parent, const struct record_names *r)
{
    struct rlimit none = {0, 0};
    tell_in_child(r->callbacks);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    setrlimit(RLIMIT_CORE, &none);
    if (r->gentle)
        setpriority(PRIO_PROCESS, 0, NICE);
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t ignored = write(fd, "1000", 4);
        (void)ignored;
        close(fd);
    }
    /* Bars begin at the left, where the program's last line may not have ended. */
    fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (fd >= 0)
        dup2(fd, STDERR_FILENO);
    /* No recording waits for a network. */
    unsetenv("DEBUGINFOD_URLS");
}

static void read_names(const struct record_names *r, const struct profile *p, int to,
                       enum symbols_detail detail)
{
    struct err ignored = {0};
    struct sender sender = {.to = to, .images = p->image_count, .files = r->files};
    struct symbols_options options = {.detail = detail, .open_image = image_open,
                                      .image_done = image_send, .context = &sender};
    symbols_load_with(p, &options, &ignored);
}

/* ---- the parent ---- */

struct receiver {
    struct profile *profile;
    const uint32_t *same; /* image i is image i */
    bool *done;           /* by image */
    unsigned asked;       /* *hurried when it began */
    struct buf buf;
};

static bool message_take(struct receiver *r, const uint8_t *body, size_t size, uint64_t image)
{
    struct profile *p = r->profile;
    if (image >= p->image_count)
        return false;
    struct profile_names *names = kind_names_read(body, size, p->image_count);
    bool ok = names && profile_names_merge(p->names, names, r->same, p->image_count);
    profile_names_free(names);
    r->done[image] |= ok;
    return ok;
}

/* False: what came cannot be used, and neither can what follows. */
static bool messages_take(struct receiver *r)
{
    size_t at = 0;
    bool ok = buf_ok(&r->buf);
    while (ok && r->buf.size - at >= HEAD_BYTES) {
        uint64_t size, image;
        memcpy(&size, r->buf.data + at, sizeof size);
        memcpy(&image, r->buf.data + at + sizeof size, sizeof image);
        if (size > r->buf.size - at - HEAD_BYTES)
            break;
        ok = message_take(r, r->buf.data + at + HEAD_BYTES, size, image);
        at += HEAD_BYTES + size;
    }
    if (ok && at) {
        memmove(r->buf.data, r->buf.data + at, r->buf.size - at);
        r->buf.size -= at;
    }
    return ok;
}

static unsigned missing(const struct receiver *r)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < r->profile->image_count; i++)
        count += !r->done[i];
    return count;
}

/* How far it is, now and then. */
static void progress_tell(const struct recording_callbacks *c, const struct receiver *of,
                          uint64_t *next_ns)
{
    uint64_t now = now_ns();
    if (!c->progress || now < *next_ns)
        return;
    *next_ns = now + SAY_NEXT_NS;
    c->progress(c->context, of->profile->image_count - missing(of), of->profile->image_count);
}

static bool is_hurried(const struct record_names *r, const struct receiver *to)
{
    return __atomic_load_n(r->hurried, __ATOMIC_RELAXED) != to->asked;
}

/* Until the child has said everything. */
static void receive(const struct record_names *r, struct receiver *to, int from, uint64_t most_ns)
{
    enum { CHUNK = 65536 };
    uint64_t end = now_ns() + most_ns, say = now_ns() + SAY_FIRST_NS;
    while (now_ns() < end && !is_hurried(r, to)) {
        struct pollfd wait = {.fd = from, .events = POLLIN};
        if (r->serve)
            r->serve(r->context);
        progress_tell(r->callbacks, to, &say);
        if (poll(&wait, 1, POLL_MS) <= 0)
            continue;
        uint8_t *room = buf_reserve(&to->buf, CHUNK);
        ssize_t n = room ? read(from, room, CHUNK) : -1;
        if (n < 0 && room && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        to->buf.size += (size_t)n;
        if (!messages_take(to))
            return;
    }
}

static void child_end(pid_t child)
{
    kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
}

static void run(const struct record_names *r, struct receiver *to, enum symbols_detail detail,
                uint64_t most_ns)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return;
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        close(ends[0]);
        become_expendable(parent, r);
        read_names(r, to->profile, ends[1], detail);
        _exit(0);
    }
    close(ends[1]);
    if (child > 0) {
        receive(r, to, ends[0], most_ns);
        child_end(child);
    }
    close(ends[0]);
    to->buf.size = 0;
}

unsigned record_names_add(const struct record_names *r, struct profile *p)
{
    uint32_t *same = calloc((size_t)p->image_count + 1, sizeof *same);
    struct receiver to = {.profile = p, .same = same,
                          .asked = __atomic_load_n(r->hurried, __ATOMIC_RELAXED),
                          .done = calloc((size_t)p->image_count + 1, sizeof *to.done)};
    unsigned left = 0;
    p->names = profile_names_new(p->image_count);
    if (p->names && same && to.done) {
        for (uint32_t i = 0; i < p->image_count; i++)
            same[i] = i;
        if (!r->quick)
            run(r, &to, SYMBOLS_LINES, LINES_NS);
        left = missing(&to);
        if (left && !is_hurried(r, &to))
            run(r, &to, SYMBOLS_QUICK, QUICK_NS);
    }
    buf_free(&to.buf);
    free(same);
    free(to.done);
    return left;
}
