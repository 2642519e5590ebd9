/* The constructor: from a preloaded library to a sampled process. Everything that fails here leaves
 * the program running natively. */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/carrier/carrier.h"
#include "runtime/trampoline/forbidden.h"
#include "runtime/images.h"
#include "runtime/interpose/environment.h"
#include "runtime/interpose/real.h"
#include "runtime/interpose/signals.h"
#include "runtime/process.h"
#include "runtime/runtime.h"
#include "runtime/self.h"
#include "runtime/thread.h"
#include "runtime/traced.h"
#include "sigsafe/own_memory.h"
#include "sigsafe/sys.h"

struct rt rt = {.carrier = &carrier_handler, .lifeline = -1};

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
           h->config.max_depth >= SPOOL_DEPTH_LEAST;
}

/* Where the address space is limited, nearly all of it is for the program. */
static uint64_t address_space_share(void)
{
    enum { SHARE = 16 };
    struct rlimit64 limit = {RLIM64_INFINITY, RLIM64_INFINITY};
    sys_call6_as(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)&limit, 0, 0);
    return limit.rlim_cur == RLIM64_INFINITY ? UINT64_MAX : limit.rlim_cur / SHARE;
}

/* Maps as much of the spool as the address space limit lets us: references are offsets. */
bool runtime_map_spool(int fd, uint64_t at_most)
{
    long end = sys_call3_as(SYS_lseek, fd, 0, SEEK_END);
    long at = sys_call6_as(SYS_mmap, 0, SPOOL_HEADER_SIZE, PROT_READ, MAP_SHARED, fd, 0);
    if (end >= MAPPED_MIN && (at > 0 || at < -4095)) {
        const struct spool_header *h = (const struct spool_header *)at;
        uint64_t size = header_good(h, end) ? h->size : 0, share = address_space_share();
        size = size < at_most ? size : at_most;
        sys_call3_as(SYS_munmap, at, SPOOL_HEADER_SIZE, 0);
        while (size / 2 >= MAPPED_MIN && size > share)
            size /= 2;
        for (; size >= MAPPED_MIN && !rt.spool.base; size /= 2) {
            at = own_map_as(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd);
            if (at < 0 && at > -4096)
                continue;
            rt.spool.base = (uint8_t *)at;
            rt.spool.mapped = size;
            sys_call3_as(SYS_madvise, at, (long)size, MADV_DONTDUMP);
        }
    }
    return rt.spool.base != NULL;
}

static bool spool_map(const char *path, uint64_t at_most)
{
    int fd = (int)sys_call6_as(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC, 0, 0, 0);
    if (fd < 0)
        return false;
    bool mapped = runtime_map_spool(fd, at_most);
    sys_call3_as(SYS_close, fd, 0, 0);
    return mapped;
}

/* How far the main thread's stack may grow from `top` down. The limit is counted from the stack's beginning, at
 * the end of the page in which the kernel has put the program's name, the last of its strings. */
static uint64_t main_stack_size(const void *top)
{
    enum { PAGE = 4096 };
    struct rlimit64 limit = {0, 0};
    const char *name = (const char *)getauxval(AT_EXECFN);
    sys_call6_as(SYS_prlimit64, 0, RLIMIT_STACK, 0, (long)&limit, 0, 0);
    if (limit.rlim_cur >= STACK_MAX || !name)
        return STACK_MAX;
    uint64_t begin = ((uint64_t)name + strlen(name) + PAGE) / PAGE * PAGE, above = begin - (uint64_t)top;
    return limit.rlim_cur > above ? limit.rlim_cur - above : 0;
}

static bool file_read(const char *path, char *text, size_t size)
{
    int fd = (int)sys_call6_as(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (fd < 0)
        return false;
    long n = sys_call3_as(SYS_read, fd, (long)text, (long)size - 1);
    sys_call3_as(SYS_close, fd, 0, 0);
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* valgrind runs the program on a stack of its own making, and dies of a SIGTRAP that its program
 * did not cause. The kernel knows another start of the stack. It lies at argc, which the loader,
 * when it is started as a command, moves a little. */
static bool translated(const char *const *argv)
{
    enum { START_STACK = 28, NEAR = 1 << 20 };
    char text[1024];
    if (!file_read("/proc/self/stat", text, sizeof text))
        return false;
    const char *at = text; /* of the name's end: it may hold anything */
    for (const char *c = text; *c; c++)
        if (*c == ')')
            at = c;
    for (unsigned field = 2; at && field < START_STACK; field++)
        at = strchr(at + 1, ' ');
    uint64_t start = 0;
    for (at += at != NULL; at && *at >= '0' && *at <= '9'; at++)
        start = start * 10 + (uint64_t)(*at - '0');
    uint64_t distance = (uint64_t)argv - start + NEAR;
    return start && distance > 2 * (uint64_t)NEAR;
}

/* Made by the linker: where this library begins and ends. */
__attribute__((visibility("hidden"))) extern const char __ehdr_start, _end;

static bool begin(int argc, char **argv, bool is_translated)
{
    if (!process_begin(argc, argv))
        return false;
    own_memory_note_as((uint64_t)&__ehdr_start, (uint64_t)&_end);
    forbidden_init();
    if (rt.config->mechanism != MECHANISM_CALLS && traced_as())
        rt.process->arm_error = ARM_ERROR_TRACED;
    else if (is_translated)
        rt.process->arm_error = ARM_ERROR_TRANSLATED;
    else if (images_init() && (!carrier_samples_as() || signals_install()) && self_init() &&
        pthread_atfork(process_fork_prepare, process_fork_parent, process_fork_child) == 0)
        return true;
    rt.state = RT_UNOBSERVED;
    return false;
}

/* glibc passes main's arguments to constructors. argv lies on the stack just above the frame of
 * _start, the outermost one. */
__attribute__((constructor)) static void runtime_init(int argc, char **argv, char **envp)
{
    const char *path = variable(envp, SPOOL_ENV);
    uint64_t begun_cpu_ns = path ? thread_cpu_ns_as() : 0;
    real_places_find();
    if (!path)
        return;
    path = environment_path(path, &rt.avoids);
    /* valgrind's leak checker searches all that can be written: a little is enough to leave word. */
    bool is_translated = translated((const char *const *)argv);
    if (!spool_map(path, is_translated ? MAPPED_MIN : UINT64_MAX))
        return;
    rt.config = &spool_header(&rt.spool)->config;
    rt.carrier = carrier_of(rt.config->carrier);
    environment_take(envp, rt.config->runtime_path);
    if (spool_header(&rt.spool)->state != SPOOL_RUNNING || !begin(argc, argv, is_translated))
        return;
    CARRIER_TELL(files_keep_as, ());
    if (rt.carrier->begin)
        rt.carrier->begin();
    else
        process_arm(main_stack_size(argv), argv, begun_cpu_ns);
}

__attribute__((destructor)) static void runtime_exit(void)
{
    process_end_as();
}
