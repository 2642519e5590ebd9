#include "runtime/trampoline/forbidden.h"

#include "runtime/trampoline/own_address.h"
#include "runtime/trampoline/trampoline.h"
#include "guest/image_symbols.h"
#include "runtime/interpose/alternate.h"
#include "sigsafe/sample_path.h"
#include "sigsafe/sys.h"

enum { RANGES_MAX = 128, GROUPS_MAX = 32, IMAGE_BITS = 64 };

/* Keys in [lo, hi). */
struct range {
    uint64_t lo, hi;
    enum forbidden what;
};

/* The ranges of one image, sorted; or, if `whole` says so, all of it. */
struct group {
    uint32_t image;
    uint16_t first, count;
    enum forbidden whole;
};

/* Appended only. What every sample looks at comes first: most images have no group. */
static struct {
    uint64_t images; /* atomic; bit i: an image whose number is i modulo 64 has a group */
    uint32_t groups; /* atomic */
    uint32_t ranges;
    struct group group[GROUPS_MAX];
    struct range range[RANGES_MAX];
} known;

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
    /* of every Haskell run time; hs_init is also a function of Tor */
    {"hs_free_stable_ptr", TRAMPOLINE_HASKELL},
    {"hs_main", TRAMPOLINE_HASKELL},
    {"runtime_mstart", TRAMPOLINE_GO},
    {"jl_gc_collect", TRAMPOLINE_JULIA},
    {"pypy_main_startup", TRAMPOLINE_PYPY},
    {"scm_boot_guile", TRAMPOLINE_GUILE},
    {"PyInit__greenlet", TRAMPOLINE_GREENLET},
    {"__asan_init", TRAMPOLINE_SANITIZER},
    {"__tsan_init", TRAMPOLINE_SANITIZER},
    {"__msan_init", TRAMPOLINE_SANITIZER},
    {"__hwasan_init", TRAMPOLINE_SANITIZER},
    {"__lsan_init", TRAMPOLINE_SANITIZER},
    {"__wine_main", TRAMPOLINE_WINE},
    {"wine_init", TRAMPOLINE_WINE},
};

static void range_add_as(struct group *g, uint64_t lo, uint64_t hi, enum forbidden what)
{
    uint32_t i = g->first + g->count;
    if (i == RANGES_MAX) {
        trampoline_disable_as(TRAMPOLINE_UNWINDER);
        return;
    }
    for (; i > g->first && known.range[i - 1].lo > lo; i--)
        known.range[i] = known.range[i - 1];
    known.range[i] = (struct range){lo, hi, what};
    g->count++;
}

/* The image's group, not to be seen yet. NULL: it has been looked at, or there is no room. */
static struct group *group_begin_as(const struct unwind_image *image)
{
    for (uint32_t i = 0; i < known.groups; i++)
        if (known.group[i].image == image->number)
            return NULL;
    if (known.groups == GROUPS_MAX) {
        trampoline_disable_as(TRAMPOLINE_UNWINDER);
        return NULL;
    }
    known.group[known.groups] =
        (struct group){image->number, (uint16_t)known.ranges, 0, FORBIDDEN_NOT};
    return &known.group[known.groups];
}

static void group_end_as(const struct group *g)
{
    if (!g->count && g->whole == FORBIDDEN_NOT)
        return;
    known.ranges += g->count;
    __atomic_store_n(&known.groups, known.groups + 1, __ATOMIC_RELEASE);
    __atomic_fetch_or(&known.images, UINT64_C(1) << g->image % IMAGE_BITS, __ATOMIC_RELEASE);
}

static enum forbidden group_look_as(const struct group *g, uint64_t key)
{
    uint32_t low = g->first, high = g->first + g->count;
    if (g->whole != FORBIDDEN_NOT)
        return g->whole;
    while (low < high) { /* to the first one that begins behind the key */
        uint32_t middle = low + (high - low) / 2;
        if (known.range[middle].lo <= key)
            low = middle + 1;
        else
            high = middle;
    }
    return low > g->first && key < known.range[low - 1].hi ? known.range[low - 1].what
                                                           : FORBIDDEN_NOT;
}

SAMPLE_PATH
enum forbidden forbidden_look_as(uint64_t key)
{
    uint32_t image = key_image(key & ~KEY_GUESSED);
    if (!(__atomic_load_n(&known.images, __ATOMIC_ACQUIRE) >> image % IMAGE_BITS & 1))
        return FORBIDDEN_NOT;
    uint32_t n = __atomic_load_n(&known.groups, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++)
        if (known.group[i].image == image)
            return group_look_as(&known.group[i], key & ~KEY_GUESSED);
    return FORBIDDEN_NOT;
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

/* Whether code of the image has exceptions to handle: a CIE with a personality routine among the
 * first ones of .eh_frame. */
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

/* libgcc's unwinder, linked into an image, finds .eh_frame through the loader. Then the image asks
 * no other for it, and its calls of the unwinder cannot be seen. */
static bool has_own_unwinder(const struct image_symbols *s, const struct unwind_image *image)
{
    if (image_symbols_wants_as(s, "_Unwind_") || image_symbols_find_as(s, "dl_iterate_phdr"))
        return false;
    return image_symbols_wants_as(s, "_dl_find_object") ||
           (image_symbols_wants_as(s, "dl_iterate_phdr") && has_personality(image));
}

static void functions_add_as(struct group *g, const struct image_symbols *s,
                             const struct unwind_image *image, const char *const *names,
                             unsigned count, enum forbidden what)
{
    for (unsigned i = 0; i < count; i++) {
        const Elf64_Sym *symbol = image_symbols_find_as(s, names[i]);
        if (symbol && symbol->st_size)
            range_add_as(g, key_make(image->number, symbol->st_value),
                         key_make(image->number, symbol->st_value + symbol->st_size), what);
    }
}

static bool defines(const struct image_symbols *s, const char *name)
{
    return image_symbols_find_as(s, name) != NULL;
}

/* What the image is to the program as a whole; FORBIDDEN_NOT: only some of its functions count. */
static enum forbidden image_judge_as(const struct image_symbols *s,
                                     const struct unwind_image *image)
{
    if (defines(s, "_Unwind_RaiseException") || defines(s, "_Ux86_64_getcontext"))
        return FORBIDDEN_LEAVING;
    if (defines(s, "__tls_get_addr"))
        return FORBIDDEN_MARK; /* the dynamic linker */
    if (has_own_unwinder(s, image))
        trampoline_disable_as(TRAMPOLINE_UNWINDER);
    return FORBIDDEN_NOT;
}

static void hosts_look_as(const struct image_source *source, const struct image_symbols *s)
{
    /* Elsewhere it can be stood in front of (interpose/ruby.c). */
    if (!*source->path && defines(s, "ruby_Init_Continuation_body"))
        trampoline_disable_as(TRAMPOLINE_RUBY);
    for (unsigned i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (defines(s, hosts[i].symbol))
            trampoline_disable_as(hosts[i].why);
}

void forbidden_note_as(const struct image_source *source, const struct unwind_image *image)
{
    struct image_symbols s;
    struct group *g = group_begin_as(image);
    if (g && image->hidden)
        g->whole = FORBIDDEN_MARK;
    bool opened = !image->hidden && image_symbols_open_as(source, &s);
    if (!image->hidden && (has_go_note(source) || (opened && defines(&s, "_cgo_topofstack")))) {
        trampoline_disable_as(TRAMPOLINE_GO);
        alternate_note_go_as(source);
    }
    if (opened) {
        hosts_look_as(source, &s);
        enum forbidden whole = image_judge_as(&s, image);
        if (g) {
            g->whole = whole;
            functions_add_as(g, &s, image, functions, sizeof functions / sizeof *functions,
                             FORBIDDEN_MARK);
            functions_add_as(g, &s, image, leaving, sizeof leaving / sizeof *leaving,
                             FORBIDDEN_LEAVING);
        }
    }
    if (g)
        group_end_as(g);
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
    guest.process->trampoline = rt.config->trampoline ? TRAMPOLINE_ON : TRAMPOLINE_NOT_ASKED;
    if (forbidden_shadow_stack_as())
        trampoline_disable_as(TRAMPOLINE_SHADOW_STACK);
    own_address_init();
}
