/* Errors of ordinary (non-signal) code: tier 1 of the house rules (docs/architecture.md).
 *
 * A library function that can fail takes a `struct err *` and returns false or NULL. The message
 * says what was attempted, on what, why it failed and what to try; only src/cli prints it.
 *
 * Context: any thread, never a signal handler.
 * Ownership: a struct err owns nothing; it may live on the stack and needs no cleanup. */
#ifndef PENUMBRA_BASE_ERR_H
#define PENUMBRA_BASE_ERR_H

#include <stdbool.h>

/* Doubles as the exit status of `penumbra record` before the program runs (docs/exit-status.md). */
enum err_code {
    ERR_NONE = 0,
    ERR_USAGE = 2,            /* a mistyped option or argument */
    ERR_FORMAT = 3,           /* a file is corrupt, truncated or of another version */
    ERR_NOT_FOUND = 127,      /* no such program or file */
    ERR_NOT_EXECUTABLE = 126, /* found, but may not be executed */
    ERR_INTERNAL = 125,       /* out of memory, system call failed */
    ERR_OUTPUT = 124,         /* the output cannot be written */
    ERR_BAD_INTERPRETER = 123, /* a script, or an ELF file, whose interpreter is missing */
    ERR_WRONG_MACHINE = 122,  /* not a Linux x86-64 executable */
    ERR_PRIVILEGED = 121,     /* setuid, setgid or file capabilities */
    ERR_STATIC = 120,         /* statically linked: nothing can be preloaded */
    ERR_ATTACH = 118,         /* a process that cannot be attached to, as it is now */
    ERR_NO_TRIGGER = 119,     /* the machine or the permissions lack the event asked for */
};

struct err {
    enum err_code code;
    char message[1024]; /* one or more sentences, no trailing newline */
};

/* Sets *e (if e is not NULL and holds no earlier error) and returns false, so that callers can
 * write `return err_set(e, ...)`. */
bool err_set(struct err *e, enum err_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As err_set, with ": " and strerror(errno_value) appended. */
bool err_set_errno(struct err *e, enum err_code code, int errno_value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Puts "context: " before the message already in *e. Returns false. */
bool err_prefix(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
