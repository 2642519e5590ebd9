/* A child made by a raw clone, while another thread is in the loader and holds its lock: the child
 * may call what may be called in a signal handler, for the first time in this program. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

sem_t held, release;

static void *loader(void *path)
{
    /* Its constructor posts `held` and waits for `release`. */
    return dlopen(path, RTLD_NOW);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int status = 0;
    sem_init(&held, 0, 0);
    sem_init(&release, 0, 0);
    if (argc < 2 || pthread_create(&thread, NULL, loader, argv[1]) != 0)
        return 1;
    sem_wait(&held);
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        struct sigaction action = {.sa_handler = SIG_IGN};
        sigset_t none;
        sigemptyset(&none);
        sigaction(SIGUSR1, &action, NULL);
        sigprocmask(SIG_SETMASK, &none, NULL);
        close(1000);
        _exit(write(1, "child\n", 6) == 6 ? 7 : 8);
    }
    waitpid(pid, &status, 0);
    sem_post(&release);
    pthread_join(thread, NULL);
    printf("status %d\n", WEXITSTATUS(status));
    return 0;
}
