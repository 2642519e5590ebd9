/* Memory: mappings, protections, locks, and code that is written, rewritten and executed. */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef SYS_mseal
#define SYS_mseal 462
#endif

struct range {
    uint8_t *at;
    size_t size;
};

/* In the arena; at times it is none that the kernel takes. */
static struct range range_draw(struct draw *d)
{
    unsigned page = draw(d, ARENA_PAGES - 8);
    struct range r = {ARENA + page * PAGE, (1 + draw(d, 8)) * PAGE};
    unsigned bad = draw(d, 24);
    say(" %u+%zu", page, r.size / PAGE);
    if (bad == 0)
        r.at++;
    else if (bad == 1)
        r.size = 0;
    else if (bad == 2)
        r.size = ~UINT64_C(0) - 100;
    else if (bad == 3)
        r.size -= 5;
    if (bad < 4)
        say(" bad %u", bad);
    return r;
}

static const int protections[] = {PROT_READ | PROT_WRITE,
                                  PROT_READ | PROT_WRITE,
                                  PROT_READ | PROT_WRITE | PROT_EXEC,
                                  PROT_READ,
                                  PROT_NONE,
                                  PROT_EXEC,
                                  PROT_READ | PROT_EXEC,
                                  PROT_WRITE,
                                  0x100};

static void op_map(struct draw *d, struct script *s)
{
    static const int flags[] = {0,          0,         MAP_NORESERVE, MAP_POPULATE,
                                MAP_LOCKED, MAP_STACK, MAP_GROWSDOWN};
    static const int kinds[] = {MAP_PRIVATE, MAP_PRIVATE, MAP_SHARED, MAP_SHARED, 0};
    struct range r = range_draw(d);
    int protection = PICK(d, protections), kind = PICK(d, kinds) | PICK(d, flags), fd = -1;
    (void)s;
    if (draw(d, 3))
        kind |= MAP_ANONYMOUS;
    else if ((fd = memfd_create("random", MFD_CLOEXEC)) >= 0 && ftruncate(fd, 16 * PAGE) != 0)
        say(" (no file)");
    kind |= draw(d, 5) ? MAP_FIXED : MAP_FIXED_NOREPLACE;
    say(" %d %x", protection, (unsigned)kind);
    if (draw(d, 4))
        said_address(mmap(r.at, r.size, protection, kind, fd, 0));
    else
        said_address(
            (void *)syscall(SYS_mmap, r.at, r.size, (long)protection, (long)kind, (long)fd, 0L));
    if (fd >= 0)
        close(fd);
}

/* Anywhere: where the kernel likes. */
static void op_anywhere(struct draw *d, struct script *s)
{
    size_t size = (1 + draw(d, 300)) * PAGE;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (draw(d, 4) ? 0 : MAP_32BIT);
    (void)s;
    say(" %zu %x", size / PAGE, (unsigned)flags);
    uint8_t *at = said_address(mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0));
    if (at == MAP_FAILED)
        return;
    memset(at, 7, size);
    size_t more = size + draw(d, 100) * PAGE;
    uint8_t *moved = said_address(mremap(at, size, more, MREMAP_MAYMOVE));
    if (moved != MAP_FAILED) {
        say(" %d", moved[size - 1]);
        said(mprotect(moved, PAGE, PROT_READ));
        said(munmap(moved, more));
    }
}

static void op_unmap(struct draw *d, struct script *s)
{
    struct range r = range_draw(d);
    (void)s;
    said(munmap(r.at, r.size));
}

static void op_protect(struct draw *d, struct script *s)
{
    struct range r = range_draw(d);
    int protection = PICK(d, protections);
    unsigned way = draw(d, 5);
    (void)s;
    say(" %d way %u", protection, way);
    if (way == 0)
        said(syscall(SYS_mprotect, r.at, r.size, (long)protection));
    else if (way == 1)
        said(pkey_mprotect(r.at, r.size, protection, -1));
    else
        said(mprotect(r.at, r.size, protection));
}

static void op_remap(struct draw *d, struct script *s)
{
    static const int flags[] = {0, MREMAP_MAYMOVE | MREMAP_FIXED, MREMAP_MAYMOVE | MREMAP_FIXED,
                                MREMAP_FIXED, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP};
    struct range from = range_draw(d), to = range_draw(d);
    int flag = PICK(d, flags);
    (void)s;
    say(" flags %x", (unsigned)flag);
    said_address(
        mremap(from.at, from.size, flag & MREMAP_DONTUNMAP ? from.size : to.size, flag, to.at));
}

static void op_advise(struct draw *d, struct script *s)
{
    static const int advice[] = {MADV_NORMAL,
                                 MADV_RANDOM,
                                 MADV_SEQUENTIAL,
                                 MADV_WILLNEED,
                                 MADV_DONTNEED,
                                 MADV_DONTNEED,
                                 MADV_REMOVE,
                                 MADV_DONTFORK,
                                 MADV_DOFORK,
                                 MADV_WIPEONFORK,
                                 MADV_KEEPONFORK,
                                 MADV_DONTDUMP,
                                 MADV_DODUMP,
                                 MADV_HUGEPAGE,
                                 MADV_NOHUGEPAGE,
                                 MADV_COLD,
                                 22,
                                 23,
                                 77,
                                 -1};
    struct range r = range_draw(d);
    int which = PICK(d, advice);
    (void)s;
    say(" %d", which);
    said(madvise(r.at, r.size, which));
}

static void op_lock(struct draw *d, struct script *s)
{
    struct range r = range_draw(d);
    unsigned way = draw(d, 9), flags = draw(d, 4);
    (void)s;
    say(" way %u", way);
    switch (way) {
    case 0: said(mlock2(r.at, r.size, flags)); break;
    case 1: said(mlockall(draw(d, 2) ? MCL_CURRENT : MCL_CURRENT | MCL_ONFAULT)); break;
    case 2: said(mlockall((int)(MCL_FUTURE | draw(d, 2)))); break;
    case 3: said(munlockall()); break;
    case 4:
    case 5: said(munlock(r.at, r.size)); break;
    case 6: said(msync(r.at, r.size, (int)draw(d, 8))); break;
    default: said(mlock(r.at, r.size));
    }
}

/* ---- touching ---- */

static void touch_read(void *at)
{
    say(" %d", *(volatile uint8_t *)at);
}

static void touch_write(void *at)
{
    (*(volatile uint8_t *)at)++;
}

static void op_touch(struct draw *d, struct script *s)
{
    unsigned page = draw(d, ARENA_PAGES), count = 1 + draw(d, 3);
    bool writes = draw(d, 2);
    for (unsigned i = 0; i < count && page + i < ARENA_PAGES && !s->shares; i++) {
        say(" %s %u", writes ? "write" : "read", page + i);
        if (!fault_try(writes ? touch_write : touch_read, ARENA + (page + i) * PAGE + i, SIGSEGV))
            say(" faults");
    }
}

/* With calls that tell of bad memory. */
static void op_look(struct draw *d, struct script *s)
{
    struct range r = range_draw(d);
    uint8_t resident[16], bytes[64] = {0};
    unsigned way = draw(d, 4);
    struct iovec mine = {bytes, sizeof bytes}, theirs = {r.at, sizeof bytes};
    (void)s;
    say(" way %u", way);
    if (way == 0)
        said(mincore(r.at, r.size, resident));
    else if (way == 1)
        said(process_vm_readv(getpid(), &mine, 1, &theirs, 1, 0));
    else if (way == 2)
        said(process_vm_writev(getpid(), &mine, 1, &theirs, 1, 0));
    else
        said(syscall(SYS_getcwd, r.at, 64L));
}

/* ---- code ---- */

enum { CODE = 6 };

static void code_write(uint8_t *at, uint32_t value)
{
    uint8_t code[CODE] = {0xb8, 0, 0, 0, 0, 0xc3}; /* mov $value, %eax; ret */
    memcpy(code + 1, &value, sizeof value);
    memcpy(at, code, CODE);
}

static void code_call(void *at)
{
    int (*f)(void);
    memcpy(&f, &at, sizeof f);
    say(" %d", f());
}

/* Whatever is there. */
static void code_there(void *argument)
{
    const uint8_t *at = argument;
    if (at[0] == 0xb8 && at[5] == 0xc3)
        code_call(argument);
    else
        say(" no code");
}

static void op_code(struct draw *d, struct script *s)
{
    unsigned page = draw(d, ARENA_PAGES), value = draw(d, 1000), way = draw(d, 6);
    uint8_t *at = ARENA + page * PAGE + draw(d, 64) * 16;
    say(" page %u way %u", page, way);
    if (s->shares)
        return;
    if (way == 0) {
        say(" %s", fault_try(code_there, at, SIGSEGV) ? "fine" : "faults");
        return;
    }
    int after = way == 1   ? PROT_READ | PROT_EXEC
                : way == 2 ? PROT_EXEC | PROT_WRITE
                           : PROT_READ | PROT_WRITE | PROT_EXEC;
    int kind = way == 3 ? MAP_SHARED : MAP_PRIVATE;
    mmap(ARENA + page * PAGE, PAGE, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS | MAP_FIXED, -1,
         0);
    code_write(at, value);
    said(mprotect(ARENA + page * PAGE, PAGE, after));
    code_call(at);
    if (after & PROT_WRITE)
        code_write(at, value + 1);
    else if (draw(d, 2))
        mmap(ARENA + page * PAGE, PAGE, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS | MAP_FIXED,
             -1, 0);
    say(" %s", fault_try(code_there, at, SIGSEGV) ? "fine" : "faults");
}

/* Written through another mapping, or by the kernel. */
static void op_code_twice(struct draw *d, struct script *s)
{
    unsigned page = draw(d, ARENA_PAGES - 1), value = draw(d, 1000), way = draw(d, 3);
    uint8_t *runs = ARENA + page * PAGE, *writes = runs + PAGE, code[CODE];
    int fd = memfd_create("code", MFD_CLOEXEC);
    say(" page %u way %u", page, way);
    if (s->shares || fd < 0 || ftruncate(fd, PAGE) != 0)
        return;
    mmap(writes, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    code_write(writes, value);
    mmap(runs, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, 0);
    code_call(runs);
    code_write(code, value + 1);
    if (way == 0)
        memcpy(writes, code, CODE);
    else if (way == 1)
        said(pwrite(fd, code, CODE, 0));
    else
        said(syscall(SYS_pwrite64, (long)fd, code, (long)CODE, 0L));
    code_call(runs);
    close(fd);
}

static void op_break(struct draw *d, struct script *s)
{
    long pages = (long)draw(d, 20) - 2;
    (void)s;
    if (pages < 0)
        pages = 0;
    uint8_t *before = sbrk(0);
    say(" %ld %s", pages, sbrk(pages * PAGE) == before ? "grown" : "refused");
    if (sbrk(0) == before + pages * PAGE && pages)
        before[pages * PAGE - 1] = 1;
    say(" %s", sbrk(-pages * PAGE) == (void *)-1 ? "refused" : "shrunk");
}

/* Answers of the machine and the kernel, which are the same every time. */
static void op_machine(struct draw *d, struct script *s)
{
    unsigned way = draw(d, 5);
    (void)s;
    say(" way %u", way);
    if (way == 0) {
        said(syscall(SYS_membarrier, (long)draw(d, 10), 0L, 0L));
    } else if (way == 1) {
        int key = (int)said(pkey_alloc(draw(d, 4) ? 0 : 99, draw(d, 2)));
        said(pkey_free(key));
    } else if (way == 2) {
        long fd = syscall(SYS_userfaultfd, draw(d, 4) ? (long)(O_CLOEXEC | O_NONBLOCK | 1) : 99L);
        say(" %s %d", fd < 0 ? "none" : "opened", fd < 0 ? errno : 0);
        if (fd >= 0)
            close((int)fd);
    } else if (way == 3) {
        struct range r = range_draw(d);
        struct iovec part = {r.at, r.size};
        said(syscall(SYS_process_madvise, -1L, &part, 1L, 20L, 0L));
    } else {
        said(syscall(SYS_mseal, ARENA + 200 * PAGE, (long)PAGE, draw(d, 2) ? 0L : 9L));
    }
}

const struct operation memory_operations[] = {
    {"machine", op_machine, 4},
    {"map", op_map, 24},
    {"anywhere", op_anywhere, 4},
    {"unmap", op_unmap, 10},
    {"protect", op_protect, 16},
    {"remap", op_remap, 10},
    {"advise", op_advise, 10},
    {"lock", op_lock, 10},
    {"touch", op_touch, 16},
    {"look", op_look, 8},
    {"code", op_code, 14},
    {"code_twice", op_code_twice, 6},
    {"break", op_break, 3},
    {NULL, NULL, 0},
};
