#include "report/sources.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE_MAX_READ = 16 << 20 };

struct source {
    struct source *next;
    char *path;
    char *text;         /* its lines, each terminated */
    uint32_t *starts;   /* of lines in text */
    uint32_t count;
};

struct sources {
    struct source *first; /* the one asked for last is first */
};

struct sources *sources_new(void)
{
    return calloc(1, sizeof(struct sources));
}

void sources_free(struct sources *s)
{
    while (s && s->first) {
        struct source *next = s->first->next;
        free(s->first->path);
        free(s->first->text);
        free(s->first->starts);
        free(s->first);
        s->first = next;
    }
    free(s);
}

/* The file's bytes and a terminator; NULL if it is not one to be read. */
static char *read_text(const char *path, size_t *size)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *text = NULL;
    *size = 0;
    if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= SIZE_MAX_READ)
        text = malloc((size_t)st.st_size + 1);
    for (ssize_t n = 1; text && n > 0 && *size < (size_t)st.st_size;
         *size += n > 0 ? (size_t)n : 0)
        n = read(fd, text + *size, (size_t)st.st_size - *size);
    if (text)
        text[*size] = 0;
    if (fd >= 0)
        close(fd);
    return text;
}

static void split(struct source *f)
{
    size_t size;
    uint32_t lines = 1;
    f->text = read_text(f->path, &size);
    for (size_t i = 0; f->text && i < size; i++)
        lines += f->text[i] == '\n';
    f->starts = f->text ? calloc(lines, sizeof *f->starts) : NULL;
    if (!f->starts)
        return;
    f->count = 1;
    for (size_t i = 0; i < size; i++) {
        if (f->text[i] != '\n')
            continue;
        f->text[i] = 0;
        if (i && f->text[i - 1] == '\r')
            f->text[i - 1] = 0;
        f->starts[f->count++] = (uint32_t)i + 1;
    }
}

static struct source *find(struct sources *s, const char *path)
{
    for (struct source **link = &s->first; *link; link = &(*link)->next) {
        struct source *f = *link;
        if (strcmp(f->path, path) != 0)
            continue;
        *link = f->next;
        f->next = s->first;
        s->first = f;
        return f;
    }
    struct source *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->path = strdup(path);
    if (!f->path) {
        free(f);
        return NULL;
    }
    split(f);
    f->next = s->first;
    s->first = f;
    return f;
}

const char *sources_path(struct sources *s, const char *directory, const char *file)
{
    char *path = NULL;
    if (file[0] != '/' && directory[0] && asprintf(&path, "%s/%s", directory, file) < 0)
        return "";
    struct source *f = find(s, path ? path : file);
    free(path);
    return f ? f->path : "";
}

const char *sources_line(struct sources *s, const char *path, uint32_t line)
{
    struct source *f = path[0] ? find(s, path) : NULL;
    return f && line && line <= f->count ? f->text + f->starts[line - 1] : "";
}
