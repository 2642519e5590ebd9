#include "collector/attach/attach_thread.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/measure.h"

enum { CODE_TRAP_PERF = 6, PAUSE_NS = 100000, RUN_MS = 2 };

static int sample_signal = SIGTRAP;

void attach_thread_samples_by(int number)
{
    sample_signal = number;
}

static uint64_t sample_bit(void)
{
    return UINT64_C(1) << (sample_signal - 1);
}

/* *status of the next stop; false when the thread has ended or the time is up (*gone tells). */
static bool next_stop(pid_t tid, uint64_t until_ms, int *status, bool *gone)
{
    for (;;) {
        pid_t found = waitpid(tid, status, __WALL | (until_ms ? WNOHANG : 0));
        *gone = (found < 0 && errno != EINTR) || (found == tid && !WIFSTOPPED(*status));
        if (*gone)
            return false;
        if (found == tid)
            return true;
        if (until_ms && monotonic_ms() >= until_ms)
            return false;
        struct timespec pause = {0, PAUSE_NS};
        if (found == 0)
            nanosleep(&pause, NULL);
    }
}

static bool is_interrupt(int status)
{
    return status >> 16 == PTRACE_EVENT_STOP;
}

/* The signal that a stopped thread is about to receive, as it shall: 0 drops it. */
static long signal_to_pass(pid_t tid, int status)
{
    siginfo_t info;
    int number = WSTOPSIG(status);
    if (status >> 16 || number == (SIGTRAP | 0x80))
        return 0;
    if (number == sample_signal && !ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) &&
        (info.si_code == SI_TIMER || (number == SIGTRAP && info.si_code == CODE_TRAP_PERF)))
        return 0;
    return number;
}

bool attach_thread_wait(pid_t tid, int request, unsigned most_ms, int *status)
{
    uint64_t until = most_ms ? monotonic_ms() + most_ms : 0;
    bool gone;
    while (next_stop(tid, until, status, &gone)) {
        if (is_interrupt(*status) || WSTOPSIG(*status) == (SIGTRAP | 0x80))
            return true;
        ptrace((enum __ptrace_request)request, tid, NULL, signal_to_pass(tid, *status));
    }
    return false;
}

static enum attach_stop wait_for_interrupt(pid_t tid, unsigned most_ms)
{
    uint64_t until = monotonic_ms() + most_ms;
    int status;
    bool gone;
    while (next_stop(tid, until, &status, &gone)) {
        if (is_interrupt(status))
            return ATTACH_STOPPED;
        ptrace(PTRACE_CONT, tid, NULL, signal_to_pass(tid, status));
    }
    return gone ? ATTACH_GONE : ATTACH_STUCK;
}

enum attach_stop attach_thread_stop(pid_t tid, unsigned most_ms)
{
    if (ptrace(PTRACE_SEIZE, tid, NULL, PTRACE_O_TRACESYSGOOD) ||
        ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
        return errno == ESRCH ? ATTACH_GONE : ATTACH_REFUSED;
    return wait_for_interrupt(tid, most_ms);
}

enum attach_stop attach_thread_stop_again(pid_t tid, unsigned most_ms)
{
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) || ptrace(PTRACE_CONT, tid, NULL, NULL))
        return ATTACH_GONE;
    return wait_for_interrupt(tid, most_ms);
}

bool attach_status(pid_t pid, pid_t tid, const char *field, int base, uint64_t *value)
{
    char path[64], line[256];
    size_t length = strlen(field);
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", pid, tid);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        found = !strncmp(line, field, length) && line[length] == ':';
        if (found)
            *value = strtoull(line + length + 1, NULL, base);
    }
    if (f)
        fclose(f);
    return found;
}

static bool is_drained(pid_t pid, pid_t tid, uint64_t lo, uint64_t hi)
{
    struct user_regs_struct regs;
    uint64_t pending = 0;
    attach_status(pid, tid, "SigPnd", 16, &pending);
    return !(pending & sample_bit()) && !ptrace(PTRACE_GETREGS, tid, NULL, &regs) &&
           (regs.rip < lo || regs.rip >= hi);
}

/* Runs the thread for a moment, or until a signal is about to be delivered to it. A stop that is
 * asked for comes before a signal that waits: so it is asked for only afterwards. */
static enum attach_stop run_a_little(pid_t tid, unsigned most_ms)
{
    uint64_t until = monotonic_ms() + RUN_MS;
    int status;
    bool gone = false;
    long number = 0;
    ptrace(PTRACE_CONT, tid, NULL, NULL);
    bool stopped = next_stop(tid, until, &status, &gone);
    if (gone)
        return ATTACH_GONE;
    if (stopped)
        number = signal_to_pass(tid, status);
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) ||
        (stopped && ptrace(PTRACE_CONT, tid, NULL, number)))
        return ATTACH_GONE;
    return wait_for_interrupt(tid, most_ms);
}

/* The mask that the thread has behind a call that waits with one of its own. */
static bool mask_get(pid_t tid, uint64_t *mask)
{
    return !ptrace(PTRACE_GETSIGMASK, tid, (void *)(uintptr_t)sizeof *mask, mask);
}

static void mask_set(pid_t tid, uint64_t mask)
{
    ptrace(PTRACE_SETSIGMASK, tid, (void *)(uintptr_t)sizeof mask, &mask);
}

void attach_thread_block_samples(pid_t tid, bool block)
{
    uint64_t mask;
    if (mask_get(tid, &mask))
        mask_set(tid, block ? mask | sample_bit() : mask & ~sample_bit());
}

/* A signal that the thread blocks, maybe for ever, is let through: the kernel stops for it before
 * the thread executes anything, and again right behind it. A call that waits begins again, with its
 * own mask. */
static enum attach_stop run_open(pid_t pid, pid_t tid, unsigned most_ms)
{
    uint64_t pending = 0, blocked = 0, mask = 0;
    attach_status(pid, tid, "SigPnd", 16, &pending);
    attach_status(pid, tid, "SigBlk", 16, &blocked);
    bool shut = pending & blocked & sample_bit() && mask_get(tid, &mask);
    if (shut)
        mask_set(tid, mask & ~sample_bit());
    enum attach_stop stop = run_a_little(tid, most_ms);
    if (shut && stop == ATTACH_STOPPED)
        mask_set(tid, mask);
    return stop;
}

enum attach_stop attach_thread_drain(pid_t pid, pid_t tid, uint64_t lo, uint64_t hi,
                                     unsigned most_ms)
{
    uint64_t until = monotonic_ms() + most_ms;
    enum attach_stop stop = ATTACH_STOPPED;
    while (stop == ATTACH_STOPPED && !is_drained(pid, tid, lo, hi)) {
        if (monotonic_ms() >= until)
            return ATTACH_STUCK;
        stop = run_open(pid, tid, most_ms);
    }
    return stop;
}

/* Whether a signal of the program's own is about to end the interrupted system call. */
static bool signal_pending(pid_t pid, pid_t tid)
{
    uint64_t own = 0, shared = 0, blocked = 0;
    attach_status(pid, tid, "SigPnd", 16, &own);
    attach_status(pid, tid, "ShdPnd", 16, &shared);
    attach_status(pid, tid, "SigBlk", 16, &blocked);
    return ((own | shared) & ~blocked) != 0;
}

/* The kernel's internal results of a system call that is to begin again (include/linux/errno.h). */
static bool is_restart(long result)
{
    enum { ERESTARTSYS = 512, ERESTARTNOINTR, ERESTARTNOHAND, ERESTART_RESTARTBLOCK = 516 };
    return result == -ERESTARTSYS || result == -ERESTARTNOINTR || result == -ERESTARTNOHAND ||
           result == -ERESTART_RESTARTBLOCK;
}

/* (close is over, whatever it answers.) */
void attach_thread_restart(struct user_regs_struct *regs)
{
    long result = (long)regs->rax;
    if ((long)regs->orig_rax < 0 ||
        (!is_restart(result) && (result != -EINTR || regs->orig_rax == SYS_close)))
        return;
    regs->rip -= 2;
    regs->rax = regs->orig_rax;
    regs->orig_rax = (unsigned long long)-1;
}

/* Begins a system call again that the kernel would let fail because of us. */
static void restart_call(pid_t pid, pid_t tid)
{
    struct user_regs_struct regs;
    if (ptrace(PTRACE_GETREGS, tid, NULL, &regs) || (long)regs.rax != -EINTR ||
        signal_pending(pid, tid))
        return;
    attach_thread_restart(&regs);
    ptrace(PTRACE_SETREGS, tid, NULL, &regs);
}

void attach_thread_go(pid_t pid, pid_t tid)
{
    restart_call(pid, tid);
    ptrace(PTRACE_DETACH, tid, NULL, NULL);
}

/* The numbers among the names in a directory of /proc. */
static pid_t *numbers_in(const char *path, unsigned *count)
{
    pid_t *list = NULL;
    unsigned capacity = 0;
    *count = 0;
    DIR *d = opendir(path);
    for (const struct dirent *entry; d && (entry = readdir(d));) {
        pid_t number = (pid_t)atoi(entry->d_name);
        if (number <= 0)
            continue;
        if (*count == capacity) {
            capacity = capacity ? capacity * 2 : 64;
            pid_t *grown = realloc(list, capacity * sizeof *grown);
            if (!grown)
                break;
            list = grown;
        }
        list[(*count)++] = number;
    }
    if (d)
        closedir(d);
    return list;
}

/* The state of a thread, as a letter; 0: there is none. */
static char state_of(pid_t pid, pid_t tid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(line, 1, sizeof line - 1, f) : 0;
    if (f)
        fclose(f);
    line[n] = '\0';
    const char *end = strrchr(line, ')');
    return end && end[1] == ' ' ? end[2] : '\0';
}

static bool has_ended(pid_t pid, pid_t tid)
{
    char state = state_of(pid, tid);
    return !state || state == 'Z' || state == 'X';
}

/* A first thread that has ended stays as long as the process. */
pid_t *attach_threads(pid_t pid, unsigned *count)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    pid_t *threads = numbers_in(path, count);
    for (unsigned i = 0; i < *count; i++)
        if (threads[i] == pid && has_ended(pid, pid)) {
            threads[i] = threads[--*count];
            break;
        }
    return threads;
}

pid_t attach_view(pid_t pid)
{
    unsigned count;
    if (!has_ended(pid, pid))
        return pid;
    pid_t *threads = attach_threads(pid, &count), view = 0;
    for (unsigned i = 0; i < count && !view; i++)
        if (!has_ended(pid, threads[i]))
            view = threads[i];
    free(threads);
    return view;
}

pid_t *attach_processes(unsigned *count)
{
    return numbers_in("/proc", count);
}
