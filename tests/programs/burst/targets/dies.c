/* Ends by a fault in hot code that nothing handles; or by a handler that is reset when it is
 * called; or by one that was asked for in an older way. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int times;

static void once(int number)
{
    times++;
    if (write(1, "once\n", 5) != 5 || number != SIGSEGV || times > 1)
        _exit(3);
}

int main(int argc, char **argv)
{
    volatile unsigned long x = 1, *p = &x;
    const char *how = argc > 1 ? argv[1] : "plain";
    if (strcmp(how, "reset") == 0)
        sigaction(SIGSEGV, &(struct sigaction){ .sa_handler = once, .sa_flags = (int)SA_RESETHAND },
                  NULL);
    if (strcmp(how, "ignored") == 0)
        signal(SIGSEGV, SIG_IGN);
    if (strcmp(how, "sysv") == 0)
        sysv_signal(SIGSEGV, once);
    for (unsigned long i = 0;; i++) {
        x = x * 25214903917 + 11;
        if (i == 100000000)
            p = NULL;
        *p += i;
    }
}
