/* Half of the CPU time in the kernel, half in the program; then a thread and a child that are in
 * the kernel only. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static char buffer[1 << 20];
static volatile unsigned long sum;

static __attribute__((noinline)) void in_kernel(double seconds)
{
    int fd = open("/dev/zero", O_RDONLY);
    for (double end = cpu() + seconds; cpu() < end;)
        if (read(fd, buffer, sizeof buffer) < 0)
            break;
    close(fd);
}

static __attribute__((noinline)) void in_user(double seconds)
{
    for (double end = cpu() + seconds; cpu() < end;)
        for (int i = 0; i < 20000; i++)
            sum += (unsigned long)i;
}

static __attribute__((noinline)) void *in_thread(void *seconds)
{
    in_kernel(*(double *)seconds);
    return NULL;
}

static __attribute__((noinline)) void in_child(double seconds)
{
    in_kernel(seconds);
    _exit(0);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 0.4;
    pthread_t thread;
    for (int i = 0; i < 20; i++) {
        in_kernel(seconds / 40);
        in_user(seconds / 40);
    }
    pthread_create(&thread, NULL, in_thread, &seconds);
    pthread_join(thread, NULL);
    pid_t child = fork();
    if (!child)
        in_child(seconds);
    waitpid(child, NULL, 0);
    return 0;
}
