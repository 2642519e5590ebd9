/* Loads the library that each line of input names in the place of the one before, and computes in
 * it for half a second of CPU time. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    char line[4096];
    void *library = NULL;
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (library && dlclose(library) != 0)
            return 1;
        library = dlopen(line, RTLD_NOW);
        if (!library)
            return 2;
        void (*compute)(void);
        *(void **)&compute = dlsym(library, "compute");
        compute();
        puts("done");
        fflush(stdout);
    }
    return 0;
}
