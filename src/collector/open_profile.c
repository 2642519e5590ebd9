#include "collector/open_profile.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/describe.h"
#include "collector/machine/machine_kernel.h"
#include "collector/record_names.h"
#include "collector/record_spool.h"
#include "profile/live.h"
#include "profile/parts.h"
#include "profile/spool_read.h"
#include "sigsafe/settings.h"

#define NOTE_SNAPSHOT "a snapshot: the recording is still going on\n"
#define NOTE_RECOVERED "recovered: the collector was killed, and this is what had been counted\n"

static bool open_spool(const struct live_info *info, const char *path, struct record_spool *s,
                       bool *alive, struct err *e)
{
    if (!live_same_boot(info) && access(info->spool_path, F_OK))
        return err_set(e, ERR_NOT_FOUND,
                       "\"%s\" is an unfinished recording from before the machine was last "
                       "started; its counters (\"%s\") are gone", path, info->spool_path);
    if (!record_spool_open(s, info->spool_path, alive, e))
        return err_prefix(e, "\"%s\" is an unfinished recording", path);
    if (spool_header(&s->spool)->start_realtime_ns == info->start_realtime_ns)
        return true;
    record_spool_release(s, false);
    return err_set(e, ERR_FORMAT,
                   "\"%s\" is an unfinished recording, but \"%s\" holds the counters "
                   "of another one",
                   path, info->spool_path);
}

/* The first process to register is the program that was started. */
static const char *first_command(const struct profile *p)
{
    const struct profile_process *first = NULL;
    for (uint32_t i = 0; i < p->process_count; i++)
        if (!first || p->processes[i].start_ns < first->start_ns)
            first = &p->processes[i];
    return first ? first->command : "";
}

static struct profile *profile_of(const struct record_spool *s, const struct live_info *info,
                                  const char *note, struct err *e)
{
    const struct spool_header *h = spool_header(&s->spool);
    uint64_t damage = 0;
    bool hidden;
    struct profile *p = profile_from_spool(&s->spool, &damage, e);
    if (!p)
        return NULL;
    p->exit_status = -1;
    p->duration_ns = (uint64_t)h->elapsed_ms * 1000000;
    if (!machine_kernel_name(p, &s->spool, live_same_boot(info), &hidden) ||
        !describe_machine(p, settings_sampling(&s->spool), e) ||
        !describe_set(&p->notes, note, e) || !describe_set(&p->command, first_command(p), e) ||
        !describe_jit(p, NULL, e)) {
        profile_free(p);
        return NULL;
    }
    return p;
}

static struct profile *recover(const struct live_info *info, const char *path, const char *to,
                               struct record_spool *s, const struct recording_callbacks *callbacks,
                               struct err *e)
{
    /* The program may live on; its samples would go nowhere. */
    __atomic_store_n(&spool_header(&s->spool)->state, SPOOL_STOPPED, __ATOMIC_RELEASE);
    struct profile *p = profile_of(s, info, NOTE_RECOVERED, e);
    if (!p)
        return NULL;
    p->recovered = 1;
    const unsigned never = 0;
    record_names_add(&(struct record_names){.callbacks = callbacks, .hurried = &never}, p);
    if (profile_write(p, to ? to : path, e)) {
        unlink(info->spool_path);
        if (to && strcmp(to, path) != 0)
            unlink(path);
        return p;
    }
    profile_free(p);
    return NULL;
}

/* Live files are regular ones. A pipe may be read only once; a device might never end. */
static bool look_for_live_file(const char *path, struct live_info *info, bool *is_live,
                               struct err *e)
{
    struct stat st;
    *is_live = false;
    if (stat(path, &st) || S_ISFIFO(st.st_mode) || S_ISDIR(st.st_mode))
        return true; /* profile_read says what is wrong, if anything */
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_FORMAT, "\"%s\" is a device, not a profile", path);
    return st.st_size > LIVE_FILE_MOST || live_read(path, info, is_live, e);
}

/* A large file of another kind must not be read into memory to find that out. */
static struct profile *read_profile(const char *path, enum profile_summing summing, struct err *e)
{
    char head[4];
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool foreign = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
                   st.st_size > LIVE_FILE_MOST &&
                   pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
                   memcmp(head + 1, "PNB", 3) != 0;
    if (fd >= 0)
        close(fd);
    if (!foreign)
        return profile_read_summed(path, summing, e);
    err_set(e, ERR_FORMAT,
            "\"%s\" is not a profile: it does not begin like one (\"PNB\" at offset 1)", path);
    return NULL;
}

static struct profile *open_with(const char *path, enum profile_summing summing,
                                 const struct recording_callbacks *callbacks, struct err *e)
{
    struct live_info info;
    struct record_spool spool = {.fd = -1};
    bool is_live = false, alive = false;
    if (!look_for_live_file(path, &info, &is_live, e))
        return NULL;
    if (!is_live && recover_is_spool(path)) {
        err_set(e, ERR_FORMAT,
                "\"%s\" holds the counters of an unfinished recording; make a profile "
                "of them with penumbra recover %s -o FILE",
                path, path);
        return NULL;
    }
    if (!is_live)
        return read_profile(path, summing, e);
    if (!open_spool(&info, path, &spool, &alive, e))
        return NULL;
    struct profile *p = alive ? profile_of(&spool, &info, NOTE_SNAPSHOT, e)
                              : recover(&info, path, NULL, &spool, callbacks, e);
    record_spool_release(&spool, false);
    return p;
}

struct profile *open_profile(const char *path, const struct recording_callbacks *callbacks,
                             struct err *e)
{
    return open_with(path, PROFILE_APART, callbacks, e);
}

bool output_is_apart(const char *output, const char *input, struct err *e)
{
    struct stat from, to;
    if (!output || !strcmp(output, "-") || stat(output, &to) || stat(input, &from) ||
        !S_ISREG(to.st_mode) || to.st_dev != from.st_dev || to.st_ino != from.st_ino)
        return true;
    return err_set(e, ERR_USAGE,
                   "\"%s\" is the profile that is read, and would be overwritten; name another "
                   "file to write to",
                   output);
}

static bool read_spool_header(const char *path, struct spool_header *head)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool ok = fd >= 0 && pread(fd, head, sizeof *head, 0) == (ssize_t)sizeof *head &&
              head->magic == SPOOL_MAGIC;
    if (fd >= 0)
        close(fd);
    return ok;
}

bool recover_is_spool(const char *path)
{
    struct spool_header head;
    return read_spool_header(path, &head);
}

/* What the live file of this spool would say. */
static bool live_of_spool(const char *path, struct live_info *info, struct err *e)
{
    struct spool_header head;
    if (!live_describe_self(info, path, e) || !read_spool_header(path, &head))
        return err_set(e, ERR_FORMAT, "\"%s\" cannot be read", path);
    info->pid = head.collector_pid;
    info->start_realtime_ns = head.start_realtime_ns;
    return true;
}

enum recover_outcome recover_profile(const char *path, const char *to, struct profile **p,
                                     const struct recording_callbacks *callbacks, struct err *e)
{
    struct live_info info;
    struct record_spool spool = {.fd = -1};
    bool is_live = false, alive = false;
    if (!look_for_live_file(path, &info, &is_live, e))
        return RECOVER_FAILED;
    bool is_spool = !is_live && recover_is_spool(path);
    if (is_spool && !live_of_spool(path, &info, e))
        return RECOVER_FAILED;
    if (!is_live && !is_spool) {
        *p = read_profile(path, PROFILE_APART, e);
        return *p ? RECOVER_NOT_NEEDED : RECOVER_FAILED;
    }
    if (!open_spool(&info, path, &spool, &alive, e))
        return RECOVER_FAILED;
    *p = NULL;
    if (alive)
        err_set(e, ERR_USAGE, "\"%s\" is still being recorded by process %d; end that recording "
                "(kill %d), or look at it as it is with penumbra report", path, info.pid, info.pid);
    else
        *p = recover(&info, path, to, &spool, callbacks, e);
    record_spool_release(&spool, false);
    return *p ? RECOVER_DONE : RECOVER_FAILED;
}

struct profile *open_profile_by(const char *path, const char *observation, const char **metric,
                                enum profile_summing summing,
                                const struct recording_callbacks *callbacks, struct err *e)
{
    struct profile *p = open_with(path, summing, callbacks, e);
    if (!p || (profile_choose(&p, observation, summing, e) && profile_lead_by(p, metric, e)))
        return p;
    profile_free(p);
    return NULL;
}
