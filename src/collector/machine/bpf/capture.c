#include "collector/machine/bpf/capture.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <capture.skel.h> /* bpftool's, of capture.bpf.c */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/machine/bpf/bpf_object.h"
#include "collector/machine/machine_kernel.h"
#include "x86/insn.h"

enum { MAPS = 4 };

struct capture {
    struct bpf_object *object;
    struct capture_control *control;
    struct capture_recipe *recipes;
    struct capture_process *processes;
    struct capture_asked *asked;
    void *mapped[MAPS];
    size_t mapped_size[MAPS];
    int *clocks;
    unsigned clock_count;
    int text, layout; /* programs */
};

/* ---- loading ---- */

static bool maps_map(struct capture *c)
{
    static const char *const names[MAPS] = {"control", "recipes", "processes", "asked"};
    for (unsigned i = 0; i < MAPS; i++)
        if (!(c->mapped[i] = bpf_object_memory(c->object, names[i], &c->mapped_size[i])))
            return false;
    c->control = c->mapped[0];
    c->recipes = c->mapped[1];
    c->processes = c->mapped[2];
    c->asked = c->mapped[3];
    return true;
}

static int program_of(const struct capture *c, const char *name)
{
    return bpf_program__fd(bpf_object__find_program_by_name(c->object, name));
}

static bool load(struct capture *c, struct err *e)
{
    size_t size;
    const void *bytes = capture_program__elf_bytes(&size);
    if (!bpf_object_can(e))
        return false;
    c->object = bpf_object__open_mem(bytes, size, NULL);
    if (!c->object || bpf_object__load(c->object) || !maps_map(c)) {
        err_set_errno(e, ERR_NO_TRIGGER, errno,
                      "the kernel refuses the BPF program that captures values (that takes root, "
                      "or CAP_BPF and CAP_PERFMON, and Linux 5.17)");
        return false;
    }
    c->text = program_of(c, "machine_text");
    c->layout = program_of(c, "machine_layout");
    return true;
}

struct capture *capture_open_text(void)
{
    size_t size;
    struct err unused = {0};
    struct bpf_program *program;
    const void *bytes = capture_program__elf_bytes(&size);
    struct capture *c = bpf_object_can(&unused) ? calloc(1, sizeof *c) : NULL;
    if (!c)
        return NULL;
    c->object = bpf_object__open_mem(bytes, size, NULL);
    if (c->object)
        bpf_object__for_each_program(program, c->object)
            bpf_program__set_autoload(program, !strcmp(bpf_program__name(program), "machine_text"));
    if (c->object && !bpf_object__load(c->object) && maps_map(c)) {
        c->text = program_of(c, "machine_text");
        return c;
    }
    capture_close(c);
    return NULL;
}

static bool clock_open(struct capture *c, struct machine_rings *rings, unsigned i,
                       uint64_t period_ns, int cgroup, struct err *e)
{
    int events = bpf_object__find_map_fd_by_name(c->object, "outputs");
    int output = machine_rings_output(rings, i);
    int clock = machine_rings_clock(rings, i, period_ns, cgroup);
    uint32_t cpu = (uint32_t)rings->list[i].cpu;
    c->clocks[c->clock_count++] = clock;
    if (output < 0 || clock < 0 || bpf_map_update_elem(events, &cpu, &output, BPF_ANY) ||
        ioctl(clock, PERF_EVENT_IOC_SET_BPF, program_of(c, "machine_capture")))
        return err_set_errno(e, ERR_NO_TRIGGER, errno,
                             "the kernel puts no BPF program at a second clock of CPU %u", cpu);
    return true;
}

static bool clocks_open(struct capture *c, struct machine_rings *rings, uint64_t period_ns,
                        int cgroup, struct err *e)
{
    c->clocks = calloc(rings->count, sizeof *c->clocks);
    if (!c->clocks)
        return err_set(e, ERR_INTERNAL, "out of memory");
    for (unsigned i = 0; i < rings->count; i++)
        if (!clock_open(c, rings, i, period_ns, cgroup, e))
            return false;
    return true;
}

/* ---- what this kernel's memory is like ---- */

static bool call(int program)
{
    struct bpf_test_run_opts options = {.sz = sizeof options};
    return !bpf_prog_test_run_opts(program, &options);
}

bool capture_text(struct capture *c, uint64_t address, uint8_t to[CAPTURE_TEXT])
{
    c->asked->text.address = address;
    if (!call(c->text) || !c->asked->text.read)
        return false;
    memcpy(to, c->asked->text.bytes, CAPTURE_TEXT);
    return true;
}

/* What a variable is away from the begin of its section. 0: it is not known. */
static uint64_t percpu_offset(const struct btf *types, const char *name)
{
    int id = btf__find_by_name_kind(types, ".data..percpu", BTF_KIND_DATASEC);
    const struct btf_type *section = id > 0 ? btf__type_by_id(types, (uint32_t)id) : NULL;
    const struct btf_var_secinfo *variable = section ? btf_var_secinfos(section) : NULL;
    for (unsigned i = 0; section && i < btf_vlen(section); i++, variable++) {
        const struct btf_type *t = btf__type_by_id(types, variable->type);
        if (t && !strcmp(btf__name_by_offset(types, t->name_off), name))
            return variable->offset;
    }
    return 0;
}

/* getpid begins with a load of `current_task`. */
static uint64_t current_address(struct capture *c, uint64_t function)
{
    uint8_t code[CAPTURE_TEXT];
    struct x86_insn insn;
    if (!function || !capture_text(c, function, code))
        return 0;
    for (unsigned at = 0, length; at + X86_LOOKAHEAD < sizeof code; at += length) {
        length = x86_decode_as(code + at, sizeof code - at, &insn);
        if (!length || insn.kind != X86_ORDINARY)
            return 0;
        struct x86_memory m = x86_modrm_as(&insn, code + at);
        bool plain = m.index == X86_NONE && (m.base == X86_RIP || m.base == X86_NONE);
        if (insn.access & X86_MEM_READ && m.segment == X86_GS && insn.mem_size == 8 && plain)
            return (uint64_t)m.disp + (m.base == X86_RIP ? function + at + length : 0);
    }
    return 0;
}

static void variables_find(struct capture *c, const struct machine_symbols *symbols)
{
    struct capture_layout *l = &c->asked->layout;
    struct btf *types = btf__load_vmlinux_btf();
    if (types) {
        l->current_at = percpu_offset(types, "current_task");
        l->queues_at = percpu_offset(types, "runqueues");
        btf__free(types);
    }
    if (l->current_at && l->queues_at)
        l->current_address =
            current_address(c, machine_symbols_address(symbols, "__x64_sys_getpid"));
}

/* Where a kernel has its memory that neither names its variables nor was loaded elsewhere than
 * where it was linked: then it has not moved its memory either
 * (Documentation/arch/x86/x86_64/mm.rst). */
static void layout_assume(struct capture_layout *l, const struct machine_symbols *symbols)
{
    const uint64_t linked = UINT64_C(0xffffffff81000000);
    const struct capture_layout fixed = {.page_offset = UINT64_C(0xffff888000000000),
                                         .vmalloc = UINT64_C(0xffffc90000000000),
                                         .vmemmap = UINT64_C(0xffffea0000000000)};
    bool fits = l->task >= fixed.page_offset && l->task < fixed.vmalloc &&
                l->stack >= fixed.vmalloc && l->stack < fixed.vmemmap;
    if (l->page_offset || !fits || machine_symbols_address(symbols, "_text") != linked)
        return;
    l->page_offset = fixed.page_offset;
    l->vmalloc = fixed.vmalloc;
    l->vmemmap = fixed.vmemmap;
}

static void range_set(struct capture_control *c, unsigned i, uint64_t lo, uint64_t hi)
{
    if (!lo || lo >= hi)
        return;
    c->lo[i] = lo;
    c->hi[i] = hi;
}

static bool layout_find(struct capture *c, struct err *e)
{
    struct capture_layout *l = &c->asked->layout;
    struct machine_symbols *symbols = machine_symbols_read();
    if (!symbols)
        return err_set(e, ERR_INTERNAL, "out of memory");
    variables_find(c, symbols);
    if (call(c->layout))
        layout_assume(l, symbols);
    machine_symbols_free(symbols);
    c->control->percpu = l->percpu;
    range_set(c->control, 0, l->page_offset, l->vmalloc);
    range_set(c->control, 1, l->vmemmap, l->vmemmap + (UINT64_C(1) << 40));
    range_set(c->control, 2, UINT64_C(0xffffffff80000000), UINT64_C(0xffffffffff000000));
    return true;
}

/* ---- all ---- */

bool capture_open(struct capture **to, struct machine_rings *rings, uint64_t period_ns, int cgroup,
                  struct err *e)
{
    struct capture *c = *to = calloc(1, sizeof *c);
    if (!c)
        return err_set(e, ERR_INTERNAL, "out of memory");
    if (load(c, e) && clocks_open(c, rings, period_ns, cgroup, e) && layout_find(c, e))
        return true;
    capture_close(c);
    *to = NULL;
    return false;
}

void capture_run(struct capture *c, bool run)
{
    for (unsigned i = 0; c && i < c->clock_count; i++)
        ioctl(c->clocks[i], run ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

void capture_close(struct capture *c)
{
    if (!c)
        return;
    for (unsigned i = 0; i < c->clock_count; i++)
        if (c->clocks[i] >= 0)
            close(c->clocks[i]);
    for (unsigned i = 0; i < MAPS; i++)
        if (c->mapped[i])
            munmap(c->mapped[i], c->mapped_size[i]);
    bpf_object__close(c->object);
    free(c->clocks);
    free(c);
}

struct capture_recipe *capture_recipe_at(struct capture *c, uint64_t pc)
{
    return &c->recipes[capture_recipe_slot(pc)];
}

void capture_allow(struct capture *c, const struct capture_process *p)
{
    struct capture_process *to = &c->processes[(uint32_t)p->pid % CAPTURE_PROCESSES];
    __atomic_store_n(&to->pid, 0, __ATOMIC_RELEASE);
    to->allowed = p->allowed;
    to->program = p->program;
    to->mapped = p->mapped;
    __atomic_store_n(&to->pid, p->pid, __ATOMIC_RELEASE);
}

bool capture_is_memory(const struct capture *c, uint64_t address)
{
    for (unsigned i = 0; i < CAPTURE_RANGES; i++)
        if (address - c->control->lo[i] < c->control->hi[i] - c->control->lo[i])
            return true;
    return false;
}

void capture_notes(const struct capture *c, struct buf *notes)
{
    if (!c->control->lo[0])
        buf_puts(notes, "where this kernel has its memory is not known: of its memory stacks and "
                        "variables were captured alone\n");
    if (!c->control->percpu)
        buf_puts(notes, "where this kernel has each CPU's variables is not known: they were not "
                        "captured\n");
}
