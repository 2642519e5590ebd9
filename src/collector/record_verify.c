#include "collector/record_verify.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/measure.h"

enum { LONGER = 4, PAUSE_NS = 5000000 }; /* than the program: then a copy is given up */
#define LONGER_NS UINT64_C(10000000000)
/* Of native time: shorter programs differ by more than sampling costs. */
#define LEAST_NS UINT64_C(100000000)

/* A terminal is as good as nothing to read. */
static bool input_check(struct err *e)
{
    struct stat st;
    if (fstat(STDIN_FILENO, &st) || S_ISREG(st.st_mode) || S_ISCHR(st.st_mode))
        return true;
    return err_set(e, ERR_USAGE,
                   "--verify-cost runs copies of the program, which cannot read the same "
                   "pipe or socket; give its input as a file (< FILE), or none (< /dev/null)");
}

static void stream_set(int stream, const char *path, int flags, off_t at)
{
    int fd = open(path, flags | O_CLOEXEC);
    if (fd < 0)
        return;
    if (at > 0)
        lseek(fd, at, SEEK_SET);
    dup2(fd, stream);
}

static void copy_prepare(void)
{
    struct stat st;
    bool file = !fstat(STDIN_FILENO, &st) && S_ISREG(st.st_mode);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    stream_set(STDIN_FILENO, file ? "/proc/self/fd/0" : "/dev/null", O_RDONLY,
               file ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0);
    stream_set(STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    stream_set(STDERR_FILENO, "/dev/null", O_WRONLY, 0);
}

bool record_verify_start(struct record_verify *v, const struct record_program *program, char **argv,
                         const struct recording_callbacks *callbacks, struct err *e)
{
    if (!input_check(e))
        return false;
    for (int i = 0; i < VERIFY_COPIES; i++)
        if (!record_launch_native(&v->copies[i].pid, program, argv, copy_prepare, callbacks, e)) {
            v->copies[i].pid = 0;
            record_verify_kill(v);
            return false;
        }
    return true;
}

/* False: it runs. */
static bool copy_wait(struct verify_copy *c, int options)
{
    struct rusage used;
    pid_t got;
    if (!c->pid)
        return true;
    do
        got = wait4(c->pid, &c->status, options, &used);
    while (got < 0 && errno == EINTR);
    if (got == c->pid)
        c->cpu_ns = record_used_ns(&used);
    if (got)
        c->pid = 0;
    return got;
}

void record_verify_kill(struct record_verify *v)
{
    for (int i = 0; i < VERIFY_COPIES; i++)
        if (v->copies[i].pid) {
            kill(v->copies[i].pid, SIGKILL);
            copy_wait(&v->copies[i], 0);
        }
}

static bool copies_wait(struct record_verify *v, uint64_t until_ns)
{
    const struct timespec pause = {0, PAUSE_NS};
    for (;;) {
        bool ended = true;
        for (int i = 0; i < VERIFY_COPIES; i++)
            ended &= copy_wait(&v->copies[i], WNOHANG);
        if (ended || monotonic_ns() > until_ns)
            return ended;
        nanosleep(&pause, NULL);
    }
}

static const char *failure_of(const struct record_verify *v, const struct record_child *program,
                              bool ended)
{
    uint64_t native = 0;
    if (!program->ended)
        return "the program goes on";
    if (!ended)
        return "an unrecorded copy took far longer and was killed";
    for (int i = 0; i < VERIFY_COPIES; i++) {
        native += v->copies[i].cpu_ns;
        if (v->copies[i].status != program->status)
            return "an unrecorded copy ended otherwise (do copies write the same files?)";
    }
    return native < VERIFY_COPIES * LEAST_NS ? "the program takes less than 0.1 s of CPU time"
                                             : NULL;
}

void record_verify_end(struct record_verify *v, const struct record_child *program,
                       uint64_t took_ns, double stated, struct buf *notes)
{
    bool ended = program->ended && copies_wait(v, monotonic_ns() + LONGER * took_ns + LONGER_NS);
    record_verify_kill(v);
    const char *failure = failure_of(v, program, ended);
    if (failure) {
        buf_printf(notes, "what the recording costs could not be measured: %s\n", failure);
        return;
    }
    double one = (double)v->copies[0].cpu_ns, two = (double)v->copies[1].cpu_ns;
    double native = (one + two) / 2, recorded = (double)program->cpu_ns;
    buf_printf(notes,
               "measured cost %.1f%% of CPU time, give or take %.1f%%, where the account says "
               "%.1f%% (recorded %.2f s; two unrecorded copies meanwhile %.2f s and %.2f s)\n",
               100 * (recorded / native - 1), 100 * fabs(one - two) / native, stated,
               recorded / 1e9, one / 1e9, two / 1e9);
}
