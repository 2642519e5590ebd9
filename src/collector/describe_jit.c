/* Symbols of JIT code: the text file that JIT compilers write for perf, one symbol a line,
 *
 *     7f3c2a001000 1c0 LazyCompile:*fib /tmp/x.js:1
 *     address      size name up to the end of the line        (both numbers hexadecimal)
 *
 * or the binary one that they write for `perf inject` (jitdump.h). */
#include "collector/describe.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "collector/jitdump.h"
#include "profile/generated.h"

enum { MAP_SIZE_MOST = 64 << 20 };

/* Files are dated by the clock's last tick, which is before the time that they are written at. */
static uint64_t tick_ns(void)
{
    struct timespec tick;
    return clock_getres(CLOCK_REALTIME_COARSE, &tick) ? 0 : (uint64_t)tick.tv_nsec;
}

/* /tmp is everybody's: the file must be of the process's user. An older one than the process is of
 * an earlier process with this number. */
static bool is_good(const struct stat *st, uid_t owner, uint64_t not_before_ns)
{
    uint64_t mtime_ns =
        (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
    return S_ISREG(st->st_mode) && (st->st_uid == geteuid() || st->st_uid == owner) &&
           st->st_size > 0 && mtime_ns + tick_ns() >= not_before_ns;
}

static char *read_map(int fd, uid_t owner, uint64_t not_before_ns)
{
    struct stat st;
    char *text = NULL;
    if (fd >= 0 && !fstat(fd, &st) && is_good(&st, owner, not_before_ns) &&
        st.st_size <= MAP_SIZE_MOST)
        text = calloc(1, (size_t)st.st_size + 1);
    if (text && pread(fd, text, (size_t)st.st_size, 0) <= 0) {
        free(text);
        text = NULL;
    }
    return text;
}

bool jit_add(struct jit_symbols *m, uint64_t address, uint64_t size, const char *name)
{
    if (!ARRAY_ROOM(m->symbols, m->count, m->capacity))
        return false;
    char *copy = strdup(name);
    if (!copy)
        return false;
    m->symbols[m->count++] = (struct profile_jit_symbol){address, size, copy};
    return true;
}

static bool add_line(struct jit_symbols *m, const char *line)
{
    char *end;
    uint64_t address = strtoull(line, &end, 16);
    if (end == line || *end != ' ')
        return true;
    const char *at = end;
    uint64_t size = strtoull(at, &end, 16);
    if (end == at || *end != ' ' || !end[1] || !size)
        return true;
    return jit_add(m, address, size, end + 1);
}

static void add_map(struct jit_symbols *m, char *text)
{
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (!add_line(m, line))
            break;
}

/* Insertion order must survive among equals: the last one written is the code that is there. */
static void merge(struct profile_jit_symbol *a, size_t n, struct profile_jit_symbol *spare)
{
    if (n < 2)
        return;
    size_t half = n / 2, i = 0, j = half;
    merge(a, half, spare);
    merge(a + half, n - half, spare);
    for (size_t k = 0; k < n; k++)
        spare[k] = j == n || (i < half && a[i].address <= a[j].address) ? a[i++] : a[j++];
    memcpy(a, spare, n * sizeof *a);
}

static bool sort_and_unite(struct jit_symbols *m)
{
    struct profile_jit_symbol *spare = calloc(m->count, sizeof *spare);
    if (!spare)
        return false;
    merge(m->symbols, m->count, spare);
    free(spare);
    size_t kept = 0;
    for (size_t i = 0; i < m->count; i++) {
        if (i + 1 < m->count && m->symbols[i + 1].address == m->symbols[i].address)
            free(m->symbols[i].name);
        else
            m->symbols[kept++] = m->symbols[i];
    }
    m->count = kept;
    return true;
}

/* The map of a process: in its own /tmp, called after its own number. */
static int open_map(const struct profile_process *process, const struct held_process *held)
{
    char path[128];
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    if (held && held->apart) {
        snprintf(path, sizeof path, "perf-%d.map", process->pid);
        int fd = held->tmp >= 0 ? openat(held->tmp, path, flags) : -1;
        if (fd >= 0)
            return fd;
        snprintf(path, sizeof path, "/tmp/perf-%d.map", process->pid);
        return record_files_inside(held->outside, path, flags);
    }
    snprintf(path, sizeof path, "/tmp/perf-%d.map", process->pid);
    int fd = open(path, flags);
    if (fd >= 0 || !held || held->outside == process->pid)
        return fd;
    /* Some runtimes ask for their number in the outermost namespace. */
    snprintf(path, sizeof path, "/tmp/perf-%d.map", held->outside);
    return open(path, flags);
}

static void read_process(struct profile_process *process, const struct held_process *held,
                         uint64_t begun_ns)
{
    struct jit_symbols m = {0};
    uid_t owner = held ? held->owner : geteuid();
    uint64_t not_before_ns = held && held->began_ns && held->began_ns < begun_ns ? held->began_ns
                                                                               : begun_ns;
    int fd = open_map(process, held);
    char *text = read_map(fd, owner, not_before_ns);
    if (text)
        add_map(&m, text);
    free(text);
    if (fd >= 0)
        close(fd);
    struct stat st;
    if (held && held->dump >= 0 && !fstat(held->dump, &st) && is_good(&st, owner, not_before_ns))
        jitdump_read(held->dump, (uint64_t)st.st_size, &m);
    if (m.count && m.count <= UINT32_MAX && sort_and_unite(&m)) {
        process->jit = m.symbols;
        process->jit_count = (uint32_t)m.count;
        return;
    }
    for (size_t i = 0; i < m.count; i++)
        free(m.symbols[i].name);
    free(m.symbols);
}

bool describe_jit(struct profile *p, const struct record_files *files, struct err *e)
{
    for (uint32_t i = 0; i < p->process_count; i++)
        if (!p->processes[i].jit)
            read_process(&p->processes[i], record_files_process(files, &p->processes[i]),
                         p->start_realtime_ns);
    return profile_generated_name(p) ||
           err_set(e, ERR_INTERNAL, "generated code cannot be named: out of memory");
}
