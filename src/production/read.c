#include "production/production.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "production/parser.h"

enum { FILE_MOST = 1 << 20, FILES_MOST = 64, NESTED_MOST = 8 };

/* All that is read. */
struct reading {
    struct parser_all all;
    const char *folder;
    struct { dev_t dev; ino_t ino; } seen[FILES_MOST];
    unsigned seen_count, depth;
};

/* One file, while it is read. */
struct source {
    struct reading *reading;
    const char *path;
};

static bool include(void *context, const char *name, size_t size, struct err *e);

/* The file's name without folder and .dise. */
static void stem_of(char stem[PRODUCTION_NAME], const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(stem, PRODUCTION_NAME, "%.60s", slash ? slash + 1 : path);
    char *dot = strstr(stem, ".dise");
    if (dot && dot != stem && !dot[strlen(".dise")])
        *dot = '\0';
}

static struct parser *parser_make(struct parser_all *all, const char *name, const char *text,
                                  size_t size, struct err *e)
{
    struct parser *p = calloc(1, sizeof *p);
    if (!p) {
        err_set(e, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    p->all = all;
    p->file = name;
    p->e = e;
    stem_of(p->stem, name);
    lexer_init(&p->lexer, text, size);
    return p;
}

static void all_begin(struct parser_all *all, const struct production_settings *s,
                      struct production_program *out)
{
    memset(out, 0, sizeof *out);
    out->burst = s->burst;
    out->sparsity = s->sparsity;
    all->settings = s;
    all->program = out;
    /* The event that overflows counter_1 is the last one outside a burst, and the event at which
     * counter_2 has overflowed is the last one of a burst. */
    all->registers[0] =
        (struct parser_register){"sampleFreq", PRODUCTION_COUNTER_END - s->sparsity};
    all->registers[1] =
        (struct parser_register){"burstLength", PRODUCTION_COUNTER_END - (s->burst - 1)};
    all->register_count = 2;
}

/* ---- files ---- */

static bool file_text(FILE *f, struct buf *text, const char *path, struct err *e)
{
    uint8_t *at;
    size_t n = 1;
    while (n && text->size <= FILE_MOST && (at = buf_reserve(text, BUFSIZ))) {
        n = fread(at, 1, BUFSIZ, f);
        text->size += n;
    }
    if (ferror(f))
        return err_set_errno(e, ERR_NOT_FOUND, errno, "cannot read \"%s\"", path);
    if (text->size > FILE_MOST)
        return err_set(e, ERR_NOT_FOUND, "\"%s\" has more than %d bytes", path, FILE_MOST);
    return buf_ok(text) || err_set(e, ERR_INTERNAL, "out of memory");
}

/* True if it was read before. */
static bool seen_before(struct reading *r, FILE *f)
{
    struct stat st;
    if (fstat(fileno(f), &st))
        return false;
    for (unsigned i = 0; i < r->seen_count; i++)
        if (r->seen[i].dev == st.st_dev && r->seen[i].ino == st.st_ino)
            return true;
    if (r->seen_count < FILES_MOST) {
        r->seen[r->seen_count].dev = st.st_dev;
        r->seen[r->seen_count++].ino = st.st_ino;
    }
    return false;
}

static bool source_run(struct reading *r, const char *path, FILE *f, struct err *e)
{
    struct buf text = {0};
    struct source source = {r, path};
    bool ok = file_text(f, &text, path, e);
    struct parser *p =
        ok ? parser_make(&r->all, path, (const char *)text.data, text.size, e) : NULL;
    if (p) {
        p->include = include;
        p->context = &source;
        ok = parser_run(p);
    }
    free(p);
    buf_free(&text);
    return ok && p;
}

/* Takes the file, once. */
static bool source_read(struct reading *r, const char *path, FILE *f, struct err *e)
{
    bool ok = true;
    if (r->depth == NESTED_MOST || r->seen_count == FILES_MOST)
        ok = err_set(e, ERR_NOT_FOUND,
                     "\"%s\": there are too many files, or they include one another", path);
    else if (!seen_before(r, f)) {
        r->depth++;
        ok = source_run(r, path, f, e);
        r->depth--;
    }
    fclose(f);
    return ok;
}

/* Beside the file that includes it, or where that path leads. */
static bool include(void *context, const char *name, size_t size, struct err *e)
{
    const struct source *s = context;
    const char *slash = strrchr(s->path, '/');
    char path[PATH_MAX];
    bool beside = slash && size && *name != '/';
    snprintf(path, sizeof path, "%.*s%.*s", beside ? (int)(slash + 1 - s->path) : 0, s->path,
             (int)size, name);
    FILE *f = fopen(path, "re");
    return f ? source_read(s->reading, path, f, e)
             : err_set_errno(e, ERR_NOT_FOUND, errno, "cannot open \"%s\"", path);
}

/* As it is called, or one of the folder's. */
static FILE *file_open(const struct reading *r, const char *name, char path[PATH_MAX])
{
    static const char *const endings[] = {"", ".dise", NULL};
    snprintf(path, PATH_MAX, "%s", name);
    FILE *f = fopen(path, "re");
    for (unsigned i = 0; !f && r->folder && !strchr(name, '/') && endings[i]; i++) {
        snprintf(path, PATH_MAX, "%s/%s%s", r->folder, name, endings[i]);
        f = fopen(path, "re");
    }
    return f;
}

static bool all_end(const struct production_program *p, struct err *e)
{
    return p->count || err_set(e, ERR_USAGE, "there is no production in these files");
}

bool production_read(const char *const *files, unsigned count, const char *folder,
                     const struct production_settings *settings, struct production_program *out,
                     struct err *e)
{
    struct reading *r = calloc(1, sizeof *r);
    bool ok = true;
    if (!r)
        return err_set(e, ERR_INTERNAL, "out of memory");
    r->folder = folder;
    all_begin(&r->all, settings, out);
    for (unsigned i = 0; ok && i < count; i++) {
        char path[PATH_MAX];
        FILE *f = file_open(r, files[i], path);
        ok = f ? source_read(r, path, f, e)
               : err_set_errno(e, ERR_USAGE, ENOENT, "cannot open the productions \"%s\"%s%s%s",
                               files[i], folder ? ", here or in \"" : "", folder ? folder : "",
                               folder ? "\"" : "");
    }
    free(r);
    return ok && all_end(out, e);
}

bool production_read_text(const char *name, const char *text, size_t size,
                          const struct production_settings *settings,
                          struct production_program *out, struct err *e)
{
    struct parser_all *all = calloc(1, sizeof *all);
    struct parser *p = NULL;
    if (all) {
        all_begin(all, settings, out);
        p = parser_make(all, name, text, size, e);
    } else {
        err_set(e, ERR_INTERNAL, "out of memory");
    }
    bool ok = p && parser_run(p) && all_end(out, e);
    free(p);
    free(all);
    return ok;
}

bool production_frequency(const char *text, uint64_t burst, uint64_t *sparsity, struct err *e)
{
    char *end = NULL;
    errno = 0;
    unsigned long long part = strtoull(text, &end, 10), whole = 0;
    if (end != text && *end == '/' && end[1] >= '0' && end[1] <= '9')
        whole = strtoull(end + 1, &end, 10);
    if (*text < '0' || *text > '9' || errno || *end || !part || part > whole ||
        whole > PRODUCTION_SPARSITY_MOST)
        return err_set(e, ERR_USAGE,
                       "\"%s\" is no sampling frequency (--frequency): write 1/1000, at most 1/1",
                       text);
    unsigned __int128 outside = (unsigned __int128)burst * (whole - part);
    outside = (outside + part / 2) / part;
    if (outside > PRODUCTION_SPARSITY_MOST)
        return err_set(e, ERR_USAGE,
                       "a burst of %llu events at a frequency of %s leaves more than 2^32 events "
                       "between bursts: choose a higher frequency, or shorter bursts",
                       (unsigned long long)burst, text);
    *sparsity = (uint64_t)outside;
    return true;
}
