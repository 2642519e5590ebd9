/* What the program reads from pipes, sockets and the like while shadows are active, and what it is
 * told about what could be read (input_calls.h has the calls): with `record --log-input` it is kept
 * for them, since a shadow cannot ask a second time. docs/shadow.md, "Input", has the picture.
 *
 *      program   interposed read ──begin── read ──end──> record, bytes      (writes the log, one thread at a time)
 *      shadow    the same code   ──begin── read ─────────> looks the record up (only reads the log)
 *
 * Both number the calls of a thread in memory of their own, so that the numbers agree however far
 * each has come: a record belongs to a call of the shadow if it is of the same thread, with the
 * same number, from the same place, and asks for the same.
 *
 * Context: input_begin and input_end: in the program's calls, its signal handlers too. The others
 * say. errno stays as it is.
 * Ownership: the log is the process's, in memory that its shadows share; a fork child has none of
 * its parent's. */
#ifndef PENUMBRA_RUNTIME_INPUT_INPUT_LOG_H
#define PENUMBRA_RUNTIME_INPUT_INPUT_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

enum { INPUT_BYTES = 1 << 20, INPUT_RECORDS = 4096, INPUT_LARGEST = INPUT_BYTES / 4,
      INPUT_PIECES = 5 };

/* struct input_request.flags of a function of a libc stream: what it reads, if it reads, is one
 * record, whose result is 0 if the end of the file came behind its bytes. */
#define INPUT_STREAM UINT32_MAX

/* What a call asks for. */
struct input_request {
    uint64_t number;         /* of the thread's calls, from 1 */
    uint64_t size;           /* bytes asked for, or pieces, or a digest of what was */
    uint64_t frame, returns; /* of the interposed function: where it was called */
    uint32_t system_call;
    int32_t fd;
    uint32_t flags;
    uint32_t active;         /* the call is going on */
};

struct input_record {
    struct input_request request;
    int64_t result; /* bytes, or a negative error */
    uint64_t at;    /* of its bytes, since the log began */
    uint32_t kept;  /* how many */
    /* there were more than INPUT_LARGEST, or something that no shadow can be given */
    bool left_out;
    int32_t tid;
};

/* A call, and where its answer is: in `to`, and then in `more`. */
struct input_call {
    struct input_request wanted;
    struct iovec to[INPUT_PIECES];
    const struct iovec *more;
    const uint64_t *control; /* size of what came besides, or NULL */
    uint64_t more_pieces;
    bool unknown;            /* what the answer was cannot be told */
    /* bytes that there are whatever the result, unless it is an error; ... */
    uint64_t fixed;
    uint32_t unit;           /* ... and bytes for each one of the result */
    uint32_t pieces;         /* of `to` */
};

/* Whether the carrier asks for a log (carrier.h, settings_take). */
extern bool input_wanted;
/* Whether calls are numbered in this process: set once, before threads can be. */
extern bool input_numbered;
extern _Thread_local struct input_request input_now __attribute__((tls_model("initial-exec")));

/* Around a call of the family: `wanted` has all but the number. outer is what was going on
 * before. */
static inline void input_begin(struct input_request *outer, struct input_request *wanted)
{
    *outer = input_now;
    wanted->number = ++input_now.number;
    wanted->active = 1;
    input_now = *wanted;
}

/* To be called while shadows are active. result: as the kernel would have returned it. */
void input_log_add_as(const struct input_call *of, int64_t result);
/* Whether that is so, in the program. */
bool input_log_wanted_as(void);

/* The call is over; nothing is kept of it. */
static inline void input_leave(const struct input_request *outer)
{
    uint64_t number = input_now.number; /* a handler may have read, too */
    input_now = *outer;
    input_now.number = number;
}

static inline void input_end(const struct input_request *outer, const struct input_call *of,
                             int64_t result)
{
    if (input_log_wanted_as())
        input_log_add_as(of, result);
    input_leave(outer);
}

/* ---- the monitor and shadows ---- */

/* Before the first fork. Without memory there is none, and shadows find nothing. */
void input_log_need_as(void);
/* Records so far. */
uint64_t input_log_position_as(void);
/* The record at `position`. False: it, or some of its bytes, may have been overwritten. to: the
 * call that its bytes answer; NULL: none. */
bool input_log_get_as(uint64_t position, struct input_record *record, const struct input_call *to);
/* In a fork child. */
void input_log_forget(void);

#endif
