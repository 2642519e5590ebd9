#include "collector/machine/machine_record.h"

#include <string.h>
#include <sys/sysmacros.h>

enum { SIDE_ID_SIZE = 16 };

/* Reads from [at, end); once it fails, all later reads do. */
struct reader {
    const uint8_t *at, *end;
    bool ok;
};

static const void *take(struct reader *r, uint64_t size)
{
    const uint8_t *at = r->at;
    if (!r->ok || size > (uint64_t)(r->end - r->at)) {
        r->ok = false;
        return NULL;
    }
    r->at += size;
    return at;
}

static uint64_t take_u64(struct reader *r)
{
    uint64_t value = 0;
    const void *at = take(r, sizeof value);
    if (at)
        memcpy(&value, at, sizeof value);
    return value;
}

static int32_t take_i32(struct reader *r)
{
    int32_t value = 0;
    const void *at = take(r, sizeof value);
    if (at)
        memcpy(&value, at, sizeof value);
    return value;
}

/* What follows, up to the id at the end, is a NUL-terminated string. */
static const char *take_name(struct reader *r)
{
    const char *name = (const char *)r->at;
    size_t most = (size_t)(r->end - r->at);
    r->ok = r->ok && memchr(name, 0, most);
    return r->ok ? name : "";
}

/* By the bits of MACHINE_REGISTERS, from the lowest. */
static const uint8_t register_of[] = {UNWIND_RAX, UNWIND_RBX, UNWIND_RCX, UNWIND_RDX, UNWIND_RSI,
                                      UNWIND_RDI, UNWIND_RBP, UNWIND_RSP, UNWIND_RIP, UNWIND_R8,
                                      UNWIND_R9,  UNWIND_R10, UNWIND_R11, UNWIND_R12, UNWIND_R13,
                                      UNWIND_R14, UNWIND_R15};

static void take_registers(struct reader *r, struct machine_record *out)
{
    for (size_t i = 0; i < sizeof register_of; i++)
        out->regs.r[register_of[i]] = take_u64(r);
}

static void read_user(struct reader *r, struct machine_record *out)
{
    out->abi = take_u64(r);
    if (out->abi != PERF_SAMPLE_REGS_ABI_NONE)
        take_registers(r, out);
    uint64_t asked = take_u64(r);
    out->stack = take(r, asked);
    out->stack_size = asked ? take_u64(r) : 0;
    r->ok = r->ok && out->stack_size <= asked;
    out->stack_cut = out->stack_size == MACHINE_STACK;
}

static void take_wait(struct machine_record *out, const struct walk_head *h)
{
    out->subject = (enum walk_subject)h->subject;
    out->reason = (enum walk_reason)h->reason;
    out->identity = h->identity;
    out->at = h->at;
    out->walk_ns = h->ns;
    out->waiter_pid = h->pid;
    out->waiter_tid = h->tid;
    out->begun = h->begun;
    out->odds = h->odds;
}

static bool take_head(struct reader *r, struct walk_head *h, struct machine_record *out)
{
    const void *at = take(r, sizeof *h);
    if (!at)
        return false;
    memcpy(h, at, sizeof *h);
    take_wait(out, h);
    r->ok = h->reason < WALK_REASONS && h->subject < WALK_SUBJECTS;
    return r->ok;
}

static void read_walk(struct reader *r, struct machine_record *out)
{
    struct walk_head h;
    out->kind = MACHINE_WALK;
    if (!take_head(r, &h, out))
        return;
    out->user_count = h.user;
    out->kernel_count = h.kernel;
    out->user = take(r, h.user * sizeof *out->user);
    out->kernel = take(r, h.kernel * sizeof *out->kernel);
}

/* The stack is followed by what aligns records. */
static void read_piece(struct reader *r, struct machine_record *out)
{
    struct walk_head h;
    if (!take_head(r, &h, out))
        return;
    out->abi = (uint32_t)take_i32(r);
    out->stack_size = (uint32_t)take_i32(r);
    take_registers(r, out);
    out->kernel = take(r, WALK_KERNEL * sizeof *out->kernel);
    out->kernel_count = h.kernel;
    out->stack = take(r, out->stack_size);
    out->stack_cut = out->stack_size == WALK_PIECE;
    r->ok = r->ok && out->stack_size <= WALK_PIECE && h.kernel <= WALK_KERNEL &&
            out->abi <= PERF_SAMPLE_REGS_ABI_64 && out->subject != WALK_CPU;
}

static void read_end(struct reader *r, struct machine_record *out)
{
    struct wait_end end;
    const void *at = take(r, sizeof end);
    out->kind = MACHINE_END;
    if (!at)
        return;
    memcpy(&end, at, sizeof end);
    out->waiter_pid = end.pid;
    out->waiter_tid = end.tid;
    out->begun = end.begun;
    out->odds = end.odds;
    out->blocked_ns = end.blocked_ns;
    out->ready_ns = end.ready_ns;
}

/* Of the program that captures. */
static void read_capture(struct reader *r, struct machine_record *out)
{
    struct capture_record c;
    size_t head = offsetof(struct capture_record, word);
    const void *at = take(r, head);
    out->kind = MACHINE_CAPTURE;
    out->capture = at;
    if (!at)
        return;
    memcpy(&c, at, head);
    r->ok = c.words <= CAPTURE_STEPS && c.code <= CAPTURE_CODE && c.stack <= CAPTURE_STACK;
    out->capture_size = head + c.words * sizeof(struct capture_word);
    take(r, c.words * sizeof(struct capture_word));
}

/* What the BPF programs have written, behind the size of it. False: it is none of theirs. */
static bool read_raw(struct reader *r, uint64_t first, struct machine_record *out)
{
    static const struct {
        uint32_t magic;
        void (*read)(struct reader *r, struct machine_record *out);
    } kinds[] = {{WALK_MAGIC, read_walk},
                 {PIECE_MAGIC, read_piece},
                 {END_MAGIC, read_end},
                 {CAPTURE_MAGIC, read_capture}};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (first >> 32 == kinds[i].magic) {
            r->at -= sizeof(uint32_t);
            kinds[i].read(r, out);
            return true;
        }
    return false;
}

static void read_sample(struct reader *r, struct machine_record *out)
{
    out->pid = take_i32(r);
    out->tid = take_i32(r);
    out->time = take_u64(r);
    uint64_t first = take_u64(r);
    if (read_raw(r, first, out))
        return;
    out->kernel_count = first;
    if (out->kernel_count > (uint64_t)(r->end - r->at) / sizeof(uint64_t))
        r->ok = false;
    else
        out->kernel = take(r, out->kernel_count * sizeof(uint64_t));
    read_user(r, out);
}

static void read_map(struct reader *r, struct machine_record *out)
{
    out->lo = take_u64(r);
    uint64_t length = take_u64(r);
    out->hi = out->lo + length;
    out->offset = take_u64(r);
    unsigned major_number = (unsigned)take_i32(r), minor_number = (unsigned)take_i32(r);
    out->dev = makedev(major_number, minor_number);
    out->ino = take_u64(r);
    take(r, 16); /* the inode's generation, protection, flags */
    out->name = take_name(r);
    r->ok = r->ok && out->lo < out->hi;
}

/* What stands in front of the id that all records but samples end with. */
static void read_side(struct reader *r, const struct perf_event_header *h,
                      struct machine_record *out)
{
    if (h->type == PERF_RECORD_LOST) {
        take_u64(r);
        out->kind = MACHINE_LOST;
        out->lost = take_u64(r);
        return;
    }
    if (h->type == PERF_RECORD_THROTTLE) {
        out->kind = MACHINE_THROTTLE;
        return;
    }
    out->pid = take_i32(r);
    bool is_life = h->type == PERF_RECORD_FORK || h->type == PERF_RECORD_EXIT;
    out->ppid = is_life ? take_i32(r) : 0;
    out->tid = take_i32(r);
    if (is_life) {
        out->kind = h->type == PERF_RECORD_FORK ? MACHINE_FORK : MACHINE_EXIT;
    } else if (h->type == PERF_RECORD_COMM) {
        out->kind = MACHINE_COMM;
        out->exec = h->misc & PERF_RECORD_MISC_COMM_EXEC;
        out->name = take_name(r);
    } else if (h->type == PERF_RECORD_MMAP2) {
        out->kind = h->misc & PERF_RECORD_MISC_MMAP_DATA ? MACHINE_OTHER : MACHINE_MAP;
        read_map(r, out);
    }
}

static bool is_read(uint32_t type)
{
    return type == PERF_RECORD_LOST || type == PERF_RECORD_THROTTLE || type == PERF_RECORD_FORK ||
           type == PERF_RECORD_EXIT || type == PERF_RECORD_COMM || type == PERF_RECORD_MMAP2;
}

bool machine_record_read(const void *bytes, size_t size, struct machine_record *out)
{
    struct perf_event_header h;
    *out = (struct machine_record){.kind = MACHINE_OTHER, .name = ""};
    if (size < sizeof h)
        return false;
    memcpy(&h, bytes, sizeof h);
    struct reader r = {(const uint8_t *)bytes + sizeof h, (const uint8_t *)bytes + size, true};
    if (h.type == PERF_RECORD_SAMPLE) {
        out->kind = MACHINE_SAMPLE;
        read_sample(&r, out);
        return r.ok;
    }
    if (!is_read(h.type))
        return true;
    if (size < sizeof h + SIDE_ID_SIZE)
        return false;
    r.end -= SIDE_ID_SIZE;
    memcpy(&out->time, r.end + 8, sizeof out->time);
    read_side(&r, &h, out);
    return r.ok;
}

size_t machine_record_pack(void *bytes, size_t size, const struct machine_record *r)
{
    uint8_t *to = bytes;
    uint64_t filled = r->stack_size;
    if (r->kind != MACHINE_SAMPLE || !r->stack || r->subject != WALK_CPU)
        return size;
    size_t at = (size_t)(r->stack - to);
    memcpy(to + at - sizeof filled, &filled, sizeof filled);
    memcpy(to + at + filled, &filled, sizeof filled);
    return at + filled + sizeof filled;
}

void machine_record_head(void *to, int32_t pid, int32_t tid, uint64_t time, size_t piece)
{
    const struct perf_event_header h = {.type = PERF_RECORD_SAMPLE,
                                        .size = (uint16_t)(MACHINE_RAW_HEAD + piece)};
    const int32_t numbers[] = {pid, tid};
    uint32_t size = (uint32_t)piece;
    uint8_t *at = to;
    memcpy(at, &h, sizeof h);
    memcpy(at + 8, numbers, sizeof numbers);
    memcpy(at + 16, &time, sizeof time);
    memcpy(at + 24, &size, sizeof size);
}
