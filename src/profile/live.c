#include "profile/live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "profile/file.h"
#include "profile/kind/kind.h"

static bool read_boot_id(char out[LIVE_BOOT_ID_MAX])
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!f)
        return false;
    bool ok = fgets(out, LIVE_BOOT_ID_MAX, f) != NULL;
    fclose(f);
    if (ok)
        out[strcspn(out, "\n")] = 0;
    return ok;
}

/* The process's start in clock ticks since boot, 0 if there is no such process. The name in the
 * second field may hold anything, so fields are counted from its last parenthesis. */
static uint64_t start_ticks(int32_t pid)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    size_t n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    line[n] = 0;
    char *at = strrchr(line, ')');
    unsigned long long ticks = 0;
    if (!at || sscanf(at + 1,
                      " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                      "%*s %*s %llu",
                      &ticks) != 1)
        return 0;
    return ticks;
}

bool live_describe_self(struct live_info *info, const char *spool_path, struct err *e)
{
    struct timespec now;
    *info = (struct live_info){.pid = (int32_t)getpid()};
    if (strlen(spool_path) >= sizeof info->spool_path)
        return err_set(e, ERR_OUTPUT, "the spool's path is longer than %zu bytes: %s",
                       sizeof info->spool_path - 1, spool_path);
    memcpy(info->spool_path, spool_path, strlen(spool_path));
    clock_gettime(CLOCK_REALTIME, &now);
    info->start_realtime_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    errno = 0;
    info->pid_start_ticks = start_ticks(info->pid);
    if (!info->pid_start_ticks || !read_boot_id(info->boot_id)) {
        if (errno == EMFILE || errno == ENFILE)
            return err_set_errno(e, ERR_INTERNAL, errno,
                                 "cannot open any more files (ulimit -n says how "
                                 "many a process may have; a recording has about ten)");
        return err_set(e, ERR_INTERNAL,
                       "/proc/%d/stat or /proc/sys/kernel/random/boot_id cannot be "
                       "read; is /proc mounted?",
                       (int)info->pid);
    }
    return true;
}

static void put_field(struct buf *b, const char *s, size_t max)
{
    size_t n = strnlen(s, max - 1);
    buf_put_uleb(b, n);
    buf_put(b, s, n);
}

static uint8_t *encode(const struct live_info *info, size_t *size, struct err *e)
{
    struct section_out s = {.type = &section_live};
    put_field(&s.raw, info->spool_path, sizeof info->spool_path);
    buf_put_sleb(&s.raw, info->pid);
    buf_put_uleb(&s.raw, info->pid_start_ticks);
    buf_put_uleb(&s.raw, info->start_realtime_ns);
    put_field(&s.raw, info->boot_id, sizeof info->boot_id);
    uint8_t *data = container_finish(CONTAINER_LIVE, &s, 1, false, size, e);
    buf_free(&s.raw);
    return data;
}

bool live_write(const char *path, const struct live_info *info, struct err *e)
{
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        if (access(path, W_OK) == 0)
            return true;
        return err_set_errno(e, ERR_OUTPUT, errno, "%s cannot be written", path);
    }
    size_t size = 0;
    uint8_t *data = encode(info, &size, e);
    bool ok =
        data &&
        file_write(path, &(struct file_content){.data = data, .size = size, .passing = true}, e);
    free(data);
    return ok;
}

static void get_field(struct cursor *c, char *out, size_t max, const char *what)
{
    char *s = cursor_string(c, what);
    if (s && strlen(s) >= max)
        cursor_fail(c, what);
    else if (s)
        memcpy(out, s, strlen(s) + 1);
    free(s);
}

static bool decode(const struct container *file, struct live_info *info, struct err *e)
{
    struct section_in s;
    if (!container_find(file, section_live.number, &s))
        return err_set(e, ERR_FORMAT, "%s: offset %u: the table has no section of type %u (live)",
                       file->name, CONTAINER_HEADER_SIZE, section_live.number);
    struct cursor c = {
        .file = file->name, .section = section_live.name, .offset = s.offset, .e = e};
    uint8_t *data = container_load(file, &s, &c.size, e);
    if (!data)
        return false;
    c.data = data;
    *info = (struct live_info){0};
    get_field(&c, info->spool_path, sizeof info->spool_path, "the path of the spool");
    int64_t pid = cursor_sleb(&c, "a process id");
    if (pid <= 0 || pid > INT32_MAX)
        cursor_fail(&c, "a process id");
    info->pid = (int32_t)pid;
    info->pid_start_ticks = cursor_uleb(&c, UINT64_MAX, "when the collector began");
    info->start_realtime_ns = cursor_uleb(&c, UINT64_MAX, "when the recording began");
    get_field(&c, info->boot_id, sizeof info->boot_id, "the boot's id");
    bool ok = cursor_end(&c);
    free(data);
    return ok;
}

bool live_read(const char *path, struct live_info *info, bool *is_live, struct err *e)
{
    struct container file = {.lookup = section_kind_lookup};
    size_t size = 0;
    *is_live = false;
    uint8_t *data = file_read(path, &size, e);
    if (!data)
        return false;
    bool ok = true;
    /* The kind is looked at first: whatever is wrong with another kind of file, profile_read
     * says. */
    if (size >= CONTAINER_HEADER_SIZE && data[12] == CONTAINER_LIVE &&
        memcmp(data + 1, "PNB", 3) == 0) {
        ok = container_open(&file, data, size, path, e) && decode(&file, info, e);
        *is_live = ok;
    }
    free(data);
    return ok;
}

bool live_same_boot(const struct live_info *info)
{
    char now[LIVE_BOOT_ID_MAX];
    return read_boot_id(now) && strcmp(now, info->boot_id) == 0;
}

bool live_collector_runs(const struct live_info *info)
{
    return live_same_boot(info) && info->pid_start_ticks &&
           start_ticks(info->pid) == info->pid_start_ticks;
}
