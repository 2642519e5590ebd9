#include "collector/attach/attach_safe.h"

#include <linux/rseq.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/user.h>

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

enum { STACK_MOST = 1 << 20, HANDLERS_MOST = 8, CODE_SEGMENT = 0x33, CHUNK = 1 << 16,
       PAGE = 4096 };

/* Calls that wait for somebody else, or move data. Neither malloc nor the loader makes them, except
 * for reads inside the loader's own code. */
static const uint16_t waiting_calls[] = {
    SYS_read, SYS_write, SYS_poll, SYS_pread64, SYS_pwrite64, SYS_readv, SYS_writev, SYS_select,
    SYS_pause, SYS_nanosleep, SYS_sendfile, SYS_connect, SYS_accept, SYS_sendto, SYS_recvfrom,
    SYS_sendmsg, SYS_recvmsg, SYS_wait4, SYS_semop, SYS_msgsnd, SYS_msgrcv, SYS_fsync,
    SYS_fdatasync, SYS_rt_sigtimedwait, SYS_rt_sigsuspend, SYS_io_getevents, SYS_restart_syscall,
    SYS_semtimedop, SYS_clock_nanosleep, SYS_epoll_wait, SYS_waitid, SYS_mq_timedsend,
    SYS_mq_timedreceive, SYS_pselect6, SYS_ppoll, SYS_splice, SYS_epoll_pwait, SYS_accept4,
    SYS_preadv, SYS_pwritev, SYS_recvmmsg, SYS_sendmmsg, SYS_io_uring_enter, SYS_copy_file_range,
    SYS_epoll_pwait2,
};

static bool is_waiting_call(uint64_t number)
{
    for (size_t i = 0; i < sizeof waiting_calls / sizeof waiting_calls[0]; i++)
        if (waiting_calls[i] == number)
            return true;
    return false;
}

/* The address of the first occurrence of `code` in the executable mapping m. */
static uint64_t code_find(int mem, const struct attach_map *m, const uint8_t *code, size_t size)
{
    uint8_t *buffer = malloc(CHUNK);
    uint64_t found = 0;
    for (uint64_t at = m->lo; buffer && !found && at + size <= m->hi; at += CHUNK - size) {
        size_t n = m->hi - at < CHUNK ? (size_t)(m->hi - at) : CHUNK;
        const uint8_t *hit = attach_read(mem, at, buffer, n) ? memmem(buffer, n, code, size) : NULL;
        if (hit)
            found = at + (uint64_t)(hit - buffer);
    }
    free(buffer);
    return found;
}

bool attach_landmarks_find(struct attach_landmarks *l, const struct attach_maps *maps, int mem)
{
    /* mov $15,%rax; syscall: rt_sigreturn */
    static const uint8_t restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    static const uint8_t call[] = {0x0f, 0x05, 0xc3}; /* syscall; ret */
    *l = (struct attach_landmarks){.maps = maps, .mem = mem};
    if (!attach_libc_find(&l->glibc, maps, mem))
        return false;
    for (size_t i = 0; i < maps->count; i++) {
        const struct attach_map *m = &maps->list[i];
        if (!attach_image_has_code(&l->glibc.libc, m))
            continue;
        if (!l->restorer)
            l->restorer = code_find(mem, m, restorer, sizeof restorer);
        if (!l->syscall)
            l->syscall = code_find(mem, m, call, sizeof call);
    }
    return l->syscall != 0;
}

static bool is_libc(const struct attach_landmarks *l, const struct attach_map *m)
{
    return attach_maps_same_file(m, l->glibc.libc.code);
}

static bool is_loader(const struct attach_landmarks *l, const struct attach_map *m)
{
    return attach_maps_same_file(m, l->glibc.loader.code);
}

/* Whether the image of m defines malloc: then its locks are in its own code. */
static bool is_allocator(const struct attach_landmarks *l, const struct attach_map *m)
{
    struct attach_image image;
    return attach_image_around(&image, l->maps, l->mem, m) &&
           attach_function(l->mem, &image, l->maps, "malloc") != 0;
}

static bool is_safe_code(const struct attach_landmarks *l, uint64_t pc)
{
    const struct attach_map *m = attach_maps_at(l->maps, pc);
    if (!m || is_libc(l, m) || is_loader(l, m) || m->name[0] == '[')
        return false;
    if (!strncmp(m->name, "libpenumbra-rt", 14))
        return false;
    return !m->inode || !is_allocator(l, m);
}

/* A restartable sequence must not be left and entered again. */
static bool in_sequence(const struct attach_landmarks *l, pid_t tid, uint64_t pc)
{
    struct { uint64_t address; uint32_t size, signature, flags, pad; } where = {0};
    struct { uint32_t version, flags; uint64_t start, length, abort; } sequence;
    uint64_t current = 0;
    if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof where, &where) <= 0 || !where.address ||
        !attach_read(l->mem, where.address + 8, &current, sizeof current) || !current ||
        !attach_read(l->mem, current, &sequence, sizeof sequence))
        return false;
    return pc - sequence.start < sequence.length;
}

/* What the kernel puts on the stack for a handler: return address, ucontext (asm/ucontext.h). */
struct signal_frame {
    uint64_t restorer, flags, link;
    uint64_t stack[3];
    uint64_t registers[23]; /* as gregset_t */
};

/* Whether signal handlers return to this address. A libc of another namespace has the same code at
 * another page. */
static bool is_restorer(const struct attach_landmarks *l, uint64_t address)
{
    if ((address - l->restorer) % PAGE)
        return false;
    const struct attach_map *m = attach_maps_at(l->maps, address), *code = l->glibc.libc.code;
    return m && m->executable && is_libc(l, m) &&
           m->offset + (address - m->lo) == code->offset + (l->restorer - code->lo);
}

/* The context that the next handler frame from *stack upwards interrupted. False: there is none. */
static bool next_handler(const struct attach_landmarks *l, uint64_t *stack, uint64_t *pc)
{
    const struct attach_map *m = attach_maps_at(l->maps, *stack);
    if (!m || !l->restorer)
        return false;
    uint64_t lo = *stack & ~UINT64_C(7), size = m->hi - lo < STACK_MOST ? m->hi - lo : STACK_MOST;
    uint64_t *words = malloc(size);
    bool found = false;
    size = words && attach_read(l->mem, lo, words, size) ? size : 0;
    for (size_t i = 0; !found && (i * 8) + sizeof(struct signal_frame) <= size; i++) {
        struct signal_frame frame;
        if (!is_restorer(l, words[i]))
            continue;
        memcpy(&frame, &words[i], sizeof frame);
        found = frame.flags < 16 && (frame.registers[REG_CSGSFS] & 0xffff) == CODE_SEGMENT;
        *stack = found ? frame.registers[REG_RSP] : *stack;
        *pc = found ? frame.registers[REG_RIP] : *pc;
    }
    free(words);
    return found;
}

bool attach_is_safe(const struct attach_landmarks *l, pid_t tid, bool patient)
{
    struct user_regs_struct regs;
    if (ptrace(PTRACE_GETREGS, tid, NULL, &regs))
        return false;
    const struct attach_map *m = attach_maps_at(l->maps, regs.rip);
    bool in_call = (long)regs.orig_rax >= 0;
    bool waits = in_call && m && !is_loader(l, m) &&
                 (is_waiting_call(regs.orig_rax) || (patient && regs.orig_rax == SYS_futex));
    if (!waits && (in_call || !is_safe_code(l, regs.rip) || in_sequence(l, tid, regs.rip)))
        return false;
    uint64_t stack = regs.rsp, pc = 0;
    for (unsigned i = 0; i < HANDLERS_MOST; i++) {
        if (!next_handler(l, &stack, &pc))
            return true;
        if (!is_safe_code(l, pc))
            return false;
    }
    return false;
}
