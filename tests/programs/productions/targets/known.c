/* A program whose calls, branches and accesses are known by construction: in assembly, so that no
 * compiler changes them.
 *
 *     known ROUNDS [THREADS [copied | heap | stack]]
 *
 * Each round is: a call; in odd rounds a call through a register; 8 loads of a row; a store; a
 * backward branch. `copied`: of code in writable memory at COPY. `heap`: the row is where the
 * program break was, which then grows from time to time. `stack`: it is on the first stack. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define COPY ((char *)0x10000000)
enum { PAGE = 4096 };

typedef void known_function(long rounds, const long *row, void *two, long *sum);

known_function known_rounds;
void known_two(void);
extern char known_begin[], known_end[];
long known_row[8] = {1, 2, 3, 4, 5, 6, 7, 8};
long known_sum;

__asm__(".text\n"
        ".globl known_rounds, known_one, known_two, known_begin, known_end\n"
        ".type known_rounds, @function\n"
        ".type known_one, @function\n"
        ".type known_two, @function\n"
        "known_begin:\n"
        "known_one:      lea 1(%rax), %rax\n"
        "                ret\n"
        ".size known_one, . - known_one\n"
        "known_two:      lea 2(%rax), %rax\n"
        "                ret\n"
        ".size known_two, . - known_two\n"
        "known_rounds:   xor %eax, %eax\n"
        "known_again:\n"
        "known_call:     call known_one\n"
        "                test $1, %dil\n"
        "                jz 1f\n"
        "known_indirect: call *%rdx\n"
        "1:              add (%rsi), %rax\n"
        "                add 8(%rsi), %rax\n"
        "                add 16(%rsi), %rax\n"
        "                add 24(%rsi), %rax\n"
        "                add 32(%rsi), %rax\n"
        "                add 40(%rsi), %rax\n"
        "                add 48(%rsi), %rax\n"
        "                add 56(%rsi), %rax\n"
        "                mov %rax, (%rcx)\n"
        "                dec %rdi\n"
        "known_back:     jnz known_again\n"
        "                ret\n"
        ".size known_rounds, . - known_rounds\n"
        "known_end:\n");

static long rounds = 1000;
static char *base;
static const long *row = known_row;
static int calls = 1; /* of known_rounds, which have the rounds among them */

static void *run(void *ignored)
{
    long *sum = ignored ? ignored : &known_sum;
    known_function *code = (known_function *)(base + ((char *)known_rounds - known_begin));
    for (int i = 0; i < calls; i++) {
        code(rounds / calls, row, base + ((char *)known_two - known_begin), sum);
        if (calls > 1)
            sbrk(PAGE);
    }
    return NULL;
}

static void copy(void)
{
    base = mmap(COPY, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (base != COPY)
        exit(1);
    memcpy(base, known_begin, (size_t)(known_end - known_begin));
}

int main(int argc, char **argv)
{
    enum { THREADS = 64, CALLS = 10000 };
    long on_stack[8];
    pthread_t others[THREADS];
    int threads = argc > 2 ? atoi(argv[2]) : 1;
    rounds = argc > 1 ? atol(argv[1]) : rounds;
    base = known_begin;
    const char *where = argc > 3 ? argv[3] : "";
    memcpy(on_stack, known_row, sizeof known_row);
    if (!strcmp(where, "copied"))
        copy();
    if (!strcmp(where, "stack"))
        row = on_stack;
    if (!strcmp(where, "heap")) {
        row = memcpy(sbrk(PAGE), known_row, sizeof known_row);
        calls = CALLS;
    }
    for (int i = 1; i < threads && i < THREADS; i++)
        pthread_create(&others[i], NULL, run, NULL);
    run(NULL);
    for (int i = 1; i < threads && i < THREADS; i++)
        pthread_join(others[i], NULL);
    printf("%ld\n", known_sum);
    return 0;
}
