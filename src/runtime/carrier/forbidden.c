#include "runtime/carrier/forbidden.h"

#include "runtime/carrier/trampoline.h"
#include "runtime/image_symbols.h"
#include "sigsafe/sample_path.h"
#include "sigsafe/sys.h"

enum { RANGES_MAX = 128 };

/* Keys in [lo, hi), in any order; appended only. */
static struct {
    uint64_t lo, hi;
    enum forbidden what;
} ranges[RANGES_MAX];
static uint32_t range_count; /* atomic */

/* Functions that use their return address for more than returning: they find out who called
 * (dlopen and relatives, mcount), or let somebody return there later (setjmp, getcontext) or twice
 * (vfork). */
static const char *const functions[] = {
    "dlopen",    "dlmopen",     "dlsym",      "dlvsym", "_setjmp", "setjmp",
    "sigsetjmp", "__sigsetjmp", "getcontext", "vfork",  "__vfork", "mcount",
    "_mcount",   "__fentry__",  "__libc_dlopen_mode"};

/* Functions that leave frames behind: what is put into those now would not be met. */
static const char *const leaving[] = {"longjmp",    "_longjmp",    "siglongjmp", "__longjmp_chk",
                                      "setcontext", "swapcontext", "pthread_exit", "backtrace"};

/* Programs whose run time system walks, moves or copies stacks by itself. */
static const struct {
    const char *symbol;
    enum trampoline_state why;
} hosts[] = {
    {"JNI_CreateJavaVM", TRAMPOLINE_JVM},
    {"graal_create_isolate", TRAMPOLINE_JVM},
    {"_ZN2v87Isolate3NewERKNS0_12CreateParamsE", TRAMPOLINE_V8},
    {"node_module_register", TRAMPOLINE_V8},
    {"coreclr_initialize", TRAMPOLINE_DOTNET},
    {"mono_jit_init", TRAMPOLINE_DOTNET},
    {"caml_startup", TRAMPOLINE_OCAML},
    {"caml_main", TRAMPOLINE_OCAML},
    {"caml_start_program", TRAMPOLINE_OCAML},
    {"hs_init", TRAMPOLINE_HASKELL},
    {"hs_main", TRAMPOLINE_HASKELL},
    {"runtime_mstart", TRAMPOLINE_GO},
    {"_cgo_topofstack", TRAMPOLINE_GO},
    {"jl_gc_collect", TRAMPOLINE_JULIA},
    {"pypy_main_startup", TRAMPOLINE_PYPY},
    {"__asan_init", TRAMPOLINE_SANITIZER},
    {"__tsan_init", TRAMPOLINE_SANITIZER},
    {"__msan_init", TRAMPOLINE_SANITIZER},
    {"__hwasan_init", TRAMPOLINE_SANITIZER},
    {"__lsan_init", TRAMPOLINE_SANITIZER},
    {"__wine_main", TRAMPOLINE_WINE},
    {"wine_init", TRAMPOLINE_WINE},
};

static void range_add_as(uint64_t lo, uint64_t hi, enum forbidden what)
{
    uint32_t n = __atomic_load_n(&range_count, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < n; i++)
        if (ranges[i].lo == lo && ranges[i].hi == hi)
            return;
    if (n == RANGES_MAX) {
        trampoline_disable_as(TRAMPOLINE_UNWINDER);
        return;
    }
    ranges[n].lo = lo;
    ranges[n].hi = hi;
    ranges[n].what = what;
    __atomic_store_n(&range_count, n + 1, __ATOMIC_RELEASE);
}

SAMPLE_PATH
enum forbidden forbidden_look_as(uint64_t key)
{
    uint32_t n = __atomic_load_n(&range_count, __ATOMIC_ACQUIRE);
    key &= ~KEY_GUESSED;
    for (uint32_t i = 0; i < n; i++)
        if (key - ranges[i].lo < ranges[i].hi - ranges[i].lo)
            return ranges[i].what;
    return FORBIDDEN_NOT;
}

static void image_add_as(const struct unwind_image *image, enum forbidden what)
{
    range_add_as(key_make(image->number, 0), key_make(image->number + 1, 0), what);
}

/* cgo programs are dynamic: the linker's note (owner "Go", type 4) is in them all. */
static bool has_go_note(const struct image_source *source)
{
    enum { GO_BUILD_ID = 4 };
    for (uint32_t i = 0; i < source->phdr_count; i++) {
        const Elf64_Phdr *p = &source->phdr[i];
        const Elf64_Nhdr *note = (const Elf64_Nhdr *)(source->bias + p->p_vaddr);
        const char *name = (const char *)(note + 1);
        if (p->p_type == PT_NOTE && p->p_memsz >= sizeof *note + 4 && note->n_namesz == 4 &&
            note->n_type == GO_BUILD_ID && name[0] == 'G' && name[1] == 'o' && !name[2])
            return true;
    }
    return false;
}

/* Whether code of the image has exceptions to handle: a CIE with a personality routine among the first
 * ones of .eh_frame. */
static bool has_personality(const struct unwind_image *image)
{
    enum { RECORDS_MAX = 4096, POINTER_PCREL_SDATA4 = 0x1b };
    const uint8_t *hdr = image->eh_frame_hdr;
    if (!hdr || hdr[1] != POINTER_PCREL_SDATA4)
        return false;
    uint64_t at = (uint64_t)hdr + 4 + (uint64_t)(int64_t)*(const int32_t *)(const void *)(hdr + 4);
    for (uint32_t n = 0; n < RECORDS_MAX; n++) {
        if (at < image->readable_lo || at + 16 > image->readable_hi)
            return false;
        const uint32_t *record = (const uint32_t *)at;
        uint32_t length = record[0];
        if (length == 0 || length == UINT32_MAX || length > image->readable_hi - at - 4)
            return false;
        const char *augmentation = (const char *)(record + 2) + 1;
        for (uint32_t i = 0; record[1] == 0 && i < 4 && augmentation[i]; i++)
            if (augmentation[i] == 'P')
                return true;
        at += 4 + length;
    }
    return false;
}

/* libgcc's unwinder, linked into an image, finds .eh_frame through the loader. Then the image asks no
 * other for it, and its calls of the unwinder cannot be seen. */
static bool has_own_unwinder(const struct image_symbols *s, const struct unwind_image *image)
{
    if (image_symbols_wants_as(s, "_Unwind_") || image_symbols_find_as(s, "dl_iterate_phdr"))
        return false;
    return image_symbols_wants_as(s, "_dl_find_object") ||
           (image_symbols_wants_as(s, "dl_iterate_phdr") && has_personality(image));
}

static void functions_add_as(const struct image_symbols *s, const struct unwind_image *image,
                             const char *const *names, unsigned count, enum forbidden what)
{
    for (unsigned i = 0; i < count; i++) {
        const Elf64_Sym *symbol = image_symbols_find_as(s, names[i]);
        if (symbol && symbol->st_size)
            range_add_as(key_make(image->number, symbol->st_value),
                         key_make(image->number, symbol->st_value + symbol->st_size), what);
    }
}

static bool defines(const struct image_symbols *s, const char *name)
{
    return image_symbols_find_as(s, name) != NULL;
}

void forbidden_note_as(const struct image_source *source, const struct unwind_image *image)
{
    struct image_symbols s;
    if (image->hidden) {
        image_add_as(image, FORBIDDEN_MARK);
        return;
    }
    if (has_go_note(source))
        trampoline_disable_as(TRAMPOLINE_GO);
    if (!image_symbols_open_as(source, &s))
        return;
    if (defines(&s, "_Unwind_RaiseException") || defines(&s, "_Ux86_64_getcontext")) {
        image_add_as(image, FORBIDDEN_LEAVING);
    } else if (defines(&s, "__tls_get_addr")) {
        image_add_as(image, FORBIDDEN_MARK); /* the dynamic linker */
    } else if (has_own_unwinder(&s, image)) {
        trampoline_disable_as(TRAMPOLINE_UNWINDER);
    }
    /* Elsewhere it can be stood in front of (interpose/ruby.c). */
    if (!*source->path && defines(&s, "ruby_Init_Continuation_body"))
        trampoline_disable_as(TRAMPOLINE_RUBY);
    for (unsigned i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (defines(&s, hosts[i].symbol))
            trampoline_disable_as(hosts[i].why);
    functions_add_as(&s, image, functions, sizeof functions / sizeof *functions, FORBIDDEN_MARK);
    functions_add_as(&s, image, leaving, sizeof leaving / sizeof *leaving, FORBIDDEN_LEAVING);
}

bool forbidden_shadow_stack_as(void)
{
    enum { ARCH_SHSTK_STATUS = 0x5005, SHSTK = 1 };
    uint64_t features = 0;
    return sys_call3_as(SYS_arch_prctl, ARCH_SHSTK_STATUS, (long)&features, 0) == 0 &&
           features & SHSTK;
}

void forbidden_init(void)
{
    rt.process->trampoline = rt.config->trampoline ? TRAMPOLINE_ON : TRAMPOLINE_NOT_ASKED;
    if (forbidden_shadow_stack_as())
        trampoline_disable_as(TRAMPOLINE_SHADOW_STACK);
}
