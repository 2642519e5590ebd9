/* Processes and threads of the machine, as perf records tell of them, in the order of time.
 *
 *      /proc, once at the start ──┐
 *      FORK: a copy of its parent │
 *      COMM: a name; exec: no maps├──> machine_process: maps, by address ──> unwind_index
 *      MMAP2: a map               │        └ threads
 *      EXIT                     ──┘
 *
 * A process has a record in the spool from its first sample on; each program that it executes has
 * one of its own. What was read from /proc is as of then: records of an earlier time are part of it
 * already.
 *
 * Context: the machine's thread.
 * Ownership: machine_processes_free releases all; records in the spool stay. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_PROCESS_H
#define PENUMBRA_COLLECTOR_MACHINE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/machine/machine_image.h"
#include "collector/machine/machine_record.h"
#include "collector/machine/machine_service.h"
#include "sigsafe/spool.h"
#include "sigsafe/timeline.h"
#include "sigsafe/unwind_index.h"

enum { MACHINE_PROCESS_HASH = 4096, MACHINE_NAME = 16 };

/* What a thread waits for (machine_waits.h). */
struct machine_wait {
    uint64_t begun;  /* CLOCK_MONOTONIC; 0: it is not known to wait */
    uint64_t told_ns; /* when a record told of it */
    uint64_t ended;  /* of the last that is over: when it had begun */
    uint64_t charged_of, charged_ns; /* of the wait that began then, while it lasted */
    uint64_t since_ns, all_ns; /* when the thread can have begun; what it has been charged */
    uint64_t rest_ns; /* that were too few to be charged */
    bool rests;      /* rest_ns has been drawn */
    spool_ref node;  /* where it waits */
    uint32_t truncation; /* enum truncation */
    bool guessed;
    uint64_t *path;  /* the keys down to the node */
    uint32_t path_count, path_capacity;
    /* Who has woken it: the record and the node in its tree; 0: nobody yet. */
    struct spool_thread *waker;
    spool_ref waker_node;
    uint64_t waker_rest_ns;
};

struct machine_thread {
    struct machine_thread *next; /* of the process */
    int32_t tid;
    char name[MACHINE_NAME];
    struct spool_thread *record; /* NULL: it has no sample yet */
    struct spool_thread *waking; /* by TRIGGER_WAKING; NULL: it has none yet */
    uint8_t *block, *block_end;  /* sigsafe/cct_grow.h */
    struct timeline timeline;
    struct machine_wait wait;
};

struct machine_process {
    struct machine_process *next; /* of the same hash */
    int32_t pid, ppid;
    char name[MACHINE_NAME];
    uid_t user;          /* effective */
    uint32_t service;    /* its number among machine_processes.services */
    uint64_t scanned_ns; /* /proc has told everything up to then */
    uint64_t start_ns;   /* of the program that it executes; 0: before the recording */
    bool known;          /* what it has mapped */
    bool in_tree;        /* machine_selection.pid, or a descendant of it */
    bool ended;
    uint64_t end_ns;
    bool unreadable;     /* /proc does not tell us what it has mapped */
    bool outside;        /* all that have no number in this PID namespace: the kernel says 0 */
    struct machine_map *maps; /* disjoint, by address */
    uint32_t map_count, map_capacity;
    struct unwind_index *index; /* NULL: the maps have changed */
    uint32_t index_changes;     /* machine_images.changes when it was made */
    struct machine_thread *threads;
    struct spool_process *record; /* NULL: it has no sample yet */
};

/* Which processes are recorded. */
struct machine_selection {
    int32_t pid;  /* this one, and those that it makes; 0: all */
    int64_t user; /* those of this user; -1: all */
};

struct machine_processes {
    const struct spool *spool;
    struct machine_images *images;
    struct machine_services *services; /* NULL: nobody asks for them */
    struct machine_selection selection;
    struct machine_process *by_pid[MACHINE_PROCESS_HASH];
    uint32_t count, ended;
    uint32_t sweep_at;   /* so many that have ended: then those of long ago are forgotten */
    uint32_t generation; /* of the last index made */
    uint64_t unreadable; /* processes with samples whose maps may not be read */
};

/* What the kernel calls processes, and threads, that have no number in our PID namespace. The idle
 * threads are called so too: no sample is of them. */
enum { MACHINE_OUTSIDE = 0 };

/* Reads all of /proc. */
void machine_processes_scan(struct machine_processes *all);
/* What a record other than a sample says. */
void machine_processes_note(struct machine_processes *all, const struct machine_record *r);
/* Records were lost: what is known of maps is to be read again. */
void machine_processes_forget(struct machine_processes *all);
struct machine_process *machine_process_find(struct machine_processes *all, int32_t pid);
/* The process of a sample; what is not known of it is read. NULL: no memory. */
struct machine_process *machine_process_at(struct machine_processes *all, int32_t pid);
bool machine_process_is_selected(const struct machine_processes *all,
                                 const struct machine_process *p);
/* A thread of it. NULL: no memory. */
struct machine_thread *machine_thread_at(struct machine_process *p, int32_t tid);
/* Their records in the spool, made if there are none. NULL: it is full. */
struct spool_process *machine_process_record(struct machine_processes *all,
                                             struct machine_process *p);
struct spool_thread *machine_thread_record(struct machine_processes *all,
                                           struct machine_process *p, struct machine_thread *t);
/* That of the waits that it has ended. */
struct spool_thread *machine_thread_waking(struct machine_processes *all,
                                           struct machine_process *p, struct machine_thread *t);
/* What is mapped where, for the unwinder. NULL: no memory. */
const struct unwind_index *machine_process_index(struct machine_processes *all,
                                                 struct machine_process *p);
/* They get records in another spool, from their next samples on. */
void machine_processes_move(struct machine_processes *all, const struct spool *to);
void machine_processes_free(struct machine_processes *all);

/* machine_maps.c: the map that an address is in; NULL. */
const struct machine_map *machine_process_map(const struct machine_process *p, uint64_t address);
/* Adds a map; what it covers of others is not mapped any more. False: no memory. */
bool machine_process_map_add(struct machine_process *p, const struct machine_map *map);
/* Room for so many more. */
bool machine_process_maps_room(struct machine_process *p, uint32_t more);
/* The maps have changed. */
void machine_process_index_drop(struct machine_process *p);

/* machine_proc.c: what /proc says of a process: name, parent, user, and its maps instead of those
 * that are known. */
void machine_proc_read(struct machine_processes *all, struct machine_process *p);
/* Its user alone. */
void machine_proc_user(struct machine_process *p);
/* Its arguments, as the kernel has them: each with its NUL. Bytes read. */
size_t machine_proc_arguments(const struct machine_process *p, char *to, size_t size);

#endif
