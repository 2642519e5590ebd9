/* Writes the profile that test_cli.py reports on. usage: write_profile FILE [LEVELS]
 * With LEVELS, one recursion that deep. */
#include <stdio.h>
#include <stdlib.h>

#include "make_profile.h"

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    struct profile *p = make_profile();
    if (argc > 2) {
        make_deep_thread(p, 101, (uint32_t)strtoul(argv[2], NULL, 10), 1);
    } else {
        make_thread(p, 101, "main", "abc 30; abd 20; ae 40; bab 10");
        make_thread(p, 102, "worker", "wx 100");
    }
    struct err e = { 0 };
    bool ok = profile_write(p, argv[1], &e);
    if (!ok)
        fprintf(stderr, "%s\n", e.message);
    profile_free(p);
    return ok ? 0 : 1;
}
