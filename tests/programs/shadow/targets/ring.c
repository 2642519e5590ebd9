/* Shared memory that another process watches: the writer alone may be seen to write. The writer
 * counts up in shared memory, each time from what it knows in memory of its own; the watcher never
 * sees a step back, nor one by a process that is not the writer. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

struct ring {
    _Atomic uint64_t count, by, end;
};

static volatile uint64_t sink;

static int watch(struct ring *a, struct ring *b, pid_t writer)
{
    uint64_t last = 0, other = 0;
    while (!atomic_load(&a->end)) {
        uint64_t now = atomic_load(&a->count), then = atomic_load(&b->count);
        if (now < last || then < other || atomic_load(&a->by) != (uint64_t)writer)
            return 1;
        last = now;
        other = then;
    }
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t steps = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
    struct ring *a = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600), status = 0;
    struct ring *b = shmat(id, NULL, 0);
    if (a == MAP_FAILED || b == (void *)-1 || shmctl(id, IPC_RMID, NULL) != 0)
        return 1;
    pid_t self = getpid();
    atomic_store(&a->by, (uint64_t)self);
    pid_t watcher = fork();
    if (watcher == 0)
        _exit(watch(a, b, self));
    for (uint64_t i = 1; i <= steps; i++) {
        for (int k = 0; k < 2000; k++)
            sink = sink * 31 + i;
        atomic_store(&a->by, (uint64_t)getpid());
        atomic_store(&a->count, i);
        atomic_store(&b->count, i);
    }
    atomic_store(&a->end, 1);
    waitpid(watcher, &status, 0);
    printf("watcher %d, %llu\n", WEXITSTATUS(status), (unsigned long long)atomic_load(&a->count));
    return WEXITSTATUS(status);
}
