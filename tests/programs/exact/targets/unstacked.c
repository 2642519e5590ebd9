/* Children with an alternate stack in memory that is not there, or goes later, which end by
 * SIGTRAP: raised, or by an instruction. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 1 << 16 };
enum { NEVER, UNMAPPED, PROTECTED, THERE, WAYS };

static void alternate(int way)
{
    int protection = way == NEVER ? PROT_NONE : PROT_READ | PROT_WRITE;
    char *at = mmap(NULL, SIZE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = at, .ss_size = SIZE};
    if (at == MAP_FAILED || sigaltstack(&stack, NULL) != 0)
        exit(2);
    if (way == UNMAPPED)
        munmap(at, SIZE);
    if (way == PROTECTED)
        mprotect(at, SIZE, PROT_READ);
}

int main(void)
{
    for (int way = 0; way < WAYS; way++)
        for (int raised = 0; raised < 2; raised++) {
            int status = 0;
            pid_t pid = fork();
            if (pid == 0) {
                alternate(way);
                if (raised)
                    raise(SIGTRAP);
                __asm__ volatile("int3");
                _exit(3);
            }
            waitpid(pid, &status, 0);
            printf("%d %d: status %x\n", way, raised, (unsigned)status & 0x7f);
            fflush(stdout);
        }
    return 0;
}
