/* A loop of known length, called from places of many kinds: each context executes as many
 * instructions as its rounds say. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>

#define APART __attribute__((noinline, noclone, noipa))

enum { STACK = 1 << 18 };

static jmp_buf at;
static ucontext_t main_context, other_context;

/* Two instructions a round. */
APART static void spin(uint64_t rounds)
{
    __asm__ volatile("1:\n\tsub $1, %0\n\tjnz 1b" : "+r"(rounds)::"cc");
}

/* Keeps a call from being the last thing that is done. */
#define AFTER __asm__ volatile("" ::: "memory")

APART static void left(void)
{
    spin(1000);
    AFTER;
}

APART static void right(void)
{
    spin(3000);
    AFTER;
}

APART static void deep(unsigned levels)
{
    if (levels)
        deep(levels - 1);
    else
        spin(500);
    AFTER;
}

APART static void odd(unsigned levels);
APART static void even(unsigned levels)
{
    if (levels)
        odd(levels - 1);
    else
        spin(600);
    AFTER;
}

APART static void odd(unsigned levels)
{
    even(levels - 1);
    AFTER;
}

/* A jump: spin returns to who called this. */
__asm__(".pushsection .text\n"
        ".type jumper, @function\n"
        "jumper:\n\t"
        ".cfi_startproc\n\t"
        "mov $700, %edi\n\t"
        "jmp spin\n\t"
        ".cfi_endproc\n\t"
        ".size jumper, . - jumper\n\t"
        ".popsection");
void jumper(void);

APART static void thrown(void)
{
    spin(200);
    longjmp(at, 1);
}

APART static void thrower(void)
{
    thrown();
    AFTER;
}

APART static void caught(void)
{
    spin(400);
    AFTER;
}

static void handler(int signal)
{
    (void)signal;
    spin(900);
    AFTER;
}

static void other(void)
{
    spin(1100);
    swapcontext(&other_context, &main_context);
    spin(1200);
    AFTER;
}

APART static void switcher(void)
{
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = malloc(STACK);
    other_context.uc_stack.ss_size = STACK;
    other_context.uc_link = &main_context;
    makecontext(&other_context, other, 0);
    swapcontext(&main_context, &other_context);
    spin(1300);
    swapcontext(&main_context, &other_context);
    AFTER;
}

int main(void)
{
    left();
    right();
    deep(3000);
    even(2000);
    jumper();
    if (!setjmp(at))
        thrower();
    caught();
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    switcher();
    left();
    return 0;
}
