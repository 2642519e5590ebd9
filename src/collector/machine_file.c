#include "collector/machine_file.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct reading {
    struct machine *m;
    struct err *e;
    bool failed;
};

/* inih: 0 is an error, and its line is what ini_parse_file returns. */
static int take(void *data, const char *section, const char *name, const char *value)
{
    struct reading *r = data;
    bool ok = !r->failed;
    if (ok && *section)
        ok = err_set(r->e, ERR_USAGE, "a machine file has no sections: [%s]", section);
    ok = ok && machine_set(r->m, name, value, false, r->e);
    r->failed |= !ok;
    return ok;
}

/* Devices and pipes may have no end: what is longer is no machine file. */
enum { FILE_MOST = 1 << 16 };

static bool read_text(const char *path, char text[FILE_MOST + 1], struct err *e)
{
    FILE *f = fopen(path, "re");
    if (!f)
        return err_set_errno(e, ERR_NOT_FOUND, errno, "cannot read the machine file %s", path);
    size_t size = fread(text, 1, FILE_MOST + 1, f);
    int why = ferror(f) ? errno : 0;
    fclose(f);
    if (why)
        return err_set_errno(e, ERR_NOT_FOUND, why, "cannot read the machine file %s", path);
    if (size > FILE_MOST || memchr(text, '\0', size))
        return err_set(e, ERR_USAGE, "%s is no machine file: it is %s", path,
                       size > FILE_MOST ? "too long" : "not text");
    text[size] = '\0';
    return true;
}

bool machine_file_read(const char *path, struct machine *m, struct err *e)
{
    struct err problem = {0};
    struct reading r = {.m = m, .e = &problem};
    char text[FILE_MOST + 1];
    if (!read_text(path, text, e))
        return false;
    machine_init(m);
    int line = ini_parse_string(text, take, &r);
    if (r.failed && line > 0)
        return err_set(e, ERR_USAGE, "%s:%d: %s", path, line, problem.message);
    if (line)
        return err_set(e, ERR_USAGE, "%s:%d: this is no KEY = VALUE", path, line < 0 ? 1 : line);
    return true;
}

/* Where penumbra is installed, or beside a build's folder. */
static bool is_installed(const char *name, char path[PATH_MAX])
{
    char own[PATH_MAX];
    const char *folders[] = {"../share/penumbra/machines", "../machines", "../../machines"};
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    if (n <= 0 || strchr(name, '/'))
        return false;
    own[n] = '\0';
    *strrchr(own, '/') = '\0';
    for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++) {
        int used = snprintf(path, PATH_MAX, "%s/%s/%s.conf", own, folders[i], name);
        if (used > 0 && used < PATH_MAX && !access(path, R_OK))
            return true;
    }
    return false;
}

bool machine_file_find(const char *name, char path[PATH_MAX], struct err *e)
{
    if (!access(name, R_OK)) {
        snprintf(path, PATH_MAX, "%s", name);
        return true;
    }
    int why = errno;
    if (is_installed(name, path))
        return true;
    return err_set_errno(e, ERR_NOT_FOUND, why,
                         "cannot read the machine file %s, nor is it the name of a machine that "
                         "penumbra knows (golden-cove, hps2005, zen4)",
                         name);
}

bool machine_file_load(const char *name, const char *const *pairs, struct machine *m, struct err *e)
{
    char path[PATH_MAX];
    if (!machine_file_find(name, path, e) || !machine_file_read(path, m, e))
        return false;
    for (; pairs && *pairs; pairs++)
        if (!machine_set_pair(m, *pairs, e))
            return err_prefix(e, "--set %s", *pairs);
    return machine_check(m, e) || err_prefix(e, "%s", path);
}
