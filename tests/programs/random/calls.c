/* Executes random system calls and prints what it sees of them; calls.h says what they are.
 *
 *     calls LOG SEED[-SEED] NUMBERS
 *
 * NUMBERS: which operations, as 0-79 or 3,7,9-12. Several seeds run in a child each. LOG is a file
 * for what is printed: it is mapped, so that writing to it makes no calls. In the end it goes to
 * standard output. */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOG_AT ((struct log *)UINT64_C(0x110000000000))
enum { LOG_SIZE = 4 << 20, NUMBERS = 4096, LINE = 4096 };

struct log {
    uint64_t used;
    char text[];
};
static const char *log_path;
const char *own_path;

static void log_open(bool fresh)
{
    int fd = open(log_path, O_RDWR | O_CREAT | (fresh ? O_TRUNC : 0), 0600);
    if (fd < 0 || (fresh && ftruncate(fd, LOG_SIZE) != 0) ||
        mmap(LOG_AT, LOG_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != LOG_AT)
        _exit(99);
    close(fd);
}

static void put(const char *text, size_t length)
{
    uint64_t at = __atomic_fetch_add(&LOG_AT->used, length, __ATOMIC_RELAXED);
    if (at + length <= LOG_SIZE - sizeof *LOG_AT)
        memcpy(LOG_AT->text + at, text, length);
}

void say(const char *format, ...)
{
    char line[LINE];
    int error = errno;
    va_list more;
    va_start(more, format);
    int length = vsnprintf(line, sizeof line, format, more);
    va_end(more);
    put(line, length < LINE ? (size_t)length : LINE - 1);
    errno = error;
}

long said(long result)
{
    if (result == -1)
        say(" = -1 errno %d", errno);
    else
        say(" = %ld", result);
    return result;
}

void *said_address(void *result)
{
    if (result == MAP_FAILED)
        say(" = -1 errno %d", errno);
    else if ((uint8_t *)result >= ARENA && (uint8_t *)result < ARENA + ARENA_PAGES * PAGE)
        say(" = arena %ld", ((uint8_t *)result - ARENA) / PAGE);
    else
        say(" = ok");
    return result;
}

uint64_t draw_bits(struct draw *d)
{
    d->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = d->state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint32_t draw(struct draw *d, uint32_t below)
{
    return (uint32_t)((draw_bits(d) >> 32) * below >> 32);
}

/* Each level does something after its call: it is no jump. */
static __attribute__((noinline)) uint64_t deeper(unsigned levels, uint64_t value)
{
    for (unsigned i = 0; i < 16; i++)
        value = (value ^ value >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return levels ? deeper(levels - 1, value) + levels : value;
}

uint64_t burn(unsigned rounds)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < rounds; i++)
        sum += deeper(i % 24, i);
    __asm__ volatile("" : "+r"(sum));
    return sum;
}

/* ---- scripts ---- */

struct script script_part(struct script *s, unsigned count)
{
    struct script part = *s;
    if (count > s->end - s->at)
        count = s->end - s->at;
    part.end = s->at + count;
    part.depth++;
    s->at += count;
    return part;
}

static const struct operation *const families[] = {signal_operations, memory_operations,
                                                   file_operations, process_operations,
                                                   thread_operations};

/* By weight, among all families. */
static const struct operation *operation_draw(struct draw *d)
{
    unsigned total = 0;
    for (size_t i = 0; i < COUNT(families); i++)
        for (const struct operation *o = families[i]; o->name; o++)
            total += o->weight;
    unsigned wanted = draw(d, total);
    for (size_t i = 0; i < COUNT(families); i++)
        for (const struct operation *o = families[i]; o->name; wanted -= o->weight, o++)
            if (wanted < o->weight)
                return o;
    abort();
}

void script_run(struct script *s)
{
    while (s->at < s->end) {
        uint32_t number = s->numbers[s->at++];
        struct draw d = {s->seed * UINT64_C(0xd1342543de82ef95) +
                         number * UINT64_C(0x2545f4914f6cdd1d)};
        const struct operation *o = operation_draw(&d);
        say("%u %s", number, o->name);
        o->run(&d, s);
        say("\n");
        burn(draw(&d, 200));
        state_say();
    }
}

char **script_arguments(const struct script *s)
{
    static char seed[32], numbers[NUMBERS * 5], inner[] = "inner";
    static char *arguments[] = {NULL, NULL, seed, numbers, inner, NULL};
    size_t used = 0;
    numbers[0] = 0;
    for (unsigned i = s->at; i < s->end; i++)
        used += (size_t)sprintf(numbers + used, "%s%u", used ? "," : "", s->numbers[i]);
    sprintf(seed, "%lu", s->seed);
    arguments[0] = (char *)own_path;
    arguments[1] = (char *)log_path;
    return arguments;
}

static unsigned numbers_parse(const char *text, uint32_t *numbers)
{
    unsigned count = 0;
    char *end;
    for (; *text && count < NUMBERS; text = *end == ',' ? end + 1 : end) {
        uint32_t first = (uint32_t)strtoul(text, &end, 10), last = first;
        if (end == text)
            exit(98);
        if (*end == '-')
            last = (uint32_t)strtoul(end + 1, &end, 10);
        for (; first <= last && count < NUMBERS; first++)
            numbers[count++] = first;
    }
    return count;
}

void status_say(int status)
{
    if (WIFSIGNALED(status))
        say(" ends by signal %d", WTERMSIG(status));
    else
        say(" ends with %d", WEXITSTATUS(status));
}

static int seeds_run(uint64_t first, uint64_t last, const uint32_t *numbers, unsigned count)
{
    for (uint64_t seed = first; seed <= last; seed++) {
        int status = 0;
        say("seed %lu\n", seed);
        pid_t pid = fork();
        if (pid == 0) {
            struct script s = {.seed = seed, .numbers = numbers, .end = count};
            state_say();
            script_run(&s);
            exit(0);
        }
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        say("\nseed %lu", seed);
        status_say(status);
        say("\n");
    }
    return 0;
}

/* What is inherited is the same everywhere, whoever starts it. */
static void ready(void)
{
    struct rlimit none = {0, 0}, files = {1024, 4096};
    struct sigaction fresh = {.sa_handler = SIG_DFL};
    sigset_t empty;
    sigemptyset(&empty);
    sigprocmask(SIG_SETMASK, &empty, NULL);
    for (int i = 1; i < NSIG; i++)
        sigaction(i, &fresh, NULL);
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_NOFILE, &files);
    closefrom(3);
}

int main(int argc, char **argv)
{
    static uint32_t numbers[NUMBERS];
    if (argc < 4)
        return 98;
    log_path = argv[1];
    own_path = argv[0];
    bool inner = argc > 4;
    if (!inner)
        ready();
    log_open(!inner);
    char *end;
    uint64_t first = strtoull(argv[2], &end, 10),
             last = *end == '-' ? strtoull(end + 1, NULL, 10) : first;
    unsigned count = numbers_parse(argv[3], numbers);
    if (inner) {
        struct script s = {.seed = first, .numbers = numbers, .end = count, .depth = 1};
        state_say();
        script_run(&s);
        return 5;
    }
    int status = seeds_run(first, last, numbers, count);
    uint64_t used =
        LOG_AT->used < LOG_SIZE - sizeof *LOG_AT ? LOG_AT->used : LOG_SIZE - sizeof *LOG_AT;
    fwrite(LOG_AT->text, 1, used, stdout);
    return status;
}
