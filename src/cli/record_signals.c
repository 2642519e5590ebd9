#include "cli/record_signals.h"

#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { IGNORE, HANDLE };

static const struct {
    int number, what;
} table[] = {
    {SIGCHLD, HANDLE}, {SIGINT, HANDLE},  {SIGQUIT, HANDLE}, {SIGTERM, HANDLE}, {SIGHUP, HANDLE},
    {SIGUSR1, HANDLE}, {SIGUSR2, HANDLE}, {SIGCONT, HANDLE}, {SIGPIPE, IGNORE}, {SIGXFSZ, IGNORE},
};
enum { TABLE_SIZE = sizeof table / sizeof table[0] };

static struct sigaction saved[TABLE_SIZE];
static volatile sig_atomic_t continued;
static struct recording *recording; /* atomic; NULL: nobody is told */
static bool no_program;

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    bool sent = info->si_code <= 0; /* by kill, tgkill or sigqueue; not by the kernel */
    bool asks_to_stop = number == SIGTERM || number == SIGHUP ||
                        ((sent || no_program) && (number == SIGINT || number == SIGQUIT));
    struct recording *r = __atomic_load_n(&recording, __ATOMIC_ACQUIRE);
    if (number == SIGCONT)
        continued = 1;
    if (!r)
        return;
    if (asks_to_stop || number == SIGINT || number == SIGQUIT)
        recording_hurry(r);
    if (asks_to_stop)
        recording_stop(r);
    if (sent && number != SIGCONT && number != SIGCHLD)
        recording_send(r, number);
    recording_wake(r);
}

void record_signals_for(struct recording *r, bool alone)
{
    no_program = alone;
    __atomic_store_n(&recording, r, __ATOMIC_RELEASE);
}

void record_signals_install(void)
{
    struct sigaction handle = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (unsigned i = 0; i < TABLE_SIZE; i++) {
        sigaction(table[i].number, NULL, &saved[i]);
        bool ignored = saved[i].sa_handler == SIG_IGN && table[i].number != SIGCHLD;
        if (!ignored)
            sigaction(table[i].number, table[i].what == HANDLE ? &handle : &ignore, NULL);
    }
}

void record_signals_child(void)
{
    for (unsigned i = 0; i < TABLE_SIZE; i++)
        sigaction(table[i].number, &saved[i], NULL);
}

bool record_signals_continued(void)
{
    bool was = continued;
    continued = 0;
    return was;
}

void record_signals_die(int number)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    /* core_pattern may name a program to pipe to, which RLIMIT_CORE does not stop. */
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    signal(number, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    kill(getpid(), number);
    _exit(128 + number);
}
