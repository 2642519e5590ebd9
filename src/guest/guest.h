/* A guest: code in a profiled process that records what the process is. It has the spool and
 * nothing else: no trigger, no unwinder, no engine. docs/guest.md has the picture, and what a guest
 * must do when.
 *
 *      guest_open ─> guest_process_begin ─> images_begin ─> guest_thread_begin_as ...
 *                                                 fork ─> guest_fork_child_as
 *                                                 exec ─> guest_exec_as, guest_exec_failed_as
 *                                                 exit ─> guest_end_as
 *
 * The runtime of `penumbra record` (src/runtime) is one, and so is any code that is compiled into a
 * program. A process has one guest for each library that contains this code.
 *
 * Context: _as functions: any, signal handlers included. The rest: ordinary code.
 * Ownership: records live in the spool and are never freed. The mapping is the guest's. */
#ifndef PENUMBRA_GUEST_GUEST_H
#define PENUMBRA_GUEST_GUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/spool.h"

enum {
    GUEST_PHASES = 256, /* of one process, "no phase" included */
    GUEST_MAPPED_MIN = 1 << 22, /* bytes: the least of a spool that is of use */
};

/* Set up before there is a second thread, and in fork children before fork returns. */
struct guest {
    struct spool spool;
    struct spool_process *process; /* its record; in a process that has none: the last one's, if
                                      there was any */
    int32_t pid;
    uint32_t phase;  /* atomic: id of what the process is in; 0: no phase */
    uint32_t paused; /* atomic: pauses that have not been resumed */
    uint32_t process_size, thread_size; /* bytes of records, as the collector has them */
    bool layout_known; /* records have what follows their core where this code has it */
    bool executed; /* the program, rather than a loader whose argument it is; false: not known */
};

extern struct guest guest;

/* No system calls may be made: the program may be in a sandbox. */
static inline bool guest_quiet_as(void)
{
    return __atomic_load_n(&guest.spool.quiet, __ATOMIC_RELAXED);
}

/* ---- the spool ---- */

/* Maps the spool at `path`, or open at `fd`, into guest.spool: at most so many bytes, and fewer
 * where the address space is limited. False: it cannot be mapped, or is of another version. */
bool guest_open(const char *path, uint64_t at_most);
bool guest_map(int fd, uint64_t at_most);
/* What guest_map does with the header of guest.spool. False: it is of another version. */
bool guest_sizes_take(void);
/* Unmaps it: nothing may have been recorded yet. */
void guest_close(void);

/* ---- the process ---- */

/* A record that is not in the spool's list. NULL: the spool is full. In a sandbox it is the fork
 * child `pid` of the process that guest.process describes. */
struct spool_process *guest_process_make_as(int32_t pid);
/* Its arguments, as one string: from main, or from the kernel where the process has been
 * running. */
spool_ref guest_command(int argc, char **argv);
spool_ref guest_command_of_kernel(void);
/* The process's name, as the kernel has it; not the calling thread's. */
void guest_name_of_kernel(struct spool_process *p);
/* It is complete: from now on readers see it, and it is guest.process. */
void guest_process_publish_as(struct spool_process *p);
/* All of that for a program that begins. False: the spool is full. */
bool guest_process_begin(int argc, char **argv);

/* The process is called after the file that was executed; it is another one's, a loader's program.
 * Has no effect if it has given itself a name. */
void guest_process_rename_as(const char *from, const char *to);
/* True in a child that shares or copied our memory without telling us (vfork, raw clone).
 * When quiet that is not known: false. */
bool guest_is_foreign_as(void);

/* It ends through exit(): whatever has no end time was killed. */
void guest_end_as(void);
/* The calling thread is about to execute another program; and could not. */
void guest_exec_as(void);
void guest_exec_failed_as(void);
/* In a fork child, whose only thread is the calling one: a record of its own, with its parent's
 * command, phases and images. Its threads have none yet. False: the spool is full, or the guest is
 * quiet, and guest.process is the parent's. */
bool guest_fork_child_as(void);
/* The last part of it, where the record has been made and published: phases and images. */
void guest_fork_child_copy_as(void);

/* ---- threads ---- */

/* A record with an empty tree for the thread `tid`, in this phase, that is not in the process's
 * list. NULL: the spool is full. */
struct spool_thread *guest_thread_make_as(int32_t tid, uint32_t phase);
void guest_thread_publish_as(struct spool_thread *t);
/* All of that for the calling thread, in the phase that the process is in. NULL: quiet, or the
 * spool is full, which is counted. */
struct spool_thread *guest_thread_begin_as(void);
/* The calling thread's name as it is now. */
void guest_thread_name_as(struct spool_thread *t);
/* The calling thread ends, or may do so next: so much of its CPU time is in its records of other
 * phases, the rest in t. When quiet: nothing. */
void guest_thread_end_as(struct spool_thread *t, uint64_t elsewhere_ns);

#endif
