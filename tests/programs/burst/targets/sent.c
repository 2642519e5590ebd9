/* Sends itself SIGSEGV, and at once executes an instruction that faults with the same signal; so
 * many thousand times. Each of both is counted by the handler. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static volatile char *page;
static volatile unsigned long sent, faults;

static void on_segv(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    if (info->si_code <= 0) {
        sent++;
        return;
    }
    faults += info->si_addr == page;
    mprotect((void *)page, 4096, PROT_READ | PROT_WRITE);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = on_segv, .sa_flags = SA_SIGINFO};
    long rounds = argc > 1 ? 1000 * atol(argv[1]) : 1000;
    page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaction(SIGSEGV, &action, NULL);
    for (long i = 0; i < rounds; i++) {
        raise(SIGSEGV);
        *page = (char)i;
        mprotect((void *)page, 4096, PROT_READ);
    }
    printf("%ld rounds: %lu sent, %lu faults\n", rounds, sent, faults);
    return !(sent == (unsigned long)rounds && faults == (unsigned long)rounds);
}
