/* What a file that is about to be executed is: can libpenumbra-rt.so be preloaded into it?
 * Asked by the collector before it starts a program, and by the runtime before an exec.
 *
 * Context: any, signal handlers and vforked children included: raw system calls, no allocation,
 * about 2.5 kB of stack. Opens and closes two descriptors.
 * Ownership: the caller's struct is filled; nothing is kept. */
#ifndef PENUMBRA_SIGSAFE_ELF_PROBE_H
#define PENUMBRA_SIGSAFE_ELF_PROBE_H

#include <stdbool.h>
#include <stdint.h>

/* Of a `#!` line the kernel itself reads 256 bytes (BINPRM_BUF_SIZE). */
enum { ELF_PROBE_PATH_MAX = 256, ELF_PROBE_NAME_MAX = 64 };

enum elf_probe_kind {
    ELF_PROBE_OK,            /* x86-64, dynamically linked, interpreter is glibc's */
    ELF_PROBE_STATIC,        /* x86-64, no PT_INTERP: static or static-pie */
    /* glibc's loader itself, as in `ld.so PROGRAM`: PROGRAM gets what is preloaded */
    ELF_PROBE_LOADER,
    ELF_PROBE_WRONG_MACHINE, /* ELF, but not for x86-64 in 64-bit mode */
    ELF_PROBE_NOT_GLIBC,     /* x86-64, dynamic, but another C library's interpreter */
    ELF_PROBE_SCRIPT,        /* begins with #! and names an interpreter */
    ELF_PROBE_NOT_ELF,       /* something else: text, or data */
    ELF_PROBE_BROKEN,        /* begins like ELF, but the kernel would refuse it */
    ELF_PROBE_UNREADABLE,    /* may not or cannot be read; `error` says why */
};

struct elf_probe {
    enum elf_probe_kind kind;
    int error;        /* errno value; for ELF_PROBE_UNREADABLE */
    /* for ELF_PROBE_NOT_ELF: a zero byte near the beginning, so no shell script */
    bool binary;
    uint16_t machine; /* e_machine, where it is ELF */
    bool is64;        /* ELFCLASS64, where it is ELF */
    /* Of a script, or PT_INTERP of a dynamic program (cut if it does not fit); else "". */
    char interpreter[ELF_PROBE_PATH_MAX];
    /* For ELF_PROBE_OK: a sanitizer's library (preload.h) that is the first one it is linked with;
     * else "". */
    char first[ELF_PROBE_NAME_MAX];
};

enum elf_probe_kind elf_probe_as(const char *path, struct elf_probe *out);

#endif
