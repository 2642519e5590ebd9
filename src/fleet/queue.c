#include "fleet/queue.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FRESH "new"
#define BATCH_MOST (UINT64_C(1) << 30)

enum { NAME_SIZE = 40, DIGITS = 20 };

struct queue {
    char *path;
    int folder;
    uint64_t most, next;
};

static void name_of(char name[NAME_SIZE], uint64_t number)
{
    snprintf(name, NAME_SIZE, "%0*" PRIu64 ".batch", DIGITS, number);
}

static bool number_of(const char *name, uint64_t *number)
{
    char again[NAME_SIZE];
    *number = strtoull(name, NULL, 10);
    name_of(again, *number);
    return !strcmp(name, again);
}

/* Told of each batch; the order is the folder's. */
static void each(struct queue *s, void (*tell)(void *context, uint64_t number, uint64_t bytes),
                 void *context)
{
    int fd = openat(s->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *at; (at = readdir(d));) {
        struct stat st;
        uint64_t number;
        if (number_of(at->d_name, &number) &&
            !fstatat(s->folder, at->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
            tell(context, number, (uint64_t)st.st_size);
    }
    closedir(d);
}

struct found {
    uint64_t count, bytes, first, last, above; /* first, of those above `above` */
};

static void find(void *context, uint64_t number, uint64_t bytes)
{
    struct found *f = context;
    f->count++;
    f->bytes += bytes;
    if (number > f->above && number < f->first)
        f->first = number;
    if (number > f->last)
        f->last = number;
}

static struct found look(struct queue *s, uint64_t above)
{
    struct found f = {.first = UINT64_MAX, .above = above};
    each(s, find, &f);
    return f;
}

bool queue_open(struct queue **to, const char *folder, uint64_t most, struct err *e)
{
    struct queue *s = *to = calloc(1, sizeof *s);
    if (!s || !(s->path = strdup(folder)))
        return err_set(e, ERR_INTERNAL, "out of memory");
    s->folder = -1;
    s->most = most;
    if (mkdir(folder, 0700) && errno != EEXIST)
        return err_set_errno(e, ERR_OUTPUT, errno, "cannot make the folder %s", folder);
    s->folder = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (s->folder < 0)
        return err_set_errno(e, ERR_OUTPUT, errno, "cannot open the folder %s", folder);
    s->next = look(s, 0).last + 1;
    return true;
}

void queue_close(struct queue *s)
{
    if (!s)
        return;
    if (s->folder >= 0)
        close(s->folder);
    free(s->path);
    free(s);
}

void queue_bound(struct queue *s, uint64_t most)
{
    s->most = most;
}

void queue_size(struct queue *s, uint64_t *count, uint64_t *bytes)
{
    struct found f = look(s, 0);
    *count = f.count;
    *bytes = f.bytes;
}

/* ---- taking ---- */

/* Opens and locks it; -1: it is gone, another process has it, or *e. */
static int lock(struct queue *s, uint64_t number, struct err *e)
{
    char name[NAME_SIZE];
    struct stat st;
    name_of(name, number);
    int fd = openat(s->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        if (errno != ENOENT)
            err_set_errno(e, ERR_INTERNAL, errno, "cannot open %s/%s", s->path, name);
        return -1;
    }
    /* It may have gone between the two. */
    if (!flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &st) && st.st_nlink)
        return fd;
    close(fd);
    return -1;
}

static void removed(struct queue *s, uint64_t number)
{
    char name[NAME_SIZE];
    name_of(name, number);
    unlinkat(s->folder, name, 0);
}

static bool content_read(const struct queue *s, struct queue_batch *b, struct err *e)
{
    char name[NAME_SIZE];
    struct stat st;
    name_of(name, b->number);
    if (fstat(b->fd, &st))
        return err_set_errno(e, ERR_INTERNAL, errno, "cannot look at %s/%s", s->path, name);
    if (st.st_size < 0 || (uint64_t)st.st_size > BATCH_MOST)
        return err_set(e, ERR_FORMAT, "%s/%s is larger than 1 GB", s->path, name);
    b->data = malloc((size_t)st.st_size + 1);
    if (!b->data)
        return err_set(e, ERR_INTERNAL, "out of memory");
    for (ssize_t n = 1; n > 0 && b->size < (size_t)st.st_size; b->size += (size_t)n) {
        n = read(b->fd, b->data + b->size, (size_t)st.st_size - b->size);
        if (n < 0)
            return err_set_errno(e, ERR_INTERNAL, errno, "cannot read %s/%s", s->path, name);
    }
    return true;
}

bool queue_take(struct queue *s, uint64_t above, struct queue_batch *b, struct err *e)
{
    struct found f = look(s, above);
    *b = (struct queue_batch){.fd = -1, .number = f.first};
    if (f.first == UINT64_MAX)
        return false;
    b->fd = lock(s, f.first, e);
    return b->fd >= 0 && content_read(s, b, e);
}

void queue_let(struct queue *s, struct queue_batch *b, bool done)
{
    if (b->fd >= 0 && done)
        removed(s, b->number);
    if (b->fd >= 0)
        close(b->fd);
    free(b->data);
    *b = (struct queue_batch){.fd = -1};
}

/* ---- putting ---- */

static bool drop(struct queue *s, uint64_t number, struct queue_lost *lost)
{
    struct err ignored = {0};
    struct queue_batch b = {.number = number, .fd = lock(s, number, &ignored)};
    struct batch batch = {.host = NULL};
    bool ok = b.fd >= 0;
    if (ok && content_read(s, &b, &ignored) && batch_read(&batch, b.data, b.size, &ignored)) {
        lost->taken += batch.taken;
        lost->covered_us += batch.covered_us;
    }
    lost->batches += ok;
    batch_fini(&batch);
    queue_let(s, &b, true);
    return ok;
}

/* Makes room by dropping the oldest ones that nobody sends. */
static bool room_make(struct queue *s, uint64_t size, struct queue_lost *lost)
{
    uint64_t above = 0;
    for (;;) {
        struct found f = look(s, above);
        if (f.bytes + size <= s->most)
            return true;
        if (f.first == UINT64_MAX)
            return false;
        above = f.first;
        drop(s, f.first, lost);
    }
}

static bool written(int fd, const struct buf *bytes)
{
    size_t at = 0;
    while (at < bytes->size) {
        ssize_t n = write(fd, bytes->data + at, bytes->size - at);
        if (n <= 0 && errno != EINTR)
            return false;
        at += n > 0 ? (size_t)n : 0;
    }
    return !fsync(fd);
}

bool queue_put(struct queue *s, const struct buf *bytes, struct queue_lost *lost, struct err *e)
{
    char name[NAME_SIZE];
    *lost = (struct queue_lost){0};
    if (!room_make(s, bytes->size, lost))
        return err_set(e, ERR_OUTPUT, "a batch of %zu bytes has no room in the spool %s",
                       bytes->size, s->path);
    int fd = openat(s->folder, FRESH, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && written(fd, bytes);
    int problem = errno;
    if (fd >= 0 && close(fd) && ok) {
        problem = errno;
        ok = false;
    }
    name_of(name, s->next);
    if (ok && renameat(s->folder, FRESH, s->folder, name)) {
        problem = errno;
        ok = false;
    }
    if (!ok) {
        unlinkat(s->folder, FRESH, 0);
        return err_set_errno(e, ERR_OUTPUT, problem, "cannot write to the spool %s", s->path);
    }
    s->next++;
    /* The name, too, is to outlive the machine. If that fails, the batch is there all the same. */
    fsync(s->folder);
    return true;
}
