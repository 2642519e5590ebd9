/* A library that is loaded twice, and the second time unloaded while functions of the first one are
 * on the stack: libc. What leads to dlclose is in both copies, at the same place. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5 };

int main(int argc, char **argv)
{
    char path[4096];
    (void)argc;
    snprintf(path, sizeof path, "%.*s/libtwice.so", (int)(strrchr(argv[0], '/') - argv[0]),
             argv[0]);
    for (int i = 0; i < ROUNDS; i++) {
        void *library = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
        if (!library || dlclose(library) != 0)
            return 1;
    }
    return 0;
}
