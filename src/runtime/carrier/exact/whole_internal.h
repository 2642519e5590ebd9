/* Shared by whole*.c only. */
#ifndef PENUMBRA_RUNTIME_CARRIER_EXACT_WHOLE_INTERNAL_H
#define PENUMBRA_RUNTIME_CARRIER_EXACT_WHOLE_INTERNAL_H

#include "engine/recover.h"
#include "runtime/carrier/exact/whole.h"
#include "runtime/carrier/exact/whole_layout.h"

/* One process. */
struct whole {
    struct engine *engine;
    const struct whole_events *events;
    struct whole_actions actions;
    uint32_t lock;               /* of `threads` and of changes to `actions` */
    struct whole_thread *threads;
};
extern struct whole whole;

/* For whole_entry.S. */
extern uint32_t whole_left_count;           /* atomic: threads that went native */
extern uint8_t whole_fsgsbase;
extern const uint64_t whole_asynchronous; /* signals that are no faults */

extern const char whole_text_begin[], whole_text_end[];
void whole_signal_entry(void);
extern const char whole_signal_blocked[]; /* in it: from here on signals are */
extern const char whole_signal_end[];
void whole_resumed(void);
_Noreturn void whole_sigreturn_at_as(void *frame);
long whole_syscall_at_as(uint64_t rsp, long number, uint64_t a, uint64_t b, uint64_t c);
long whole_clone_as(const uint64_t *gpr, struct engine_thread *child);
/* The caller's return is the first thing that runs under the engine; then true. */
bool whole_take_as(struct engine_thread *t);
_Noreturn void whole_exit_as(uint32_t *ended, uint64_t status);
_Noreturn void whole_thread_begun_as(struct engine_thread *child);
/* True if this GS base is that of a thread of ours. */
bool whole_owns_as(uint64_t gs);

void whole_strayed_as(struct engine_thread *t);

void whole_lock_as(void);
void whole_unlock_as(void);

/* A thread with an area, whose registers the caller fills; NULL without memory. tid: 0 if not
 * known. */
struct whole_thread *whole_thread_make_as(int32_t tid);
void whole_thread_free_as(struct whole_thread *w);
/* Frees what belongs to threads that have ended. */
void whole_reap_as(void);

/* Between the program's memory and ours; false where it is not there. */
bool whole_read_as(void *to, uint64_t from, uint64_t size);
bool whole_write_as(uint64_t to, const void *from, uint64_t size);

#endif
