/* Writes the profile that test_cli.py reports on. usage: write_profile FILE [LEVELS] With LEVELS,
 * one recursion that deep; "latin": a command line that is not UTF-8; "brackets": a function
 * without a symbol; "before" and "after": a change, for tests/programs/html. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "make_profile.h"

static void set(char **to, const char *text)
{
    free(*to);
    *to = strdup(text);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    struct profile *p = make_profile();
    if (argc > 2 && !strcmp(argv[2], "latin")) {
        make_thread(p, 101, "caf\xe9", "ab 10");
        set(&p->command, "program caf\xe9 <b>");
        set(&p->processes[0].command, "program caf\xe9 <b>");
        set(&p->processes[0].name, "caf\xe9");
    } else if (argc > 2 && !strcmp(argv[2], "before")) {
        make_thread(p, 101, "main", "abc 300; abd 200; ae 400; bab 100");
    } else if (argc > 2 && !strcmp(argv[2], "after")) {
        make_thread(p, 101, "main", "abc 300; abd 20; af 400; bab 280");
    } else if (argc > 2 && !strcmp(argv[2], "brackets")) {
        make_thread(p, 101, "main", "ab 10");
        set(&p->processes[0].jit[1].name, "[f+0x10]");
    } else if (argc > 2) {
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
