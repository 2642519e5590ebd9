/* The trigger malloc: every function that gives or takes heap memory.
 *
 * malloc and its relatives are counted in the outermost one that the program calls. The operators
 * of C++ usually call malloc; an allocator that brings its own (jemalloc, tcmalloc) does not: an
 * operator is counted if no malloc was called inside it. What libc itself builds on malloc (strdup,
 * getline, fopen, reallocarray, ...) calls the interposed one.
 *
 * The real functions are those after ours in the order of libraries: a preloaded or linked
 * allocator works as without us. One that is in the program itself is before ours, and never calls
 * us. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "sigsafe/memory_used.h"
#include "guest/images.h"
#include "runtime/interpose/heap_count.h"
#include "runtime/interpose/heap_loaded.h"
#include "runtime/interpose/real.h"

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    void *(*memalign)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
} real;

/* What dlsym allocates while we look for the allocator. Never freed. */
static struct {
    _Alignas(16) char bytes[16384];
    size_t used;
} early;
static bool resolving;

static bool is_early(const void *p)
{
    return (const char *)p >= early.bytes && (const char *)p < early.bytes + sizeof early.bytes;
}

static void *early_alloc(size_t size)
{
    enum { ALIGN = 16 };
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (size > sizeof early.bytes - early.used)
        return NULL;
    early.used += size;
    return early.bytes + early.used - size;
}

/* The program's first allocation comes before it can have made a thread. */
static __attribute__((noinline)) bool resolve(void)
{
    if (resolving)
        return false;
    resolving = true;
    real.calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    real.realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    real.free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    real.memalign = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "memalign");
    real.posix_memalign = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
    real.aligned_alloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
    real.valloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "valloc");
    real.pvalloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "pvalloc");
    real.malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    resolving = false;
    return real.malloc;
}

static inline bool ready(void)
{
    return __builtin_expect(real.malloc != NULL, 1) || resolve();
}

void heap_sampled(const void *p)
{
    struct sync_hold hold;
    uint64_t weight = sync_enter(&hold, TRIGGER_MALLOC);
    if (!weight)
        return;
    struct cct_node *node = sync_sample(&hold, weight);
    if (node)
        heap_table_add(p, node, weight);
    sync_leave(&hold);
}

bool heap_is_allocator(const void *address)
{
    const struct unwind_index *index = images_current_as();
    const struct unwind_image *image =
        index ? unwind_index_find_as(index, (uint64_t)address) : NULL;
    return image && (unwind_index_find_as(index, (uint64_t)real.malloc) == image ||
                     heap_loaded_holds(image));
}

static void *heap_malloc(size_t size)
{
    return ready() ? heap_gave(real.malloc(size), size) : early_alloc(size);
}
EXPORT void *malloc(size_t size) __attribute__((alias("heap_malloc")));

EXPORT void *calloc(size_t count, size_t size)
{
    return ready() ? heap_gave(real.calloc(count, size), count * size) : early_alloc(count * size);
}

EXPORT void free(void *p)
{
    if (!p || is_early(p) || !ready())
        return;
    heap_takes(p);
    real.free(p);
}

/* As if it were freed and allocated anew: the whole new size counts. */
EXPORT void *realloc(void *old, size_t size)
{
    if (!ready())
        return early_alloc(size);
    if (is_early(old)) {
        size_t there = (size_t)(early.bytes + sizeof early.bytes - (char *)old);
        void *p = heap_malloc(size);
        if (p)
            memcpy(p, old, size < there ? size : there);
        return p;
    }
    struct heap_sampled before = old ? heap_takes(old) : (struct heap_sampled){0, 0};
    void *p = real.realloc(old, size);
    if (!p && size && before.cell)
        heap_table_restore(old, before);
    return heap_gave(p, size);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
    return ready() ? heap_gave(real.memalign(alignment, size), size) : NULL;
}

EXPORT int posix_memalign(void **p, size_t alignment, size_t size)
{
    if (!ready())
        return ENOMEM;
    int result = real.posix_memalign(p, alignment, size);
    if (result == 0)
        heap_gave(*p, size);
    return result;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    return ready() ? heap_gave(real.aligned_alloc(alignment, size), size) : NULL;
}

EXPORT void *valloc(size_t size)
{
    return ready() ? heap_gave(real.valloc(size), size) : NULL;
}

EXPORT void *pvalloc(size_t size)
{
    return ready() ? heap_gave(real.pvalloc(size), size) : NULL;
}

/* ---- the operators of C++ ---- Their library may have been loaded where a search from here does
 * not lead (by dlopen, with its names for its own use only): then it is looked for by its name. */

static void *find_operator(const char *name)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"};
    void *found = dlsym(RTLD_NEXT, name);
    for (unsigned i = 0; !found && i < sizeof libraries / sizeof *libraries; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        if (!library)
            continue;
        found = dlsym(library, name);
        dlclose(library);
    }
    return found;
}

#define OPERATOR(type, name)                                                                       \
    ({                                                                                             \
        static void *resolved;                                                                     \
        void *known = __atomic_load_n(&resolved, __ATOMIC_RELAXED);                             \
        if (!known) {                                                                           \
            known = find_operator(name);                                                        \
            __atomic_store_n(&resolved, known, __ATOMIC_RELAXED);                               \
        }                                                                                          \
        (type) known;                                                                           \
    })

#define NEW(name, parameters, arguments)                                                           \
    EXPORT void *name parameters;                                                                  \
    EXPORT void *name parameters                                                                   \
    {                                                                                              \
        uint64_t calls = sync_local.calls;                                                         \
        void *(*function) parameters = OPERATOR(void *(*) parameters, #name);                      \
        return heap_gave_outer(calls, function ? function arguments : heap_malloc(size), size);      \
    }
#define DELETE(name, parameters, arguments)                                                        \
    EXPORT void name parameters;                                                                   \
    EXPORT void name parameters                                                                    \
    {                                                                                              \
        void (*function) parameters = OPERATOR(void (*) parameters, #name);                        \
        if (p)                                                                                     \
            heap_takes(p);                                                                         \
        if (function)                                                                              \
            function arguments;                                                                    \
        else                                                                                       \
            free(p);                                                                               \
    }

NEW(_Znwm, (size_t size), (size))
NEW(_Znam, (size_t size), (size))
NEW(_ZnwmRKSt9nothrow_t, (size_t size, const void *tag), (size, tag))
NEW(_ZnamRKSt9nothrow_t, (size_t size, const void *tag), (size, tag))
NEW(_ZnwmSt11align_val_t, (size_t size, size_t align), (size, align))
NEW(_ZnamSt11align_val_t, (size_t size, size_t align), (size, align))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag),
    (size, align, tag))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag),
    (size, align, tag))
DELETE(_ZdlPv, (void *p), (p))
DELETE(_ZdaPv, (void *p), (p))
DELETE(_ZdlPvm, (void *p, size_t size), (p, size))
DELETE(_ZdaPvm, (void *p, size_t size), (p, size))
DELETE(_ZdlPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag))
DELETE(_ZdaPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag))
DELETE(_ZdlPvSt11align_val_t, (void *p, size_t align), (p, align))
DELETE(_ZdaPvSt11align_val_t, (void *p, size_t align), (p, align))
DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t size, size_t align), (p, size, align))
DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t size, size_t align), (p, size, align))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t align, const void *tag),
       (p, align, tag))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t align, const void *tag),
       (p, align, tag))

/* ---- the family ---- */

/* Bytes of the process's own memory when we began; UINT64_MAX: not known. */
static uint64_t private_start;

static uint64_t private_bytes(void)
{
    enum { PAGE = 4096 };
    uint64_t pages = rt_quiet_as() ? UINT64_MAX : memory_used_pages_as();
    return pages == UINT64_MAX ? pages : pages * PAGE;
}

static void begin(void)
{
    heap_table_begin();
    void *theirs = dlsym(RTLD_DEFAULT, "malloc");
    if (theirs != (void *)heap_malloc && !real_is_entry(theirs, "malloc") &&
        !guest.process->arm_error)
        guest.process->arm_error = ARM_ERROR_OWN_ALLOCATOR;
    heap_loaded_begin();
    private_start = private_bytes();
}

static void fork_child(void)
{
    heap_table_fork_child();
    private_start = private_bytes();
}

/* What the process has more of its own than at the beginning: report says how much of it was
 * seen. */
static void end(struct rt_thread *t)
{
    uint64_t now = private_start == UINT64_MAX ? UINT64_MAX : private_bytes();
    (void)t;
    if (now != UINT64_MAX && now > private_start)
        guest.process->heap.grown = now - private_start;
}

static void moved(const void *from, const void *to)
{
    struct heap_sampled before = heap_takes(from);
    if (before.cell)
        heap_table_restore(to, before);
}

static const struct sync_family heap = {1u << TRIGGER_MALLOC, begin, fork_child, end, moved};

/* Before the runtime's own constructor. */
__attribute__((constructor(101))) static void heap_family(void)
{
    sync_family_add(&heap);
}
