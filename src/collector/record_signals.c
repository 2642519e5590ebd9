#include "collector/record_signals.h"

#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { IGNORE, HANDLE };

static const struct { int number, what; } table[] = {
    {SIGCHLD, HANDLE}, {SIGINT, HANDLE},  {SIGQUIT, HANDLE}, {SIGTERM, HANDLE}, {SIGHUP, HANDLE},
    {SIGUSR1, HANDLE}, {SIGUSR2, HANDLE}, {SIGCONT, HANDLE}, {SIGPIPE, IGNORE}, {SIGXFSZ, IGNORE},
};
enum { TABLE_SIZE = sizeof table / sizeof table[0] };

static struct sigaction saved[TABLE_SIZE];
static volatile sig_atomic_t waiting[TABLE_SIZE]; /* to be handed on */
static volatile sig_atomic_t stop, continued, asked;
static uint32_t *bell;
static bool no_program;

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    bool sent = info->si_code <= 0; /* by kill, tgkill or sigqueue; not by the kernel */
    bool asks_to_stop = number == SIGTERM || number == SIGHUP ||
                        ((sent || no_program) && (number == SIGINT || number == SIGQUIT));
    if (asks_to_stop)
        stop = 1;
    if (asks_to_stop || number == SIGINT || number == SIGQUIT)
        asked++;
    if (number == SIGCONT)
        continued = 1;
    if (sent && number != SIGCONT && number != SIGCHLD)
        for (unsigned i = 0; i < TABLE_SIZE; i++)
            if (table[i].number == number)
                waiting[i] = 1;
    if (bell)
        __atomic_fetch_add(bell, 1, __ATOMIC_RELEASE);
}

void record_signals_install(bool alone)
{
    no_program = alone;
    struct sigaction handle = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (unsigned i = 0; i < TABLE_SIZE; i++) {
        sigaction(table[i].number, NULL, &saved[i]);
        bool ignored = saved[i].sa_handler == SIG_IGN && table[i].number != SIGCHLD;
        if (!ignored)
            sigaction(table[i].number, table[i].what == HANDLE ? &handle : &ignore, NULL);
    }
}

void record_signals_set_bell(uint32_t *to)
{
    bell = to;
}

void record_signals_child(void)
{
    for (unsigned i = 0; i < TABLE_SIZE; i++)
        sigaction(table[i].number, &saved[i], NULL);
}

int record_signals_take(void)
{
    for (unsigned i = 0; i < TABLE_SIZE; i++)
        if (waiting[i]) {
            waiting[i] = 0;
            return table[i].number;
        }
    return 0;
}

bool record_signals_stop(void)
{
    return stop;
}

unsigned record_signals_asked(void)
{
    return (unsigned)asked;
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
