/* Memory that the program takes from the kernel itself: arenas of its own, and of allocators that
 * are part of it. Such a mapping is an allocation, in the context that made it. What an allocator
 * maps whose functions are counted is not: it would be counted twice. libc's own calls do not come
 * here. Reservations are not memory yet: those without access, or with MAP_NORESERVE. */
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/interpose/heap_count.h"
#include "runtime/interpose/real.h"

static inline void *mapped(void *at, size_t size, const void *caller)
{
    if (heap_is_allocator(caller))
        return at;
    __atomic_fetch_add(&guest.process->heap.mapped, size, __ATOMIC_RELAXED);
    __atomic_fetch_add(&guest.process->heap.mappings, 1, __ATOMIC_RELAXED);
    return heap_gave(at, size);
}

static bool counts(void)
{
    return rt_profiled_as() && sync_wants(TRIGGER_MALLOC);
}

static bool is_memory(int protection, int flags)
{
    return flags & MAP_ANONYMOUS && protection & PROT_WRITE && !(flags & MAP_NORESERVE);
}

static inline void *map(void *at, size_t size, int protection, int flags, int fd, off64_t offset,
                        const void *caller)
{
    void *result = REAL(mmap64)(at, size, protection, flags, fd, offset);
    return result != MAP_FAILED && is_memory(protection, flags) && counts()
               ? mapped(result, size, caller)
               : result;
}

EXPORT void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset)
{
    return map(at, size, protection, flags, fd, offset, __builtin_return_address(0));
}

/* With 64-bit offsets <sys/mman.h> gives the name `mmap` to mmap64. */
EXPORT void *mmap_plain(void *at, size_t size, int protection, int flags, int fd,
                        off64_t offset) __asm__("mmap");
void *mmap_plain(void *at, size_t size, int protection, int flags, int fd, off64_t offset)
{
    return map(at, size, protection, flags, fd, offset, __builtin_return_address(0));
}

EXPORT int munmap(void *at, size_t size)
{
    struct heap_sampled before = counts() ? heap_takes(at) : (struct heap_sampled){0, 0};
    int result = REAL(munmap)(at, size);
    if (result != 0 && before.cell)
        heap_table_restore(at, before);
    return result;
}

EXPORT void *sbrk(intptr_t change)
{
    void *before = REAL(sbrk)(change);
    return change > 0 && before != (void *)-1 && counts()
               ? mapped(before, (size_t)change, __builtin_return_address(0)) : before;
}
