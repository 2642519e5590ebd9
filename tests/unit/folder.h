/* A folder of the test's own, for tests of files: folder_make and folder_remove are a group's setup
 * and teardown.
 *
 * Context: ordinary code.
 * Ownership: the folder is removed with the files in it, not with folders. */
#ifndef PENUMBRA_TESTS_FOLDER_H
#define PENUMBRA_TESTS_FOLDER_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[64];

static int folder_make(void **state)
{
    (void)state;
    /* Where nothing waits for a disk: machines do not crash here, processes do. */
    snprintf(folder, sizeof folder, "%s/penumbra-test-XXXXXX",
             access("/dev/shm", W_OK | X_OK) ? "/tmp" : "/dev/shm");
    return mkdtemp(folder) ? 0 : -1;
}

static void folder_clear(void)
{
    DIR *d = opendir(folder);
    for (struct dirent *at; d && (at = readdir(d));)
        unlinkat(dirfd(d), at->d_name, 0);
    if (d)
        closedir(d);
}

static int folder_remove(void **state)
{
    (void)state;
    folder_clear();
    return rmdir(folder);
}

#endif
