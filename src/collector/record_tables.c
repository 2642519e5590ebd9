#include "collector/record_tables.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "sigsafe/key.h"
#include "unwind/compile.h"

enum { TABLE_UNTRIED = 0, TABLE_MADE = 1, TABLE_IMPOSSIBLE = 2 };

/* How long the end of a recording waits for a table in the making, which nobody needs any more. */
#define STOP_WAIT_NS 2000000

/* The image's path, NUL-terminated, or "" (the spool is not to be trusted). */
static void image_path(const struct spool *s, const struct spool_image *image, char *path,
                       size_t size)
{
    path[0] = '\0';
    const struct spool_string *string = spool_at(s, image->path, sizeof *string);
    uint32_t length = string ? string->length : 0;
    if (!string || length >= size || !spool_at(s, image->path, sizeof *string + length))
        return;
    memcpy(path, string->bytes, length);
    path[length] = '\0';
}

/* Most urgent first: what the program's stacks are certain to go through. */
static unsigned urgency(const struct spool *s, const struct spool_image *image)
{
    if (image->flags & IMAGE_MAIN)
        return 3;
    char path[SPOOL_PATH_MAX];
    image_path(s, image, path, sizeof path);
    const char *name = strrchr(path, '/');
    if (name && !strncmp(name, "/libc.so", 8))
        return 2;
    return image->flags & IMAGE_RUNTIME ? 0 : 1;
}

/* Visits each image record, newest first, until `visit` returns true. */
static bool find_image(const struct spool *s, bool (*visit)(void *, struct spool_image *),
                       void *context)
{
    spool_ref ref = __atomic_load_n(&spool_header(s)->images, __ATOMIC_ACQUIRE);
    for (unsigned n = 0; n <= 2 * KEY_IMAGE_MAX; n++) {
        struct spool_image *image = spool_at(s, ref, sizeof *image);
        if (!image)
            return false;
        if (visit(context, image))
            return true;
        ref = image->next;
    }
    return false;
}

struct choice {
    const struct spool *spool;
    struct spool_image *image;
    unsigned urgency;
};

static bool is_untried(const struct spool_image *image)
{
    return __atomic_load_n(&image->table_state, __ATOMIC_RELAXED) == TABLE_UNTRIED;
}

static bool visit_any(void *context, struct spool_image *image)
{
    (void)context;
    return is_untried(image);
}

static bool visit_choose(void *context, struct spool_image *image)
{
    struct choice *c = context;
    if (!is_untried(image))
        return false;
    unsigned how = urgency(c->spool, image);
    if (!c->image || how >= c->urgency) { /* >=: the older of equals */
        c->image = image;
        c->urgency = how;
    }
    return false;
}

/* Two processes may register one file at the same time. */
static bool visit_twin(void *context, struct spool_image *image)
{
    struct choice *c = context;
    const struct spool_image *wanted = c->image;
    if (image == wanted || image->dev != wanted->dev || image->ino != wanted->ino ||
        image->file_size != wanted->file_size || image->mtime_ns != wanted->mtime_ns ||
        image->flags != wanted->flags ||
        __atomic_load_n(&image->table_state, __ATOMIC_ACQUIRE) != TABLE_MADE)
        return false;
    c->image = image;
    return true;
}

static bool is_unchanged(const struct spool_image *image, const char *path)
{
    struct stat st;
    return path[0] == '/' && !stat(path, &st) && S_ISREG(st.st_mode) &&
           st.st_dev == image->dev && st.st_ino == image->ino &&
           (uint64_t)st.st_size == image->file_size &&
           (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec == image->mtime_ns;
}

/* Where the kernel put our own vdso: it is every process's. */
static bool find_vdso(const void **start, size_t *size)
{
    FILE *f = fopen("/proc/self/maps", "re");
    char line[512];
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f)) {
        unsigned long lo, hi;
        found = strstr(line, "[vdso]") && sscanf(line, "%lx-%lx", &lo, &hi) == 2;
        if (found) {
            *start = (const void *)lo;
            *size = hi - lo;
        }
    }
    if (f)
        fclose(f);
    return found;
}

static bool compile(const struct record_spool *s, const struct spool_image *image, void **table,
                    size_t *size)
{
    struct err ignored = {0}; /* the runtimes interpret that image's .eh_frame instead */
    if (image->flags & IMAGE_VDSO) {
        const void *vdso;
        size_t vdso_size;
        return find_vdso(&vdso, &vdso_size) &&
               unwind_compile_image(vdso, vdso_size, table, size, &ignored);
    }
    char path[SPOOL_PATH_MAX];
    image_path(&s->spool, image, path, sizeof path);
    if (!is_unchanged(image, path) || image->build_id_size > SPOOL_BUILD_ID_MAX)
        return false;
    return unwind_compile_file(path, image->build_id_size ? image->build_id : NULL,
                               image->build_id_size, table, size, &ignored);
}

static void publish(struct spool_image *image, spool_ref table)
{
    __atomic_store_n(&image->table, table, __ATOMIC_RELEASE);
    __atomic_store_n(&image->table_state, table ? TABLE_MADE : TABLE_IMPOSSIBLE, __ATOMIC_RELEASE);
}

static void make_table(struct record_spool *s, struct spool_image *image)
{
    struct choice twin = {.spool = &s->spool, .image = image};
    if (find_image(&s->spool, visit_twin, &twin)) {
        publish(image, __atomic_load_n(&twin.image->table, __ATOMIC_ACQUIRE));
        return;
    }
    void *table = NULL;
    size_t size = 0;
    spool_ref ref = 0;
    if (compile(s, image, &table, &size)) {
        record_spool_extend(s, size);
        void *copy = spool_alloc_as(&s->spool, size);
        if (copy) {
            memcpy(copy, table, size);
            ref = spool_ref_of(&s->spool, copy);
        }
    }
    free(table);
    publish(image, ref);
}

static void *run(void *context)
{
    struct record_tables *t = context;
    while (!__atomic_load_n(&t->stop, __ATOMIC_ACQUIRE)) {
        struct choice c = {.spool = &t->spool->spool};
        find_image(&t->spool->spool, visit_choose, &c);
        if (c.image)
            make_table(t->spool, c.image);
        else
            while (sem_wait(&t->work) && errno == EINTR)
                continue;
    }
    if (__atomic_exchange_n(&t->left, true, __ATOMIC_ACQ_REL))
        t->last(t->context);
    return NULL;
}

bool record_tables_start(struct record_tables *t, struct record_spool *spool, struct err *e)
{
    *t = (struct record_tables){.spool = spool};
    if (sem_init(&t->work, 0, 0))
        return err_set_errno(e, ERR_INTERNAL, errno, "cannot make a semaphore");
    /* Signals are the main thread's. */
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = pthread_create(&t->thread, NULL, run, t);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    t->started = !error;
    return error ? err_set_errno(e, ERR_INTERNAL, error, "cannot make a thread") : true;
}

void record_tables_kick(struct record_tables *t)
{
    if (t->started && find_image(&t->spool->spool, visit_any, NULL))
        sem_post(&t->work);
}

bool record_tables_stop(struct record_tables *t)
{
    if (!t->started)
        return true;
    __atomic_store_n(&t->stop, true, __ATOMIC_RELEASE);
    sem_post(&t->work);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += STOP_WAIT_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (pthread_timedjoin_np(t->thread, NULL, &until))
        return false;
    sem_destroy(&t->work);
    t->started = false;
    return true;
}

void record_tables_leave(struct record_tables *t, void (*last)(void *context), void *context)
{
    t->last = last;
    t->context = context;
    pthread_detach(t->thread);
    if (__atomic_exchange_n(&t->left, true, __ATOMIC_ACQ_REL))
        last(context);
}
