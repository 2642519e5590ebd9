/* One record of a perf ring: what the kernel tells of the machine.
 *
 *     header  | type u32 | misc u16 | size u16 |
 *     SAMPLE  | pid, tid | time | n, n addresses | abi, registers | size, stack, bytes copied |
 *       or    | pid, tid | time | size u32, struct walk_record, walk_piece or wait_end (bpf/layout.h),
 *               or struct capture_record (bpf/capture_layout.h) |
 *     MMAP2   | pid, tid | address, length, offset | device, inode, ... | path   | pid, tid, time |
 *     COMM    | pid, tid | name                                                  | pid, tid, time |
 *     FORK, EXIT  | pid, parent, tid, parent's tid | time                        | pid, tid, time |
 *     LOST    | id | records                                                     | pid, tid, time |
 *
 * They differ in the upper half of what follows the time: of n it is 0, and the BPF programs'
 * structures begin with magic numbers.
 *
 * (linux/perf_event.h, "enum perf_event_type". Which fields there are follows from the attributes
 * that machine_rings.c asks for.)
 *
 * Context: ordinary code. Every length is checked.
 * Ownership: a record points into the bytes that it was read from. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_RECORD_H
#define PENUMBRA_COLLECTOR_MACHINE_RECORD_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/machine/bpf/capture_layout.h"
#include "collector/machine/bpf/layout.h"
#include "unwind/unwind.h"

/* What samples and other records are made of. */
#define MACHINE_SAMPLE_TYPE                                                                        \
    (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |          \
     PERF_SAMPLE_STACK_USER)
#define MACHINE_SIDE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME)
#define MACHINE_WALK_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW)
/* ax bx cx dx si di bp sp ip, r8 to r15 (arch/x86/include/uapi/asm/perf_regs.h) */
#define MACHINE_REGISTERS UINT64_C(0xff01ff)
/* A piece of the user's stack. 16 bits hold the size of a whole record. */
#define MACHINE_STACK UINT32_C(32768)

enum machine_record_kind {
    MACHINE_OTHER, /* of no interest */
    MACHINE_SAMPLE,
    MACHINE_CAPTURE, /* what an interpreter goes on from (bpf/capture_layout.h) */
    MACHINE_WALK, /* a sample whose stack the kernel has walked, or why it has not */
    MACHINE_END,  /* a wait is over */
    MACHINE_MAP, /* to be executed */
    MACHINE_COMM,
    MACHINE_FORK,
    MACHINE_EXIT,
    MACHINE_LOST,
    MACHINE_THROTTLE,
};

struct machine_record {
    enum machine_record_kind kind;
    uint64_t time;       /* CLOCK_MONOTONIC */
    int32_t pid, tid;    /* -1: of a thread that is nearly over */
    int32_t ppid;        /* FORK */
    bool exec;           /* COMM: the process executes another program */
    const char *name;    /* COMM, MAP: a path, "[vdso]", "//anon"; NUL-terminated */
    uint64_t lo, hi, offset, dev, ino; /* MAP */
    uint64_t lost;       /* LOST */
    /* SAMPLE. Of the kernel's stack: the interrupted instruction, then return addresses; may be
     * empty, and hold markers (addresses of -4095 and above). */
    const uint64_t *kernel;
    uint64_t kernel_count;
    uint64_t abi; /* enum perf_sample_regs_abi; NONE: the thread has no user part */
    struct unwind_regs regs;
    const uint8_t *stack;
    uint64_t stack_size;
    bool stack_cut; /* the piece is as large as was asked for: there may be more */
    /* WALK; the kernel's part as above. SAMPLE of a wait: DONE: nothing is wanted. */
    enum walk_subject subject;
    enum walk_reason reason;
    uint64_t identity, at; /* as in struct walk_record */
    uint32_t walk_ns;
    const uint64_t *user;
    uint32_t user_count;
    /* CAPTURE: a struct capture_record with as many words as it says; not aligned. */
    const void *capture;
    size_t capture_size;
    /* Of a wait: END, and SAMPLE and WALK of subjects other than the CPU. pid and tid of a WAKE are
     * the waker's. */
    int32_t waiter_pid, waiter_tid;
    uint64_t begun;
    uint32_t odds; /* it stands for so many */
    uint64_t blocked_ns, ready_ns; /* END */
};

enum { MACHINE_RECORD_MOST = 1 << 16 }; /* bytes */

/* False: it makes no sense. `size` is that of the whole record, its header included. */
bool machine_record_read(const void *bytes, size_t size, struct machine_record *out);
/* The kernel leaves room for all of the stack that was asked for. Takes out what it has not filled
 * of the record that was read from these bytes, and is invalid then. The new size. */
size_t machine_record_pack(void *bytes, size_t size, const struct machine_record *r);
/* The head of a record with a walk_piece of so many bytes, up to and with its size: written to
 * `to`, which has room for MACHINE_RAW_HEAD. */
enum { MACHINE_RAW_HEAD = 28 };
void machine_record_head(void *to, int32_t pid, int32_t tid, uint64_t time, size_t piece);

#endif
