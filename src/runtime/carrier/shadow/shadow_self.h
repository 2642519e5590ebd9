/* Inside a shadow: the state of the copy that runs under the engine, for the files that make it up.
 *
 *      shadow_guard.c   its parent, where that is not the collector
 *      shadow_run.c     begins, runs, ends
 *      shadow_pass.c    what it passes over
 *      shadow_files.c   its descriptors: none leads to what the program has open
 *      shadow_own.c     of these: files that it makes or writes to, which are its own
 *      shadow_memory.c  its mappings: none that others see can be written to
 *      shadow_apart.c   its pages: none is its program's for long
 *      shadow_calls.c   its system calls
 *      shadow_input.c   of these: what the program has read
 *      shadow_threads.h its threads, where it has more than one
 *
 * Context: a shadow, its only thread; general registers only.
 * Ownership: everything ends with the process. */
#ifndef PENUMBRA_RUNTIME_CARRIER_SHADOW_SHADOW_SELF_H
#define PENUMBRA_RUNTIME_CARRIER_SHADOW_SHADOW_SELF_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "sigsafe/spool_shadow.h"

enum { SHADOW_FAULTS = 5 }; /* signals that a shadow has handlers of its own for */

/* The kernel's struct sigaction. */
struct shadow_action {
    uint64_t handler, flags, restorer, mask;
};

struct shadow_self {
    struct spool_shadows *record;
    struct spool_seat *seat;
    struct spool_counts *counts;
    struct engine *engine;
    struct engine *passing;         /* the one without a tool; NULL: all is observed */
    struct engine_thread *thread;   /* the one that runs, of: */
    struct engine_thread *observer, *passer;
    /* What the program is told that it is. */
    int32_t pid, tid, ppid, group, session;
    uint64_t mask;
    stack_t stack;
    struct shadow_action actions[SHADOW_FAULTS];
    uint32_t made;         /* spool_header.shadows_made when it began */
    /* instructions of the current stretch that are to run after the current slice */
    uint64_t left;
    uint64_t random;       /* how much is passed over */
    uint64_t sliced;       /* instructions of the slices so far, the current one included */
    uint64_t observed;     /* of these those that are not passed over */
    uint64_t looked;       /* `sliced` when it last looked about itself */
    uint64_t yields;       /* in a row */
    uint64_t input_at;     /* where in the log of input it goes on (input_log.h) */
    uint64_t stream_number; /* of the call of a stream that has been answered last; ... */
    bool stream_ends;      /* ... and if it reads once more, that is the end of the file */
    /* CPU time of the shadow when it began to run the program's code, or told of it last */
    uint64_t begun_ns;
    uint64_t told, told_ns; /* instructions and CPU time that are in the record */
    uint64_t program_ns;   /* CPU time of the program when the shadow began to run its code */
    bool native;           /* the processor executes one instruction: the engine could not */
    struct native_frame *frame; /* by which it does; NULL: never */
    bool watched;          /* what the program has changed is not in the engine */
    bool cold;             /* nobody else uses its engine */
};

extern struct shadow_self shadow_self;

/* ---- what is passed over ---- */

/* Instructions that are observed in a row. */
uint64_t shadow_stretch(void);
/* The stretch of t is over, and the shadow goes on: the thread area for the next one, which has as
 * many instructions as shadow_self.left says then. */
struct engine_thread *shadow_pass_next_as(struct engine_thread *t);
/* The registers of `from` go to `to`, another one's area, and the shadow goes on there: observing,
 * or not. */
_Noreturn void shadow_pass_over_as(struct engine_thread *to, const struct engine_thread *from);

/* The end of the shadow. not_run: instructions that were counted but not executed. */
_Noreturn void shadow_end_as(enum shadow_end why);
_Noreturn void shadow_end_early_as(enum shadow_end why, uint64_t not_run);
/* Ends it, where its program, the recording, the budget or the memory has come to an end. */
void shadow_look_about_as(void);

/* ---- descriptors ---- */

enum shadow_file {
    FILE_UNKNOWN,   /* closed, or not made private */
    FILE_REGULAR,   /* a description of its own, at the program's position */
    FILE_FOLDER,    /* likewise */
    /* a regular file, not open for reading: likewise, or a name without a description */
    FILE_UNREADABLE,
    FILE_OWN,       /* made, or written to, by the shadow, in its memory: nobody else has it */
    FILE_PIPE,      /* what follows: likewise names */
    FILE_SOCKET,
    FILE_DEVICE,    /* terminals among them */
    FILE_OTHER,
};

/* Gives each descriptor of the process a description of its own, or none. False: it could not be
 * done. */
bool shadow_files_part_as(void);
enum shadow_file shadow_file_of(uint64_t fd);
uint32_t shadow_file_flags(uint64_t fd);  /* as fcntl(F_GETFL) said */
void shadow_file_set_flags(uint64_t fd, uint32_t flags);
/* it would have been: its contents are not what they seem */
bool shadow_file_written(uint64_t fd);
/* `size` bytes are taken as written; position: whether they move it. */
void shadow_file_write_as(uint64_t fd, uint64_t size, bool position);
void shadow_file_copy(uint64_t from, uint64_t to);
void shadow_file_close(uint64_t first, uint64_t last);

/* ---- files of its own ---- */

/* A file that the program would have made, where there was none: one in memory stands for it. Its
 * descriptor, or an error. */
long shadow_file_make_as(long folder, const char *path, uint64_t flags);
/* One that is there, regular or a folder, as `status` says. Its descriptor, or an error;
 * SHADOW_FILE_LOST: what the shadow would have written to it was not kept, or what it would write
 * would have to be seen in memory. */
enum { SHADOW_FILE_LOST = -5000 };
struct stat;
long shadow_file_open_as(long folder, const char *path, uint64_t flags, const struct stat *status);
/* A regular file is about to be written to: from here on it is the shadow's own, under all its
 * descriptors. False: it is not, since nobody here can read it, or it is too large. */
bool shadow_file_own_as(uint64_t fd);
/* A file is about to be mapped so that all that is written to it is seen, by one who only reads:
 * from here on nobody here may write to it. False: somebody may already, or could make the memory
 * writable. */
bool shadow_file_show(uint64_t fd);
/* FILE_OWN: it has so many bytes more, at most. */
void shadow_file_grow_as(uint64_t size);
/* What the kernel says of a file becomes what it would say in the program. fd: it was asked about
 * this one; SHADOW_NO_FILE: about a name. False: that is not known. */
#define SHADOW_NO_FILE UINT64_MAX
bool shadow_file_status_as(struct stat *status, uint64_t fd);
/* What the kernel says of it is not what it would say in the program. */
bool shadow_file_changed(uint64_t fd, uint64_t device, uint64_t inode);
/* The program has got this descriptor of a socket: the shadow gets a name instead, under the same
 * number. False: it has another one there, or no room. */
bool shadow_file_accept_as(uint64_t from, uint64_t fd, uint32_t flags);

/* TCGETS or TIOCGWINSZ of a device: as it was at the fork. False: that is not known. */
bool shadow_terminal_tell(uint64_t fd, uint64_t request, void *to, long *result);

/* ---- memory ---- */

/* Takes write access to shared mappings away. False: it could not be done. */
bool shadow_memory_part_as(void);
/* Pages that a shadow may change; 0: all. */
uint64_t shadow_pages_most(void);
/* Copies what it still shares with its program, as far as pagemap (pages_there.h), which is closed,
 * says what there is; negative: nothing (shadow_apart.c). */
void shadow_apart_as(long pagemap);
/* Some of it is in [lo, hi). */
bool shadow_memory_is_shared(uint64_t lo, uint64_t hi);
/* The kernel does not write to the memory of the thread that forked by itself any more: a shadow
 * may give that memory back while it, or its guard, goes on. */
void shadow_rseq_part_as(void);

/* ---- system calls ---- */

/* The call is answered. */
void shadow_call_done(struct engine_thread *t, long result);
/* The call that t makes ends the shadow. */
_Noreturn void shadow_call_ends_as(const struct engine_thread *t, enum shadow_end why);

/* struct engine_carrier.system_call */
enum engine_action shadow_call_as(struct engine_thread *t);

/* The program's result of the call that the shadow is at, and its bytes. False: there is none. */
struct input_call;
bool shadow_input_as(const struct input_call *call, long *result);

/* ---- the program's code ---- */

/* rt_sigaction's restorer (shadow_entry.S). */
void shadow_restorer(void);
/* How a guard makes its shadow (shadow_entry.S): returns in the shadow alone. */
void shadow_split(void *stack, void (*wait)(long));
/* At the end: gives back nearly all memory, on the shadow's time, which nobody sees. Where no guard
 * is: nothing. */
void shadow_guard_relieve_as(void);
/* The place of a signal in shadow_self.actions, or -1. */
int shadow_fault_index(int signal);

#endif
