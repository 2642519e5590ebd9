#include "runtime/input/input_log.h"

#include <asm-generic/errno-base.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "runtime/input/input_calls.h"
#include "runtime/runtime.h"
#include "sigsafe/own_memory.h"
#include "sigsafe/sys.h"

enum { SPINS = 400 };

/* A record is written by whoever has the lock: stamp 0, its place in `bytes` taken, the record, the
 * bytes, and at last its stamp. So a reader that finds the same stamp before and after, and its
 * place not taken again, has read it whole. */
struct input_log {
    uint32_t lock;  /* atomic: a thread of the program is writing */
    int32_t pid;    /* whose it is */
    uint64_t count; /* atomic: records so far; the last INPUT_RECORDS of them are there */
    uint64_t taken; /* atomic: bytes so far; the last INPUT_BYTES of them are there */
    struct {
        uint64_t stamp; /* atomic: 1 + which record this is; 0: being written */
        struct input_record record;
    } at[INPUT_RECORDS];
    uint8_t bytes[INPUT_BYTES];
};

bool input_wanted, input_numbered;
_Thread_local struct input_request input_now __attribute__((tls_model("initial-exec")));

static struct input_log *log;

static void copy(void *to, const void *from, uint64_t size)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

/* Between the ring and a vector, `size` bytes at most. How many. */
static uint64_t vector_move(uint64_t at, const struct iovec *vector, uint64_t count, uint64_t size,
                            bool into_log)
{
    uint64_t begin = at;
    for (uint64_t i = 0; i < count && size; i++) {
        uint8_t *program = vector[i].iov_base;
        uint64_t left = vector[i].iov_len < size ? vector[i].iov_len : size;
        size -= left;
        while (left) {
            uint64_t place = at % INPUT_BYTES, room = INPUT_BYTES - place;
            uint64_t now = left < room ? left : room;
            copy(into_log ? log->bytes + place : program, into_log ? program : log->bytes + place,
                 now);
            program += now;
            at += now;
            left -= now;
        }
    }
    return at - begin;
}

static void move(uint64_t at, const struct input_call *call, uint64_t size, bool into_log)
{
    uint64_t moved = vector_move(at, call->to, call->pieces, size, into_log);
    vector_move(at + moved, call->more, call->more_pieces, size - moved, into_log);
}

/* ---- the program ---- */

bool input_log_wanted_as(void)
{
    return log && rt_running_as() && !rt_quiet_as() && input_wanted &&
           __atomic_load_n(&spool_header(&guest.spool)->shadows_active, __ATOMIC_RELAXED) != 0;
}

/* Shadows read files for themselves. */
static bool is_file_as(int32_t fd)
{
    struct stat status;
    return sys_call3_as(SYS_fstat, fd, (long)&status, 0) == 0 &&
           (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
}

/* Whoever cannot have the lock (it is held by a thread that does not run now, or by this one
 * outside of the signal handler that it is in) leaves its record out. */
static bool lock_as(void)
{
    for (int i = 0; i < SPINS; i++) {
        if (!__atomic_exchange_n(&log->lock, 1, __ATOMIC_ACQUIRE))
            return true;
        __builtin_ia32_pause();
    }
    return false;
}

void input_log_add_as(const struct input_call *of, int64_t result)
{
    if (is_file_as(of->wanted.fd))
        return;
    uint64_t kept = input_call_size(of, result);
    bool left_out =
        kept > INPUT_LARGEST || of->unknown || (result >= 0 && of->control && *of->control);
    int32_t tid = (int32_t)sys_call3_as(SYS_gettid, 0, 0, 0);
    /* a shadow may have been forked in these calls: there it is over */
    if (!input_log_wanted_as() || !lock_as())
        return;
    uint64_t which = log->count, at = log->taken;
    uint64_t *stamp = &log->at[which % INPUT_RECORDS].stamp;
    struct input_record *record = &log->at[which % INPUT_RECORDS].record;
    if (left_out)
        kept = 0;
    __atomic_store_n(stamp, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&log->taken, at + kept, __ATOMIC_SEQ_CST);
    record->request = of->wanted;
    record->result = result;
    record->at = at;
    record->kept = (uint32_t)kept;
    record->left_out = left_out;
    record->tid = tid;
    move(at, of, kept, true);
    __atomic_store_n(stamp, which + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&log->count, which + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&log->lock, 0, __ATOMIC_RELEASE);
}

/* ---- the monitor and shadows ---- */

void input_log_need_as(void)
{
    if (log || !input_numbered)
        return;
    long made = own_map_as(0, sizeof *log, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
    if (sys_failed(made))
        return;
    sys_call3_as(SYS_madvise, made, sizeof *log, MADV_DONTDUMP);
    ((struct input_log *)made)->pid = (int32_t)sys_call3_as(SYS_getpid, 0, 0, 0);
    __atomic_store_n(&log, (struct input_log *)made, __ATOMIC_RELEASE);
}

uint64_t input_log_position_as(void)
{
    return log ? __atomic_load_n(&log->count, __ATOMIC_ACQUIRE) : 0;
}

bool input_log_get_as(uint64_t position, struct input_record *record, const struct input_call *to)
{
    const uint64_t *stamp = &log->at[position % INPUT_RECORDS].stamp;
    if (__atomic_load_n(stamp, __ATOMIC_ACQUIRE) != position + 1)
        return false;
    *record = log->at[position % INPUT_RECORDS].record;
    /* kept and at may not be used before they are known to be whole */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(stamp, __ATOMIC_RELAXED) != position + 1)
        return false;
    if (!to)
        return true;
    move(record->at, to, record->kept, false);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return __atomic_load_n(&log->taken, __ATOMIC_RELAXED) - record->at <= INPUT_BYTES;
}

/* Where the process is the same one, another thread may be writing. */
void input_log_forget(void)
{
    struct input_log *mine = log;
    if (!mine || mine->pid == (int32_t)sys_call3_as(SYS_getpid, 0, 0, 0))
        return;
    log = NULL;
    own_unmap_as(mine, sizeof *mine);
}
