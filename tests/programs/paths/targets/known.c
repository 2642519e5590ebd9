/* Code whose paths are known: each label that a block begins at is a symbol. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* n rounds, of which every second one goes each way. */
uint64_t diamond(uint64_t n);
/* n rounds, each with a call of a function at a lower address. */
uint64_t calling(uint64_t n);
/* n rounds, each with a call through a pointer: to three functions in turn. */
uint64_t pointing(uint64_t n);
/* n rounds of a jump through a table, to three places in turn, which jump back. */
uint64_t jumping(uint64_t n);
/* Calls itself n deep. No backward jump anywhere. */
uint64_t deep(uint64_t n);

__asm__("    .text\n"
        "    .macro label name\n"
        "    .globl \\name\n"
        "    .type \\name, @function\n"
        "\\name:\n"
        "    .endm\n"

        "label diamond\n"
        "    movq %rdi, %rcx\n"
        "    xorl %eax, %eax\n"
        "label diamond_head\n"
        "    testb $1, %cl\n"
        "    jz diamond_even\n"
        "label diamond_odd\n"
        "    addq $3, %rax\n"
        "    jmp diamond_join\n"
        "label diamond_even\n"
        "    addq $5, %rax\n"
        "label diamond_join\n"
        "    decq %rcx\n"
        "    jnz diamond_head\n"
        "label diamond_end\n"
        "    ret\n"

        "label called\n"
        "    incq %rax\n"
        "    ret\n"
        "label calling\n"
        "    movq %rdi, %rcx\n"
        "    xorl %eax, %eax\n"
        "label calling_head\n"
        "    call called\n"
        "label calling_back\n"
        "    decq %rcx\n"
        "    jnz calling_head\n"
        "    ret\n"

        "label first\n    incq %rax\n    ret\n"
        "label second\n   addq $2, %rax\n    ret\n"
        "label pointing\n"
        "    movq %rdi, %rcx\n"
        "    xorl %eax, %eax\n"
        "    xorl %edx, %edx\n"
        "label pointing_head\n"
        "    leaq functions(%rip), %rsi\n"
        "    movq (%rsi,%rdx,8), %rsi\n"
        "    call *%rsi\n"
        "label pointing_back\n"
        "    incq %rdx\n"
        "    cmpq $3, %rdx\n"
        "    jne pointing_same\n"
        "label pointing_again\n"
        "    xorl %edx, %edx\n"
        "label pointing_same\n"
        "    decq %rcx\n"
        "    jnz pointing_head\n"
        "    ret\n"
        "label third\n    addq $3, %rax\n    ret\n"

        "label jumping\n"
        "    movq %rdi, %rcx\n"
        "    xorl %eax, %eax\n"
        "    xorl %edx, %edx\n"
        "    jmp jumping_head\n"
        "label below\n    incq %rax\n    jmp jumping_join\n"
        "label jumping_head\n"
        "    leaq places(%rip), %rsi\n"
        "    movq (%rsi,%rdx,8), %rsi\n"
        "    jmp *%rsi\n"
        "label above\n    addq $2, %rax\n    jmp jumping_join\n"
        "label further\n  addq $3, %rax\n"
        "label jumping_join\n"
        "    incq %rdx\n"
        "    cmpq $3, %rdx\n"
        "    jne jumping_same\n"
        "label jumping_again\n"
        "    xorl %edx, %edx\n"
        "label jumping_same\n"
        "    decq %rcx\n"
        "    jnz jumping_head\n"
        "    ret\n"

        "label deep\n"
        "    testq %rdi, %rdi\n"
        "    jz deep_bottom\n"
        "label deep_more\n"
        "    decq %rdi\n"
        "    call deep\n"
        "label deep_back\n"
        "    incq %rax\n"
        "    ret\n"
        "label deep_bottom\n"
        "    xorl %eax, %eax\n"
        "    ret\n"

        "    .section .data.rel.ro, \"aw\"\n"
        "functions: .quad first, second, third\n"
        "places: .quad below, above, further\n"
        "    .text\n");

static void *thread(void *n)
{
    return (void *)diamond((uint64_t)n);
}

static volatile uint64_t handled;

static void on_signal(int number)
{
    handled += diamond(100) + (uint64_t)number;
}

static uint64_t threads(uint64_t n)
{
    pthread_t all[4];
    uint64_t sum = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&all[i], NULL, thread, (void *)n);
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(all[i], &result);
        sum += (uint64_t)result;
    }
    return sum;
}

static uint64_t forks(uint64_t n)
{
    uint64_t sum = diamond(n);
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(diamond(n) == sum ? 7 : 1);
    waitpid(pid, &status, 0);
    return sum + (uint64_t)WEXITSTATUS(status);
}

static uint64_t signals(uint64_t n)
{
    signal(SIGUSR1, on_signal);
    for (uint64_t i = 0; i < n; i++)
        raise(SIGUSR1);
    return handled;
}

static uint64_t killed(uint64_t n)
{
    printf("%lu\n", diamond(n));
    fflush(stdout);
    kill(getpid(), SIGKILL);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        uint64_t (*run)(uint64_t n);
    } modes[] = {
        {"diamond", diamond}, {"calling", calling}, {"pointing", pointing}, {"jumping", jumping},
        {"deep", deep},       {"threads", threads}, {"forks", forks},       {"signals", signals},
        {"killed", killed},
    };
    if (argc < 3)
        return 2;
    for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(modes[i].name, argv[1]))
            printf("%lu\n", modes[i].run(strtoull(argv[2], NULL, 0)));
    if (argc > 3) /* shadows come to their end meanwhile */
        usleep((useconds_t)strtoul(argv[3], NULL, 0) * 1000);
    return 0;
}
