#include "collector/record_check.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "sigsafe/elf_probe.h"

/* A script's interpreter may be a script, this many times (fs/exec.c, exec_binprm). */
enum { SCRIPT_DEPTH_MAX = 5 };

/* What helps where no library can be preloaded. */
#define FROM_OUTSIDE "; or sample it from outside, as root: penumbra record --external"

/* One file on the way from the command line to an ELF file. */
struct step {
    const char *path;
    const char *script; /* the script whose interpreter this is; NULL: the program itself */
};

static bool missing(const struct step *s, int error, struct err *e)
{
    if (s->script)
        return err_set_errno(e, ERR_BAD_INTERPRETER, error,
                             "%s is a script whose interpreter \"%s\" cannot be used (look at its "
                             "first line)", s->script, s->path);
    if (error == ENOENT || error == ENOTDIR)
        return err_set(e, ERR_NOT_FOUND, "there is no file \"%s\"; check the spelling and the "
                       "directory", s->path);
    return err_set_errno(e, ERR_NOT_EXECUTABLE, error, "cannot run \"%s\"", s->path);
}

static bool check_executable(const struct step *s, struct stat *st, struct err *e)
{
    if (stat(s->path, st))
        return missing(s, errno, e);
    enum err_code code = s->script ? ERR_BAD_INTERPRETER : ERR_NOT_EXECUTABLE;
    const char *of = s->script ? s->script : "";
    const char *link = s->script ? ": its interpreter " : "";
    if (S_ISDIR(st->st_mode))
        return err_set(e, code, "%s%s\"%s\" is a directory, not a program", of, link, s->path);
    if (!S_ISREG(st->st_mode))
        return err_set(e, code, "%s%s\"%s\" is not a regular file, so it cannot be run", of, link,
                       s->path);
    if (faccessat(AT_FDCWD, s->path, X_OK, AT_EACCESS)) {
        int error = errno;
        struct statvfs fs;
        if (!statvfs(s->path, &fs) && fs.f_flag & ST_NOEXEC)
            return err_set(e, code, "%s%s\"%s\" is on a file system mounted noexec, so nothing on "
                           "it can be run; copy it elsewhere", of, link, s->path);
        return err_set_errno(e, code, error, "%s%s\"%s\" may not be executed (chmod +x %s ?)", of,
                             link, s->path, s->path);
    }
    return true;
}

/* Would the kernel set AT_SECURE (security/commoncap.c, cap_bprm_creds_from_file)? Then the loader
 * ignores LD_PRELOAD. Changing to the identity that we already have is no change; nosuid mounts and
 * no_new_privs make the bits void. */
static bool check_privileges(const char *path, const struct stat *st, struct err *e)
{
    struct statvfs fs;
    if ((!statvfs(path, &fs) && fs.f_flag & ST_NOSUID) ||
        prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        return true;
    const char *why = NULL;
    if (st->st_mode & S_ISUID && st->st_uid != getuid())
        why = "setuid";
    else if (st->st_mode & S_ISGID && st->st_mode & S_IXGRP && st->st_gid != getgid())
        why = "setgid";
    else if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
        why = "given file capabilities";
    if (!why)
        return true;
    return err_set(e, ERR_PRIVILEGED,
                   "\"%s\" is %s: the loader refuses to preload a library into programs that gain "
                   "privileges. Record a copy of it without them (cp, then run the copy), or run "
                   "penumbra as the user it changes to" FROM_OUTSIDE, path, why);
}

static bool wrong_machine(const char *path, const struct elf_probe *p, struct err *e)
{
    const char *what = "another kind of processor";
    if (p->machine == EM_386)
        what = "32-bit x86";
    else if (p->machine == EM_X86_64 && !p->is64)
        what = "x32 (x86-64 with 32-bit pointers)";
    else if (p->machine == EM_AARCH64)
        what = "AArch64";
    else if (p->machine == EM_ARM)
        what = "32-bit ARM";
    else if (p->machine == EM_RISCV)
        what = "RISC-V";
    return err_set(e, ERR_WRONG_MACHINE,
                   "\"%s\" was built for %s (ELF machine %u); programs are recorded from inside if "
                   "they are 64-bit x86-64 ones%s", path, what, p->machine,
                   p->machine == EM_386 || p->machine == EM_X86_64 ? FROM_OUTSIDE : "");
}

/* Whether a static program has the note that Go's linker writes: its name is "Go". */
static bool is_go(const char *path)
{
    Elf64_Ehdr elf;
    Elf64_Phdr segment;
    struct { Elf64_Nhdr head; char name[4]; } note;
    bool found = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && pread(fd, &elf, sizeof elf, 0) == (ssize_t)sizeof elf)
        for (unsigned i = 0; i < elf.e_phnum && !found; i++)
            found =
                pread(fd, &segment, sizeof segment, (off_t)(elf.e_phoff + i * sizeof segment)) ==
                    (ssize_t)sizeof segment &&
                segment.p_type == PT_NOTE &&
                pread(fd, &note, sizeof note, (off_t)segment.p_offset) == (ssize_t)sizeof note &&
                note.head.n_namesz == sizeof note.name && !memcmp(note.name, "Go\0", 4);
    if (fd >= 0)
        close(fd);
    return found;
}

static bool check_elf(const char *path, const struct elf_probe *p, const struct stat *st,
                      bool without_library, struct err *e)
{
    if (without_library && (p->kind == ELF_PROBE_STATIC || p->kind == ELF_PROBE_NOT_GLIBC))
        return check_privileges(path, st, e);
    switch (p->kind) {
    case ELF_PROBE_WRONG_MACHINE: return wrong_machine(path, p, e);
    case ELF_PROBE_LOADER: return check_privileges(path, st, e);
    case ELF_PROBE_STATIC:
        if (is_go(path))
            return err_set(
                e, ERR_STATIC,
                "\"%s\" is a static Go program, so no library can be preloaded into it; build "
                "it with the system's linker to record it: CGO_ENABLED=1 go build -ldflags "
                "'-linkmode external'" FROM_OUTSIDE, path);
        return err_set(e, ERR_STATIC,
                       "\"%s\" is statically linked, so no library can be preloaded into it; link "
                       "it dynamically (without -static) to record it" FROM_OUTSIDE, path);
    case ELF_PROBE_BROKEN:
        return err_set(e, ERR_NOT_EXECUTABLE,
                       "\"%s\" begins like an ELF file, but is damaged or no program (truncated? "
                       "an object file?)", path);
    default: break;
    }
    struct stat loader;
    if (stat(p->interpreter, &loader))
        return err_set_errno(e, ERR_BAD_INTERPRETER, errno,
                             "\"%s\" needs the program interpreter \"%s\", which cannot be used; "
                             "is the C library that it was built for installed?",
                             path, p->interpreter);
    if (p->kind == ELF_PROBE_NOT_GLIBC)
        return err_set(e, ERR_WRONG_MACHINE,
                       "\"%s\" uses the C library of \"%s\", not glibc; libpenumbra-rt.so can be "
                       "preloaded into programs of glibc only" FROM_OUTSIDE, path,
                       p->interpreter);
    return check_privileges(path, st, e);
}

static bool check_file(const char *path, const char *script, unsigned depth,
                       struct record_program *out, struct err *e)
{
    struct step s = {path, script};
    struct stat st;
    struct elf_probe probe;
    if (!check_executable(&s, &st, e))
        return false;
    switch (elf_probe_as(path, &probe)) {
    case ELF_PROBE_UNREADABLE: /* may be executed all the same; what it is cannot be known */
        return out->any || check_privileges(path, &st, e);
    case ELF_PROBE_SCRIPT:
        if (depth >= SCRIPT_DEPTH_MAX)
            return err_set(e, ERR_BAD_INTERPRETER,
                           "\"%s\" is a script, interpreted by a script, and so on more than %d "
                           "times; the kernel does not run that", path, SCRIPT_DEPTH_MAX);
        return check_file(probe.interpreter, path, depth + 1, out, e);
    case ELF_PROBE_NOT_ELF:
        if (probe.binary || script)
            return err_set(e, script ? ERR_BAD_INTERPRETER : ERR_WRONG_MACHINE,
                           "\"%s\" is neither an ELF program nor a script", path);
        out->shell_script = true;
        return check_file("/bin/sh", path, depth + 1, out, e);
    default:
        memcpy(out->first, probe.first, sizeof out->first);
        if (out->any)
            return true;
        return check_elf(path, &probe, &st, out->without_library, e);
    }
}

/* As execvp: the first entry of PATH that has an executable; a file that is there but may not be
 * executed is remembered for the message. */
static bool find_in_path(const char *name, char *path, struct err *e)
{
    char standard[256] = "/bin:/usr/bin";
    const char *list = getenv("PATH");
    if (!list) {
        confstr(_CS_PATH, standard, sizeof standard);
        list = standard;
    }
    char denied[PATH_MAX] = "";
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ":");
        int n = snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, at, length ? "/" : "", name);
        struct stat st;
        if (n > 0 && n < PATH_MAX && !stat(path, &st) && S_ISREG(st.st_mode)) {
            if (!faccessat(AT_FDCWD, path, X_OK, AT_EACCESS))
                return true;
            if (!*denied)
                snprintf(denied, sizeof denied, "%s", path);
        }
        at += length;
        if (!*at)
            break;
    }
    if (*denied)
        return err_set(e, ERR_NOT_EXECUTABLE, "\"%s\" may not be executed (chmod +x ?)", denied);
    struct stat here;
    if (!stat(name, &here) && S_ISREG(here.st_mode))
        return err_set(e, ERR_NOT_FOUND,
                       "there is no program \"%s\" in PATH; for the one in this directory write "
                       "./%s", name, name);
    return err_set(e, ERR_NOT_FOUND, "there is no program \"%s\" in any directory of PATH", name);
}

bool record_check_program(const char *name, struct record_program *out, struct err *e)
{
    out->shell_script = false;
    out->first[0] = '\0';
    if (strlen(name) >= PATH_MAX)
        return err_set(e, ERR_NOT_FOUND, "the program's name is longer than any path can be");
    if (strchr(name, '/'))
        snprintf(out->path, sizeof out->path, "%s", name);
    else if (!find_in_path(name, out->path, e))
        return false;
    return check_file(out->path, NULL, 0, out, e);
}
