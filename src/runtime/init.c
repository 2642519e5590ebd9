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
#include "runtime/interpose/environment.h"
#include "runtime/interpose/real.h"
#include "runtime/interpose/signals.h"
#include "runtime/process.h"
#include "runtime/input/input_log.h"
#include "runtime/runtime.h"
#include "runtime/self.h"
#include "runtime/thread.h"
#include "runtime/traced.h"
#include "sigsafe/auxv.h"
#include "sigsafe/own_memory.h"
#include "sigsafe/sys.h"
#include "tools/tools.h"

struct rt rt = {.carrier = &carrier_handler, .lifeline = -1};

enum { STACK_MAX = 1 << 30 };

static const char *variable(char **envp, const char *name)
{
    size_t length = strlen(name);
    for (; *envp; envp++)
        if (strncmp(*envp, name, length) == 0 && (*envp)[length] == '=')
            return *envp + length + 1;
    return NULL;
}

static char **arguments; /* main's: just above the frame of _start, the outermost one */

bool runtime_config_take(void)
{
    const struct spool_config *config = settings_sampling_as(&guest.spool);
    if (!guest.layout_known || !config || !config->period ||
        config->max_depth < SPOOL_DEPTH_LEAST) {
        guest_close();
        return false;
    }
    rt.config = config;
    rt.carrier = carrier_of(config->carrier);
    input_wanted = false;
    if (rt.carrier->settings_take && !rt.carrier->settings_take(&guest.spool)) {
        guest_close();
        return false;
    }
    tools_begin(&guest.spool, (uint64_t)arguments);
    return true;
}

/* How far the main thread's stack may grow from `top` down. The limit is counted from the stack's
 * beginning, at the end of the page in which the kernel has put the program's name, the last of its
 * strings. */
static uint64_t main_stack_size(const void *top)
{
    enum { PAGE = 4096 };
    struct rlimit64 limit = {0, 0};
    const char *name = (const char *)getauxval(AT_EXECFN);
    sys_call6_as(SYS_prlimit64, 0, RLIMIT_STACK, 0, (long)&limit, 0, 0);
    if (limit.rlim_cur >= STACK_MAX || !name)
        return STACK_MAX;
    uint64_t begin = ((uint64_t)name + strlen(name) + PAGE) / PAGE * PAGE,
             above = begin - (uint64_t)top;
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

/* Where the kernel began the stack; 0. */
static uint64_t stack_start(void)
{
    enum { START_STACK = 28 };
    char text[1024];
    if (!file_read("/proc/self/stat", text, sizeof text))
        return 0;
    const char *at = text; /* of the name's end: it may hold anything */
    for (const char *c = text; *c; c++)
        if (*c == ')')
            at = c;
    for (unsigned field = 2; at && field < START_STACK; field++)
        at = strchr(at + 1, ' ');
    uint64_t start = 0;
    for (at += at != NULL; at && *at >= '0' && *at <= '9'; at++)
        start = start * 10 + (uint64_t)(*at - '0');
    return start;
}

/* valgrind runs the program on a stack of its own making, and dies of a SIGTRAP that its program
 * did not cause. The kernel knows another stack. It begins at argc, which the loader, when it is
 * started as a command, moves a little. */
static bool translated(const char *const *argv)
{
    enum { NEAR = 1 << 20, STRINGS_MOST = 16 << 20 };
    uint64_t random = auxv_random_as();
    if (random)
        return random - (uint64_t)argv > STRINGS_MOST;
    uint64_t start = stack_start(), distance = (uint64_t)argv - start + NEAR;
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
        guest.process->arm_error = ARM_ERROR_TRACED;
    else if (is_translated)
        guest.process->arm_error = ARM_ERROR_TRANSLATED;
    else if (process_images_begin() && (!carrier_samples_as() || signals_install()) &&
             self_init() &&
             pthread_atfork(process_fork_prepare, process_fork_parent, process_fork_child) == 0)
        return true;
    rt.state = RT_UNOBSERVED;
    return false;
}

/* glibc passes main's arguments to constructors. */
__attribute__((constructor)) static void runtime_init(int argc, char **argv, char **envp)
{
    const char *path = variable(envp, SPOOL_ENV);
    arguments = argv;
    uint64_t begun_cpu_ns = path ? thread_cpu_ns_as() : 0;
    real_places_find();
    if (!path)
        return;
    path = environment_path(path, &rt.avoids);
    /* valgrind's leak checker searches all that can be written: a little is enough to leave
     * word. */
    bool is_translated = translated((const char *const *)argv);
    if (!guest_open(path, is_translated ? GUEST_MAPPED_MIN : UINT64_MAX) || !runtime_config_take())
        return;
    environment_take(envp, rt.config->runtime_path);
    if (spool_header(&guest.spool)->state != SPOOL_RUNNING || !begin(argc, argv, is_translated))
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
