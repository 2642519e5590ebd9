/* Symbols of JIT code: the text file that JIT compilers write for perf, one symbol a line:
 *
 *     7f3c2a001000 1c0 LazyCompile:*fib /tmp/x.js:1
 *     address      size name up to the end of the line        (both numbers hexadecimal) */
#include "cli/describe.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAP_SIZE_MOST = 64 << 20 };

struct symbols_of_map {
    struct profile_jit_symbol *symbols;
    size_t count, capacity;
};

static char *read_map(const char *path, uint64_t not_before_ns)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    char *text = NULL;
    /* /tmp is everybody's: the file must be ours. An older one is of an earlier process with this
     * number. */
    if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
        st.st_size > 0 && st.st_size <= MAP_SIZE_MOST &&
        (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec >= not_before_ns)
        text = calloc(1, (size_t)st.st_size + 1);
    if (text && pread(fd, text, (size_t)st.st_size, 0) <= 0) {
        free(text);
        text = NULL;
    }
    if (fd >= 0)
        close(fd);
    return text;
}

static bool add_symbol(struct symbols_of_map *m, const char *line)
{
    char *end;
    uint64_t address = strtoull(line, &end, 16);
    if (end == line || *end != ' ')
        return true;
    const char *at = end;
    uint64_t size = strtoull(at, &end, 16);
    if (end == at || *end != ' ' || !end[1] || !size)
        return true;
    if (m->count == m->capacity) {
        size_t capacity = m->capacity ? m->capacity * 2 : 256;
        struct profile_jit_symbol *more = reallocarray(m->symbols, capacity, sizeof *more);
        if (!more)
            return false;
        m->symbols = more;
        m->capacity = capacity;
    }
    char *name = strdup(end + 1);
    if (!name)
        return false;
    m->symbols[m->count++] = (struct profile_jit_symbol){address, size, name};
    return true;
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

static bool sort_and_unite(struct symbols_of_map *m)
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

static void read_process(struct profile_process *process, uint64_t not_before_ns)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", process->pid);
    char *text = read_map(path, not_before_ns);
    if (!text)
        return;
    struct symbols_of_map m = {0};
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (!add_symbol(&m, line))
            break;
    free(text);
    if (m.count && m.count <= UINT32_MAX && sort_and_unite(&m)) {
        process->jit = m.symbols;
        process->jit_count = (uint32_t)m.count;
        return;
    }
    for (size_t i = 0; i < m.count; i++)
        free(m.symbols[i].name);
    free(m.symbols);
}

void describe_jit(struct profile *p)
{
    for (uint32_t i = 0; i < p->process_count; i++)
        if (!p->processes[i].jit)
            read_process(&p->processes[i], p->start_realtime_ns);
}
