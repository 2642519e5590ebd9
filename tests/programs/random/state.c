/* What the program sees of itself. */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT = 3000, RESTORER = 0x4000000 };

struct text {
    char bytes[TEXT];
    size_t used;
};

static __attribute__((format(printf, 2, 3))) void add(struct text *t, const char *format, ...)
{
    va_list more;
    va_start(more, format);
    int length = vsnprintf(t->bytes + t->used, TEXT - t->used, format, more);
    va_end(more);
    t->used += length < (int)(TEXT - t->used) ? (size_t)length : TEXT - t->used - 1;
}

static void signals_look(struct text *t)
{
    sigset_t mask, pending;
    stack_t stack = {0};
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    sigpending(&pending);
    sigaltstack(NULL, &stack);
    add(t, " mask %lx pending %lx", set_bits(&mask), set_bits(&pending));
    if (!(stack.ss_flags & SS_DISABLE))
        add(t, " alternate %zu flags %x", stack.ss_size, (unsigned)stack.ss_flags);
    for (int i = 1; i < NSIG; i++) {
        struct sigaction a;
        if (sigaction(i, NULL, &a) != 0 || (a.sa_handler == SIG_DFL && !(a.sa_flags & ~RESTORER)))
            continue;
        add(t, " %d:%s,%x,%lx", i,
            a.sa_handler == SIG_DFL   ? "default"
            : a.sa_handler == SIG_IGN ? "ignored"
                                      : "handler",
            (unsigned)a.sa_flags, set_bits(&a.sa_mask));
    }
}

static void files_look(struct text *t)
{
    for (int fd = 0; fd < SEEN_FDS; fd++) {
        struct stat s;
        int flags = fcntl(fd, F_GETFD);
        if (flags < 0)
            continue;
        fstat(fd, &s);
        add(t, " %d:%x/%x%s", fd, s.st_mode >> 12, (unsigned)fcntl(fd, F_GETFL) & ~0100000u,
            flags & FD_CLOEXEC ? "c" : "");
    }
}

/* The flags of smaps that the program has made. */
static const char *const flags_seen[] = {"lo", "dd", "dc", "wf", "gd",
                                         "sr", "rr", "io", "hg", "nh"};

static void flags_add(struct text *t, const char *line)
{
    for (size_t i = 0; i < COUNT(flags_seen); i++)
        if (strstr(line, flags_seen[i]))
            add(t, "%s", flags_seen[i]);
}

/* Its part of the arena in smaps: pages, protection, kind, flags. */
static void arena_look(struct text *t)
{
    static char bytes[1 << 18];
    size_t used = 0;
    int fd = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
    bool within = false;
    uint64_t from, to;
    char protection[8], file[256];
    if (fd < 0) {
        add(t, " no maps %d", errno);
        return;
    }
    for (ssize_t got;
         used < sizeof bytes - 1 && (got = read(fd, bytes + used, sizeof bytes - 1 - used)) > 0;)
        used += (size_t)got;
    close(fd);
    bytes[used] = 0;
    for (char *line = bytes, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %255s", &from, &to, protection, file) >= 3) {
            within = from >= (uint64_t)ARENA && to <= (uint64_t)ARENA + ARENA_PAGES * PAGE;
            if (from > (uint64_t)ARENA + ARENA_PAGES * PAGE)
                return;
            if (within)
                add(t, " [%lu+%lu %s%s ", (from - (uint64_t)ARENA) / PAGE, (to - from) / PAGE,
                    protection, strstr(line, "memfd") ? " file" : "");
        } else if (within && !strncmp(line, "VmFlags:", 8)) {
            flags_add(t, line);
            add(t, "]");
        }
    }
}

void state_say(void)
{
    static char before[3][TEXT];
    static struct text now;
    static const char *const names[] = {"signals", "files", "arena"};
    static void (*const looks[])(struct text *) = {signals_look, files_look, arena_look};
    for (int i = 0; i < 3; i++) {
        now.used = 0;
        now.bytes[0] = 0;
        looks[i](&now);
        if (strcmp(before[i], now.bytes)) {
            strcpy(before[i], now.bytes);
            say("  %s:%s\n", names[i], now.bytes);
        }
    }
}
