/* In a handler of signals that come at any moment, the stack is walked by libunwind, a frame at a
 * time. Each walk has to reach the stack's beginning. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <ucontext.h>

enum { WALKS = 2000, MICROSECONDS = 200, IP = 16, CURSOR_WORDS = 127, SKIPPED = 77 };

static int (*get_context)(ucontext_t *);
static int (*init)(unsigned long *, ucontext_t *);
static int (*step)(unsigned long *);
static int (*get)(unsigned long *, int, unsigned long *);
static volatile long walks, failed;
static volatile unsigned long failed_at;

static void look(int number)
{
    static unsigned long cursor[CURSOR_WORDS], ip;
    ucontext_t context;
    int result = get_context(&context);
    (void)number;
    if (result || init(cursor, &context))
        return;
    do
        get(cursor, IP, &ip);
    while ((result = step(cursor)) > 0);
    walks++;
    if (result) {
        failed++;
        failed_at = ip;
    }
}

__attribute__((noinline)) static long fibonacci(long n)
{
    if (n < 2)
        return n;
    long sum = fibonacci(n - 1);
    __asm__ volatile("" : "+r"(sum));
    return sum + fibonacci(n - 2);
}

int main(void)
{
    void *l = dlopen("libunwind.so.8", RTLD_NOW);
    if (!l)
        return SKIPPED;
    *(void **)&get_context = dlsym(l, "_Ux86_64_getcontext");
    *(void **)&init = dlsym(l, "_ULx86_64_init_local");
    *(void **)&step = dlsym(l, "_ULx86_64_step");
    *(void **)&get = dlsym(l, "_ULx86_64_get_reg");
    if (!get_context || !init || !step || !get)
        return SKIPPED;
    struct sigaction a = {.sa_handler = look, .sa_flags = SA_RESTART};
    struct itimerval on = {{0, MICROSECONDS}, {0, MICROSECONDS}}, off = {0};
    sigaction(SIGALRM, &a, NULL);
    setitimer(ITIMER_REAL, &on, NULL);
    while (walks < WALKS)
        fibonacci(20);
    setitimer(ITIMER_REAL, &off, NULL);
    if (failed)
        fprintf(stderr, "%ld of %ld walks failed, the last at %#lx\n", failed, walks, failed_at);
    return failed != 0;
}
