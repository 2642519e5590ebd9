/* A library that finds its own C++ run time first (RTLD_DEEPBIND): its exceptions are raised past
 * whatever stands in front of _Unwind_RaiseException. */
#include <dlfcn.h>
#include <stdio.h>

enum { ROUNDS = 400 };

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND) : NULL;
    long (*run)(int) = library ? (long (*)(int))dlsym(library, "run") : NULL;
    if (!run) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    printf("%ld\n", run(ROUNDS));
    return 0;
}
