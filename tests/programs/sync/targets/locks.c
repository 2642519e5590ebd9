/* One thread holds a lock for a known time, again and again, while the other waits for it:
 *
 *   mutex 4/8, read-write lock 2/8, condition 1/8, semaphore 1/8; and locks that are never waited
 *   for
 *
 * argv: milliseconds of waiting in all. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, idle = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static long total_ms;
static int ready;

static void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

NOINLINE static void waits_for_mutex(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

NOINLINE static void waits_for_rwlock(void)
{
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
}

NOINLINE static void waits_for_condition(void)
{
    pthread_mutex_lock(&idle);
    while (!ready)
        pthread_cond_wait(&condition, &idle);
    ready = 0;
    pthread_mutex_unlock(&idle);
}

NOINLINE static void waits_for_semaphore(void)
{
    sem_wait(&semaphore);
}

NOINLINE static void never_waits(void)
{
    static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    for (int i = 0; i < 100000; i++) {
        pthread_mutex_lock(&own);
        pthread_mutex_unlock(&own);
    }
}

static void *waiter(void *argument)
{
    void (*const waits[])(void) = {waits_for_mutex, waits_for_rwlock, waits_for_condition,
                                   waits_for_semaphore};
    (void)argument;
    for (int i = 0; i < 4; i++) {
        pthread_barrier_wait(&barrier);
        waits[i]();
        pthread_barrier_wait(&barrier);
    }
    never_waits();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    total_ms = argc > 1 ? atol(argv[1]) : 800;
    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&semaphore, 0, 0);
    pthread_create(&thread, NULL, waiter, NULL);
    pthread_mutex_lock(&mutex);
    pthread_barrier_wait(&barrier);
    pause_ms(total_ms / 2);
    pthread_mutex_unlock(&mutex);
    pthread_barrier_wait(&barrier);
    pthread_rwlock_wrlock(&rwlock);
    pthread_barrier_wait(&barrier);
    pause_ms(total_ms / 4);
    pthread_rwlock_unlock(&rwlock);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    pause_ms(total_ms / 8);
    pthread_mutex_lock(&idle);
    ready = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&idle);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    pause_ms(total_ms / 8);
    sem_post(&semaphore);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    puts("done");
    return 0;
}
