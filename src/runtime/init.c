/* The constructor: from a preloaded library to a sampled process. Everything that fails here leaves
 * the program running natively. */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/images.h"
#include "runtime/interpose/environment.h"
#include "runtime/interpose/real.h"
#include "runtime/interpose/signals.h"
#include "runtime/process.h"
#include "runtime/runtime.h"
#include "runtime/self.h"
#include "sigsafe/sys.h"

struct rt rt;

enum { STACK_MAX = 1 << 30, MAPPED_MIN = 1 << 22 };

static const char *variable(char **envp, const char *name)
{
    size_t length = strlen(name);
    for (; *envp; envp++)
        if (strncmp(*envp, name, length) == 0 && (*envp)[length] == '=')
            return *envp + length + 1;
    return NULL;
}

static bool header_good(const struct spool_header *h, off_t file_size)
{
    return h->magic == SPOOL_MAGIC && h->version == SPOOL_VERSION &&
           h->size <= (uint64_t)file_size && h->size >= MAPPED_MIN && h->config.period &&
           h->config.max_depth >= 64;
}

/* Maps as much of the spool as the address space limit lets us: references are offsets. */
static bool spool_map(const char *path)
{
    int fd = (int)sys_call6_as(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC, 0, 0, 0);
    if (fd < 0)
        return false;
    long end = sys_call3_as(SYS_lseek, fd, 0, SEEK_END);
    long at = sys_call6_as(SYS_mmap, 0, SPOOL_HEADER_SIZE, PROT_READ, MAP_SHARED, fd, 0);
    if (end >= MAPPED_MIN && (at > 0 || at < -4095)) {
        const struct spool_header *h = (const struct spool_header *)at;
        uint64_t size = header_good(h, end) ? h->size : 0;
        sys_call3_as(SYS_munmap, at, SPOOL_HEADER_SIZE, 0);
        for (; size >= MAPPED_MIN && !rt.spool.base; size /= 2) {
            at = sys_call6_as(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_NORESERVE, fd, 0);
            if (at < 0 && at > -4096)
                continue;
            rt.spool.base = (uint8_t *)at;
            rt.spool.mapped = size;
            sys_call3_as(SYS_madvise, at, (long)size, MADV_DONTDUMP);
        }
    }
    sys_call3_as(SYS_close, fd, 0, 0);
    return rt.spool.base != NULL;
}

static uint64_t main_stack_size(void)
{
    struct rlimit64 limit = {0, 0};
    sys_call6_as(SYS_prlimit64, 0, RLIMIT_STACK, 0, (long)&limit, 0, 0);
    return limit.rlim_cur < STACK_MAX ? limit.rlim_cur : STACK_MAX;
}

/* A debugger or strace stops at every signal of its tracee, and reports it. */
static bool traced(void)
{
    char status[2048];
    int fd = (int)sys_call6_as(SYS_openat, AT_FDCWD, (long)"/proc/self/status",
                               O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (fd < 0)
        return false;
    long n = sys_call3_as(SYS_read, fd, (long)status, sizeof status - 1);
    sys_call3_as(SYS_close, fd, 0, 0);
    status[n > 0 ? n : 0] = 0;
    const char *tracer = strstr(status, "TracerPid:\t");
    return tracer && tracer[strlen("TracerPid:\t")] != '0';
}

static bool begin(int argc, char **argv)
{
    if (!process_begin(argc, argv))
        return false;
    if (traced())
        rt.process->arm_error = ARM_ERROR_TRACED;
    else if (images_init() && signals_install() && self_init() &&
        pthread_atfork(NULL, NULL, process_fork_child) == 0)
        return true;
    rt.process = NULL;
    return false;
}

/* glibc passes main's arguments to constructors. argv lies on the stack just above the frame of
 * _start, the outermost one. */
__attribute__((constructor)) static void runtime_init(int argc, char **argv, char **envp)
{
    const char *path = variable(envp, SPOOL_ENV);
    if (!path || !spool_map(path))
        return;
    rt.config = &spool_header(&rt.spool)->config;
    environment_take(envp, rt.config->runtime_path);
    if (spool_header(&rt.spool)->state != SPOOL_RUNNING || !begin(argc, argv))
        return;
    process_arm(main_stack_size(), argv);
}

__attribute__((destructor)) static void runtime_exit(void)
{
    process_end_as();
}
