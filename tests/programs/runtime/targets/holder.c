/* Loaded by held.c: stays in the loader as long as it is told to. */
#include <semaphore.h>

extern sem_t held, release;

__attribute__((constructor)) static void stay(void)
{
    sem_post(&held);
    sem_wait(&release);
}
