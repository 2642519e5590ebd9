/* One expensive activation in a coroutine, which its resumer works beside, and comes back to 200
 * times: by a switch of the program's own, by swapcontext ("swap"), or by that with a longjmp in
 * between ("jump"). It is never left. */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "switch_stack.h"

enum { ROUNDS = 200, WORK = 2000000, STACK = 65536, SAVED = 7 };

static ucontext_t main_context, context;
static void *main_sp, *sp;
static jmp_buf target;
static const char *how = "own";

__attribute__((noinline)) static void spin(long n)
{
    for (volatile long i = 0; i < n; i++)
        ;
    __asm__ volatile("" ::: "memory");
}

static void yield(void)
{
    if (strcmp(how, "own"))
        swapcontext(&context, &main_context);
    else
        switch_stack(&sp, main_sp);
}

__attribute__((noinline)) static void worker(void)
{
    for (volatile int i = 0;; i++) {
        spin(WORK);
        yield();
    }
}

static void body(void)
{
    worker();
    abort();
}

static void resume(void)
{
    if (strcmp(how, "own"))
        swapcontext(&main_context, &context);
    else
        switch_stack(&main_sp, sp);
}

__attribute__((noinline)) static void jumps(void)
{
    if (!setjmp(target))
        longjmp(target, 1);
}

int main(int argc, char **argv)
{
    how = argc > 1 ? argv[1] : how;
    char *memory = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void **top = (void **)(void *)(memory + STACK - 64);
    top[0] = (void *)abort;
    top[-1] = (void *)body;
    sp = top - SAVED;
    getcontext(&context);
    context.uc_stack.ss_sp = memory;
    context.uc_stack.ss_size = STACK;
    makecontext(&context, body, 0);
    for (volatile int i = 0; i < ROUNDS; i++) {
        resume();
        if (!strcmp(how, "jump"))
            jumps();
        spin(WORK);
    }
    return 0;
}
