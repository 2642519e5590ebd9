/* Signals that become deliverable at the same moment: the kernel begins one handler in front of the
 * other's first instruction. Their order, the mask in each and the mask afterwards are printed; so
 * is what a child sees that is forked meanwhile. Then the same number of times without printing,
 * while another thread sends more. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KINDS = 12, ROUNDS = 300 };
static int numbers[KINDS];
static volatile sig_atomic_t count[KINDS], wrong, loud, done;

static int is_blocked(int number)
{
    sigset_t now;
    sigemptyset(&now);
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, number);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    char line[64];
    int which = 0;
    (void)info;
    (void)context;
    while (numbers[which] != number)
        which++;
    count[which]++;
    wrong += !is_blocked(number) || !is_blocked(SIGWINCH);
    if (loud)
        write(1, line, (size_t)snprintf(line, sizeof line, "%d of %d\n", number, info->si_code));
}

static void *sender(void *target)
{
    while (!done) {
        pthread_kill(*(pthread_t *)target, SIGALRM);
        usleep(100);
    }
    return NULL;
}

static void on_alarm(int number)
{
    (void)number;
}

static void round_of(int forks)
{
    sigset_t all, before;
    sigemptyset(&all);
    for (int i = 0; i < KINDS; i++)
        sigaddset(&all, numbers[i]);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    for (int i = 0; i < KINDS; i++)
        if (i % 2 || loud)
            raise(numbers[i]);
        else
            kill(getpid(), numbers[i]);
    if (forks && fork() == 0) {
        sigset_t left;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        sigpending(&left);
        _exit(sigismember(&left, SIGUSR1) + wrong);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (int i = 0; i < KINDS; i++)
        wrong += is_blocked(numbers[i]);
    wrong += is_blocked(SIGALRM) + is_blocked(SIGWINCH);
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    struct sigaction alarm_action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    pthread_t self = pthread_self(), other;
    sigaddset(&action.sa_mask, SIGWINCH);
    for (int i = 0; i < KINDS; i++) {
        numbers[i] = i == 0 ? SIGUSR1 : i == 1 ? SIGUSR2 : SIGRTMIN + i;
        sigaction(numbers[i], &action, NULL);
    }
    sigaction(SIGALRM, &alarm_action, NULL);
    loud = 1;
    round_of(0);
    loud = 0;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_create(&other, NULL, sender, &self);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    for (int i = 0; i < ROUNDS; i++)
        round_of(i % 10 == 0);
    done = 1;
    pthread_join(other, NULL);
    int status, odd = 0;
    while (wait(&status) > 0)
        odd += status != 0;
    for (int i = 0; i < KINDS; i++)
        printf("%d: %d\n", numbers[i], (int)count[i]);
    printf("wrong %d, odd children %d\n", (int)wrong, odd);
    return 0;
}
