#include "collector/record_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "collector/measure.h"

#define MB (UINT64_C(1) << 20)

/* Storage is asked for in steps of this; when there is none, again after this time. */
#define STORAGE_STEP (UINT64_C(64) << 10)
#define RETRY_NS UINT64_C(1000000000)

enum { NAME_TRIES = 16 };
static const uint64_t size_most = UINT64_C(16) << 30;
static const uint64_t size_least = 4 * MB; /* what is made ready at once */
static const uint64_t reserve_most = 256 * MB;
static const uint64_t shm_free_least = 256 * MB;

static bool shm_is_good(void)
{
    struct statfs fs;
    return !statfs("/dev/shm", &fs) && fs.f_type == TMPFS_MAGIC &&
           (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize >= shm_free_least &&
           !access("/dev/shm", W_OK | X_OK);
}

static bool choose_directory(const char *wanted, const char *output, char *directory,
                             struct err *e)
{
    char parent[PATH_MAX];
    if (!wanted && shm_is_good())
        wanted = "/dev/shm";
    if (!wanted) {
        snprintf(parent, sizeof parent, "%s", output);
        char *slash = strrchr(parent, '/');
        if (slash)
            slash[slash == parent] = '\0';
        wanted = slash ? parent : ".";
    }
    if (!realpath(wanted, directory))
        return err_set_errno(e, ERR_OUTPUT, errno,
                             "cannot put the temporary counters into \"%s\"", wanted);
    return true;
}

/* A name that nobody can have made beforehand. The file gets it when somebody can find it there
 * (record_spool_name): a collector that is killed before leaves nothing behind. */
static int create_file(const char *directory, char *path, bool *named)
{
    *named = false;
    for (unsigned i = 0; i < NAME_TRIES; i++) {
        uint64_t random[2];
        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
            return -1;
        int n = snprintf(path, SPOOL_PATH_MAX, "%s/penumbra-%016llx%016llx.spool", directory,
                         (unsigned long long)random[0], (unsigned long long)random[1]);
        if (n < 0 || n >= SPOOL_PATH_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open(directory, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
        if (fd >= 0)
            return fd;
        /* Not all file systems have files without a name. */
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        *named = fd >= 0;
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* The program inherits RLIMIT_AS and must map the spool too: never take more than an eighth. */
static uint64_t wanted_size(void)
{
    struct rlimit space;
    uint64_t size = size_most;
    if (!getrlimit(RLIMIT_AS, &space) && space.rlim_cur != RLIM_INFINITY)
        while (size > size_least && size > space.rlim_cur / 8)
            size /= 2;
    return size;
}

static bool map_file(struct record_spool *s)
{
    for (uint64_t size = wanted_size(); size >= size_least; size /= 2) {
        if (ftruncate(s->fd, (off_t)size)) {
            if (errno == EFBIG || errno == EINVAL)
                continue; /* RLIMIT_FSIZE, or the file system's own limit */
            return false;
        }
        void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, s->fd, 0);
        if (base != MAP_FAILED) {
            madvise(base, size, MADV_DONTDUMP);
            s->spool = (struct spool){.base = base, .mapped = size};
            return true;
        }
    }
    return false;
}

/* Storage for [from, to): nobody reads or writes there yet. */
static int make_storage(int fd, uint64_t from, uint64_t to)
{
    int result;
    do
        result = fallocate(fd, 0, (off_t)from, (off_t)(to - from));
    while (result && errno == EINTR);
    if (!result)
        return 0;
    if (errno != EOPNOTSUPP && errno != ENOSYS)
        return errno;
    static const char zeros[1 << 16];
    while (from < to) {
        uint64_t n = to - from < sizeof zeros ? to - from : sizeof zeros;
        ssize_t put = pwrite(fd, zeros, n, (off_t)from);
        if (put <= 0)
            return put < 0 ? errno : ENOSPC;
        from += (uint64_t)put;
    }
    return 0;
}

bool record_spool_create(struct record_spool *s, const char *directory, const char *output,
                         uint64_t reserve, struct err *e)
{
    char real[PATH_MAX];
    *s = (struct record_spool){.fd = -1, .reserve = reserve};
    pthread_mutex_init(&s->lock, NULL);
    if (!choose_directory(directory, output, real, e))
        return false;
    s->fd = create_file(real, s->path, &s->named);
    if (s->fd < 0)
        return err_set_errno(e, ERR_OUTPUT, errno,
                             "cannot make the temporary file for the counters in \"%s\" (choose "
                             "another directory with --spool)", real);
    int error = 0;
    /* Recognizable from its first byte on, whenever we are killed. */
    static const union {
        struct spool_header header;
        char page[SPOOL_HEADER_SIZE];
    } first = {.header = {.magic = SPOOL_MAGIC, .version = SPOOL_VERSION, .layout = SPOOL_LAYOUT,
                         .process_size = sizeof(struct spool_process),
                         .thread_size = sizeof(struct spool_thread)}};
    if (flock(s->fd, LOCK_EX | LOCK_NB) ||
        pwrite(s->fd, &first, sizeof first, 0) != (ssize_t)sizeof first || !map_file(s))
        error = errno ? errno : ENOSPC;
    if (!error)
        error = make_storage(s->fd, 0, s->reserve);
    if (error) {
        record_spool_release(s, true);
        return err_set_errno(e, ERR_OUTPUT, error,
                             "cannot get %u MB for the counters in \"%s\" (choose another "
                             "directory with --spool)", (unsigned)(reserve / MB), real);
    }
    struct spool_header *h = spool_header(&s->spool);
    h->size = s->spool.mapped;
    h->next = SPOOL_HEADER_SIZE;
    s->last_next = h->next;
    __atomic_store_n(&h->limit, s->reserve, __ATOMIC_RELEASE);
    return true;
}

bool record_spool_name(struct record_spool *s, struct err *e)
{
    char file[64];
    snprintf(file, sizeof file, "/proc/self/fd/%d", s->fd);
    if (!s->named && linkat(AT_FDCWD, file, AT_FDCWD, s->path, AT_SYMLINK_FOLLOW))
        return err_set_errno(e, ERR_OUTPUT, errno,
                             "cannot give the temporary file for the counters its "
                             "name, \"%s\"",
                             s->path);
    s->named = true;
    return true;
}

/* Moves the limit to `wanted`, or as far as there is storage. */
static void move_limit(struct record_spool *s, uint64_t limit, uint64_t wanted)
{
    uint64_t now = monotonic_ns();
    if (s->full && now - s->full_ns < RETRY_NS)
        return;
    int error = make_storage(s->fd, limit, wanted);
    s->full = error;
    s->full_ns = now;
    while (error && wanted - limit > STORAGE_STEP) {
        wanted = limit + (wanted - limit) / 2 / STORAGE_STEP * STORAGE_STEP;
        error = make_storage(s->fd, limit, wanted);
    }
    if (!error)
        __atomic_store_n(&spool_header(&s->spool)->limit, wanted, __ATOMIC_RELEASE);
}

void record_spool_extend(struct record_spool *s, uint64_t more)
{
    struct spool_header *h = spool_header(&s->spool);
    pthread_mutex_lock(&s->lock);
    uint64_t wanted_by_program =
        (uint64_t)__atomic_exchange_n(&h->wanted_pages, 0, __ATOMIC_RELAXED) * SPOOL_PAGE;
    if (more < wanted_by_program && wanted_by_program <= reserve_most)
        more = wanted_by_program;
    uint64_t next = __atomic_load_n(&h->next, __ATOMIC_RELAXED);
    uint64_t limit = __atomic_load_n(&h->limit, __ATOMIC_RELAXED);
    if (next > s->last_next && next - s->last_next > s->reserve / 2 && s->reserve < reserve_most)
        s->reserve *= 2;
    s->last_next = next;
    /* The header is writable for the program, so it is not to be trusted. */
    if (next > s->spool.mapped || limit > s->spool.mapped || more > s->spool.mapped)
        goto out;
    uint64_t step = s->reserve / 4, wanted = (next + s->reserve + more + step - 1) / step * step;
    if (wanted > s->spool.mapped)
        wanted = s->spool.mapped;
    /* In whole reserves, so that this is not a system call at every bell. */
    if (wanted > limit && (wanted - limit > step || more))
        move_limit(s, limit, wanted);
out:
    pthread_mutex_unlock(&s->lock);
}

bool record_spool_restore(const struct record_spool *s)
{
    struct spool_header *h = spool_header(&s->spool);
    bool overwritten = h->magic != SPOOL_MAGIC || h->version != SPOOL_VERSION ||
                       h->layout != SPOOL_LAYOUT || h->settings != s->settings;
    h->magic = SPOOL_MAGIC;
    h->version = SPOOL_VERSION;
    h->layout = SPOOL_LAYOUT;
    h->settings = s->settings;
    return overwritten;
}

void record_spool_release(struct record_spool *s, bool remove)
{
    if (remove && s->named)
        unlink(s->path);
    if (s->spool.base)
        munmap(s->spool.base, s->spool.mapped);
    if (s->fd >= 0)
        close(s->fd);
    s->spool = (struct spool){0};
    s->fd = -1;
}

static bool check_spool_file(struct record_spool *s, struct stat *st, struct err *e)
{
    if (fstat(s->fd, st))
        return err_set_errno(e, ERR_INTERNAL, errno, "cannot examine \"%s\"", s->path);
    if (!S_ISREG(st->st_mode) || (st->st_uid != geteuid() && geteuid() != 0))
        return err_set(e, ERR_FORMAT, "\"%s\" is not a file of yours, so not your recording",
                       s->path);
    struct spool_header head;
    if (pread(s->fd, &head, sizeof head, 0) != (ssize_t)sizeof head || head.magic != SPOOL_MAGIC ||
        head.version != SPOOL_VERSION || head.layout != SPOOL_LAYOUT ||
        st->st_size < (off_t)SPOOL_HEADER_SIZE)
        return err_set(e, ERR_FORMAT, "\"%s\" does not hold the counters of a recording (of this "
                       "version of penumbra)", s->path);
    return true;
}

bool record_spool_open(struct record_spool *s, const char *path, bool *alive, struct err *e)
{
    *s = (struct record_spool){.fd = -1};
    pthread_mutex_init(&s->lock, NULL);
    snprintf(s->path, sizeof s->path, "%s", path);
    s->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (s->fd < 0)
        return err_set_errno(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_FORMAT, errno,
                             "cannot open the counters of the recording, \"%s\"", path);
    struct stat st;
    if (!check_spool_file(s, &st, e)) {
        record_spool_release(s, false);
        return false;
    }
    *alive = flock(s->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
    uint64_t size = (uint64_t)st.st_size;
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, s->fd, 0);
    if (base == MAP_FAILED) {
        err_set_errno(e, ERR_INTERNAL, errno, "cannot map \"%s\"", path);
        record_spool_release(s, false);
        return false;
    }
    s->spool = (struct spool){.base = base, .mapped = size};
    return true;
}
