/* argv[1] is loaded, works, and its file is replaced by another (argv[3]), as when a package is
 * upgraded; argv[2] is loaded and unloaded, and the first works on. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>

typedef unsigned long work_function(unsigned long);

int main(int argc, char **argv)
{
    enum { ROUNDS = 40, STEPS = 4000000 };
    void *stays = argc == 4 ? dlopen(argv[1], RTLD_NOW) : NULL;
    work_function *work = stays ? (work_function *)dlsym(stays, "plugin_work") : NULL;
    unsigned long sum = 0;
    if (!work)
        return 1;
    for (int i = 0; i < ROUNDS; i++) {
        sum += work(STEPS);
        void *goes =
            i == ROUNDS / 2 && renameat2(AT_FDCWD, argv[3], AT_FDCWD, argv[1], RENAME_EXCHANGE) == 0
                ? dlopen(argv[2], RTLD_NOW)
                : NULL;
        if (goes)
            dlclose(goes);
        else if (i == ROUNDS / 2)
            return 2;
    }
    printf("%lu\n", sum);
    return 0;
}
