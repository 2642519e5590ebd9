#include "profile/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A pipe's size is not known before its end; this is the first guess. */
#define READ_FIRST 65536u

static uint8_t *read_all(int fd, size_t guess, size_t *size)
{
    size_t capacity = guess + 1, n = 0;
    uint8_t *data = malloc(capacity);
    while (data) {
        ssize_t got = read(fd, data + n, capacity - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        n += (size_t)got;
        if (got == 0) {
            *size = n;
            return data;
        }
        if (n < capacity)
            continue;
        uint8_t *more = capacity > SIZE_MAX / 2 ? NULL : realloc(data, capacity * 2);
        if (!more) {
            errno = ENOMEM;
            break;
        }
        data = more;
        capacity *= 2;
    }
    int saved = data ? errno : ENOMEM;
    free(data);
    errno = saved;
    return NULL;
}

uint8_t *file_read(const char *path, size_t *size, struct err *e)
{
    struct stat st;
    uint8_t *data = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        err_set_errno(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_INTERNAL, errno,
                      "%s cannot be opened", path);
        return NULL;
    }
    if (fstat(fd, &st) < 0)
        err_set_errno(e, ERR_INTERNAL, errno, "%s cannot be examined", path);
    else if (S_ISDIR(st.st_mode))
        err_set(e, ERR_FORMAT, "%s is a directory, not a profile", path);
    else if (!(data = read_all(fd, S_ISREG(st.st_mode) ? (size_t)st.st_size : READ_FIRST, size)))
        err_set_errno(e, ERR_INTERNAL, errno, "%s cannot be read", path);
    close(fd);
    return data;
}

static bool write_all(int fd, const uint8_t *data, size_t size)
{
    while (size) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

static bool write_device(const char *path, const uint8_t *data, size_t size, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    bool ok = fd >= 0 && write_all(fd, data, size);
    if (!ok)
        err_set_errno(e, ERR_OUTPUT, errno, "%s cannot be written", path);
    if (fd >= 0)
        close(fd);
    return ok;
}

/* What is to outlast a power cut must be on the disk before the name points to it, or an empty file
 * is left. */
static bool write_and_rename(int fd, const char *temporary, const char *path,
                             const struct file_content *c, struct err *e)
{
    bool ok = write_all(fd, c->data, c->size) &&
              (c->passing || fsync(fd) == 0 || errno == EINVAL || errno == EROFS);
    if (close(fd) < 0)
        ok = false;
    if (!ok)
        return err_set_errno(e, ERR_OUTPUT, errno, "%s (for %s) cannot be written", temporary,
                             path);
    if (rename(temporary, path) < 0)
        return err_set_errno(e, ERR_OUTPUT, errno, "%s cannot be renamed to %s", temporary, path);
    return true;
}

static bool write_regular(const char *path, const struct file_content *c, struct err *e)
{
    char *temporary;
    if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
        return err_set(e, ERR_INTERNAL, "out of memory");
    int fd = mkostemp(temporary, O_CLOEXEC); /* mode 0600 */
    bool ok = false;
    if (fd < 0)
        err_set_errno(e, ERR_OUTPUT, errno, "%s cannot be written: no file can be made beside it",
                      path);
    else if (!(ok = write_and_rename(fd, temporary, path, c, e)))
        unlink(temporary);
    free(temporary);
    return ok;
}

bool file_write(const char *path, const struct file_content *c, struct err *e)
{
    struct stat st;
    bool exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode))
        return err_set(e, ERR_OUTPUT, "%s cannot be written: it is a directory", path);
    if (exists && !S_ISREG(st.st_mode))
        return write_device(path, c->data, c->size, e);
    if (exists && access(path, W_OK) < 0)
        return err_set_errno(e, ERR_OUTPUT, errno, "%s cannot be overwritten", path);
    char *target = exists ? realpath(path, NULL) : NULL;
    bool ok = write_regular(target ? target : path, c, e);
    free(target);
    return ok;
}
