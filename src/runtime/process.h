/* The process as a whole: its record, fork, exit.
 *
 * Context: process_end_as: any. The rest: ordinary code. */
#ifndef PENUMBRA_RUNTIME_PROCESS_H
#define PENUMBRA_RUNTIME_PROCESS_H

#include "runtime/interpose/signals.h"
#include "runtime/runtime.h"

enum { PROCESS_FOREIGN = -1 };

/* A new record for this process in the spool; arguments: from the constructor. False: spool
 * full. */
bool process_begin(int argc, char **argv);
/* The same for a process that has been running (attach.h). */
bool process_join(void);
/* All images that are mapped now (guest/images.h), as the runtime looks at them. False: no
 * memory. */
bool process_images_begin(void);
/* Says goodbye: whatever has no end time was killed. */
void process_end_as(void);
/* True in a child that shares or copied our memory without telling us (vfork, raw clone): then
 * nothing here is about it. */
bool process_foreign_as(void);
/* The calling process's number; where it may not be asked for, guest.pid, or of such a child that
 * is known for one PROCESS_FOREIGN. */
int32_t process_number_as(void);
/* Arms the calling thread as the first of this process, which had used so much CPU time when all
 * this began. */
void process_arm(uint64_t stack_size, const void *stack_top, uint64_t begun_cpu_ns);
/* A copy of the process that a raw fork has made, and that is not ours: all that is known here is
 * about another process. */
bool process_is_copy_as(void);
/* It is one, or has been made by one. */
bool process_of_copy_as(void);
/* In a fork child that is the only thread: a record of its own. False: it is not followed. */
bool process_copy_as(void);
/* Before what makes a process or a thread: a copy that is not ours becomes ours. */
void process_copy_prepare(void);
/* Called before every fork(), and after it in the parent and in the child. */
void process_fork_prepare(void);
void process_fork_parent(void);
void process_fork_child(void);
/* In a copy of the process that a raw clone has made (Chromium's renderers): it is a forked child
 * from now on. Called where such a copy would else be taken for the process itself: it makes a
 * thread, or enters a sandbox, which must be noted. */
void process_adopt(void);
/* Around exec by the calling thread. */
struct signals_lent process_before_exec(void);
void process_after_failed_exec(struct signals_lent lent);
/* The trigger of thread t (NULL: none) and what finds threads go on, unless it is being
 * detached. */
void process_events_resume(struct rt_thread *t);
/* From when _hold returns until _release no thread is sampled, and no other one is in a handler or
 * a burst. Nests. False: there is nothing to release. */
bool process_samples_hold(void);
void process_samples_release(void);

#endif
