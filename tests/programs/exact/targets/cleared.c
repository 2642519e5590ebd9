/* Children whose signal actions the kernel resets (CLONE_CLEAR_SIGHAND), in memory of their own and
 * in their parent's: what they are told of their actions, and what signals do to them. */
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 3 };
enum { ENDS, RAISED, HANDLED, WAYS };

static const int numbers[COUNT] = {SIGTRAP, SIGUSR1, SIGSEGV};

static void on_signal(int number)
{
    (void)number;
}

/* A character an action: small, if it has flags or a mask. */
static char kind(int number)
{
    struct sigaction now;
    if (sigaction(number, NULL, &now) != 0)
        return 'e';
    if (now.sa_handler == SIG_DFL)
        return now.sa_flags || sigismember(&now.sa_mask, SIGUSR2) ? 'd' : 'D';
    if (now.sa_handler == SIG_IGN)
        return now.sa_flags || sigismember(&now.sa_mask, SIGUSR2) ? 'i' : 'I';
    return 'h';
}

/* In its parent's memory, too: it returns into the frame that waits for it. */
static long cloned(struct clone_args *arguments)
{
    register long result __asm__("rax") = SYS_clone3;
    __asm__ volatile("syscall"
                     : "+r"(result)
                     : "D"(arguments), "S"(sizeof *arguments)
                     : "rcx", "r11", "memory");
    return result;
}

/* How it ends is what SIGTRAP does. */
static void child(int fd, unsigned how)
{
    char kinds[COUNT];
    for (unsigned i = 0; i < COUNT; i++)
        kinds[i] = kind(numbers[i]);
    if (write(fd, kinds, COUNT) != COUNT)
        _exit(1);
    if (how == RAISED || how == HANDLED) {
        if (how == HANDLED)
            signal(SIGTRAP, on_signal);
        raise(SIGTRAP);
    }
    _exit(7);
}

static void one(const char *name, void (*handler)(int), uint64_t flags, unsigned how)
{
    int channel[2], status = 0;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART | SA_NODEFER};
    struct clone_args arguments = {.flags = flags, .exit_signal = SIGCHLD};
    char told[COUNT + 1] = {0}, after[COUNT + 1] = {0};
    sigaddset(&action.sa_mask, SIGUSR2);
    for (unsigned i = 0; i < COUNT; i++)
        sigaction(numbers[i], &action, NULL);
    if (pipe(channel) != 0)
        exit(2);
    long pid = cloned(&arguments);
    if (pid == 0)
        child(channel[1], how);
    if (pid < 0 || waitpid((pid_t)pid, &status, 0) != pid || read(channel[0], told, COUNT) < 0)
        exit(3);
    close(channel[0]);
    close(channel[1]);
    for (unsigned i = 0; i < COUNT; i++)
        after[i] = kind(numbers[i]);
    printf("%s, flags %lx, way %u: %s, status %x; its parent: %s\n", name, (unsigned long)flags,
           how, told, (unsigned)status, after);
}

int main(void)
{
    static const uint64_t flags[] = {0, CLONE_CLEAR_SIGHAND, CLONE_VM | CLONE_VFORK,
                                     CLONE_VM | CLONE_VFORK | CLONE_CLEAR_SIGHAND};
    for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++)
        for (unsigned how = 0; how < WAYS; how++) {
            one("default", SIG_DFL, flags[i], how);
            one("ignored", SIG_IGN, flags[i], how);
            one("handled", on_signal, flags[i], how);
        }
    return 0;
}
