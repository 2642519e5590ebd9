/* Executes the arguments under a filter that refuses some system calls.
 *
 * Context: main. Ownership: nothing. */
#ifndef PENUMBRA_TESTS_EXECUTE_UNDER_H
#define PENUMBRA_TESTS_EXECUTE_UNDER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

/* What main returns if there are no arguments, no filter, or nothing to be executed. */
static int execute_under(struct sock_filter *code, unsigned short count, int argc, char **argv)
{
    struct sock_fprog program = {count, code};
    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 1;
    execv(argv[1], argv + 1);
    perror(argv[1]);
    return 1;
}

#endif
