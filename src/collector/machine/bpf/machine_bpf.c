#include "collector/machine/bpf/machine_bpf.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <walk.skel.h> /* bpftool's, of walk.bpf.c */

#include "collector/machine/bpf/bpf_object.h"
#include "collector/machine/bpf/bpf_tables.h"
#include "collector/machine/bpf/bpf_waits.h"

/* Bytes of tables. */
enum { POOL = 32 << 20, LASTING_POOL = 10 << 20 };

struct machine_bpf {
    struct bpf_object *object;
    struct bpf_tables tables;
    struct machine_bpf_wishes wishes;
    struct bpf_waits waits;
    void *mapped[5];
    size_t mapped_size[5];
    uint64_t wanted[WALK_REASONS]; /* records, by reason */
    uint64_t too_many_maps;
};

/* ---- maps of memory ---- */

static void *map_memory(struct machine_bpf *b, unsigned number, const char *name)
{
    b->mapped[number] = bpf_object_memory(b->object, name, &b->mapped_size[number]);
    return b->mapped[number];
}

static bool tables_map(struct machine_bpf *b, uint32_t words)
{
    struct bpf_tables *t = &b->tables;
    t->control = map_memory(b, 0, "control");
    t->processes = map_memory(b, 1, "processes");
    t->tables = map_memory(b, 2, "tables");
    t->pool = map_memory(b, 3, "pool");
    b->waits.control = b->wishes.waits ? map_memory(b, 4, "wait_settings") : NULL;
    if (!t->control || !t->processes || !t->tables || !t->pool ||
        (b->wishes.waits && !b->waits.control))
        return false;
    t->words = words;
    bpf_tables_forget(t);
    return true;
}

/* ---- loading ---- */

/* Programs that tell of waits, and the memory that they need, are not loaded without a wish. */
static void wishes_settle(struct machine_bpf *b)
{
    static const char *const programs[] = {"machine_switch", "machine_waking", "machine_look"},
                      *const maps[] = {"waits", "sites", "wait_settings", "wait_scratches",
                                       "looks"};
    for (unsigned i = 0; i < sizeof programs / sizeof *programs; i++)
        bpf_program__set_autoload(bpf_object__find_program_by_name(b->object, programs[i]),
                                  b->wishes.waits);
    for (unsigned i = 0; i < sizeof maps / sizeof *maps; i++)
        bpf_map__set_autocreate(bpf_object__find_map_by_name(b->object, maps[i]),
                                b->wishes.waits);
}

static bool object_load(struct machine_bpf *b, uint32_t words)
{
    size_t size;
    const void *bytes = walk_program__elf_bytes(&size);
    b->object = bpf_object__open_mem(bytes, size, NULL);
    struct bpf_map *pool = b->object ? bpf_object__find_map_by_name(b->object, "pool") : NULL;
    if (!pool || bpf_map__set_max_entries(pool, words))
        return false;
    wishes_settle(b);
    return !bpf_object__load(b->object);
}

static bool load(struct machine_bpf *b, struct err *e)
{
    uint32_t words =
        (uint32_t)(b->wishes.lasting ? LASTING_POOL : POOL) / (uint32_t)sizeof(uint64_t);
    if (!bpf_object_can(e))
        return false;
    if (!object_load(b, words) || !tables_map(b, words))
        return err_set_errno(e, ERR_NO_TRIGGER, errno,
                             "the kernel refuses a BPF program (that takes root, or CAP_BPF and "
                             "CAP_PERFMON, and Linux %s)",
                             b->wishes.waits ? "5.18" : "5.17");
    return true;
}

static bool attach(struct machine_bpf *b, struct machine_rings *rings, struct err *e)
{
    int program =
        bpf_program__fd(bpf_object__find_program_by_name(b->object, "machine_walk"));
    int events = bpf_object__find_map_fd_by_name(b->object, "events");
    for (unsigned i = 0; i < rings->count; i++) {
        uint32_t cpu = (uint32_t)rings->list[i].cpu;
        int output = machine_rings_output(rings, i);
        if (output < 0 || bpf_map_update_elem(events, &cpu, &output, BPF_ANY))
            return err_set_errno(e, ERR_NO_TRIGGER, errno,
                                 "the kernel gives the BPF program no ring to write to");
    }
    if (b->wishes.waits && !bpf_waits_attach(&b->waits, b->object))
        return err_set_errno(e, ERR_NO_TRIGGER, errno,
                             "the kernel puts no BPF program where threads are switched (that "
                             "takes Linux 5.18)");
    /* The last thing that can go wrong goes wrong at the first event. */
    for (unsigned i = 0; b->wishes.walks && i < rings->count; i++)
        if (ioctl(rings->list[i].sample, PERF_EVENT_IOC_SET_BPF, program))
            return err_set_errno(e, ERR_NO_TRIGGER, errno,
                                 "the kernel puts no BPF program at the clock of CPU %d",
                                 rings->list[i].cpu);
    return true;
}

bool machine_bpf_open(struct machine_bpf **to, struct machine_rings *rings,
                      const struct machine_bpf_wishes *wishes, struct err *e)
{
    struct machine_bpf *b = *to = calloc(1, sizeof *b);
    if (!b)
        return err_set(e, ERR_INTERNAL, "out of memory");
    b->wishes = *wishes;
    if (load(b, e) && attach(b, rings, e))
        return true;
    machine_bpf_close(b);
    *to = NULL;
    return false;
}

void machine_bpf_close(struct machine_bpf *b)
{
    if (!b)
        return;
    bpf_waits_stop(&b->waits);
    for (unsigned i = 0; i < sizeof b->mapped / sizeof b->mapped[0]; i++)
        if (b->mapped[i])
            munmap(b->mapped[i], b->mapped_size[i]);
    bpf_object__close(b->object);
    free(b);
}

void machine_bpf_forget(struct machine_bpf *b)
{
    if (b)
        bpf_tables_forget(&b->tables);
}

/* ---- waits ---- */

void machine_bpf_waits(struct machine_bpf *b, uint64_t period_ns, uint64_t group)
{
    bpf_waits_start(&b->waits, period_ns, group);
}

void machine_bpf_look(struct machine_bpf *b, struct machine_rings *rings, uint64_t least_ns)
{
    bpf_waits_look(&b->waits, rings, least_ns);
}

void machine_bpf_look_again(struct machine_bpf *b)
{
    bpf_waits_again(&b->waits);
}

void machine_bpf_stop(struct machine_bpf *b, struct machine_rings *rings)
{
    bpf_waits_look(&b->waits, rings, 0);
    bpf_waits_stop(&b->waits);
}

/* ---- what is wanted ---- */

/* For so many bytes of .eh_frame a table costs twice what it saves at each stack. */
enum { STACK_BYTES = 4096 };

/* Compiles the table of what an address is in, where it is worth it. */
static void table_want(struct machine_images *images, const struct machine_process *p,
                       uint64_t address)
{
    const struct machine_map *map = machine_process_map(p, address);
    struct machine_image *image = map ? map->image : NULL;
    if (!image || !image->number || !image->wide || image->table_tried ||
        image->walks_wanted++ < image->frames.size / STACK_BYTES)
        return;
    while (!image->table_tried)
        machine_image_prepare(images, image, p->pid, map);
}

/* Whether tables are there now that the process's maps do not refer to yet. */
static bool tables_put(struct machine_bpf *b, const struct machine_processes *all,
                       const struct machine_process *p)
{
    const struct walk_process *known = &b->tables.processes[(uint32_t)p->pid % WALK_PROCESSES];
    bool news = false;
    for (uint32_t i = 0; i < p->index->count; i++) {
        struct machine_image *image =
            machine_image_numbered(all->images, p->index->image[i].number);
        if (!image || !(image->walk_table || bpf_tables_add(&b->tables, image)))
            continue;
        news |= i < WALK_MAPS && known->map[i].table != image->walk_table;
    }
    return news;
}

void machine_bpf_want(struct machine_bpf *b, struct machine_processes *all,
                      struct machine_process *p, const struct machine_record *r)
{
    bpf_tables_time(&b->tables, r->time);
    b->wanted[r->reason]++;
    if (!b->wishes.walks)
        return;
    /* What has been read from /proc may be of a later moment than the record. */
    if ((r->reason != WALK_NO_PROCESS && r->reason != WALK_NO_TABLE) || p->ended ||
        p->unreadable || p->scanned_ns > r->time || !machine_process_index(all, p))
        return;
    if (r->reason == WALK_NO_TABLE) {
        table_want(all->images, p, r->at);
        machine_process_index(all, p);
    }
    bool news = p->index && tables_put(b, all, p);
    if (news || r->reason == WALK_NO_PROCESS)
        b->too_many_maps += !bpf_tables_process(&b->tables, all->images, p, r);
}

void machine_bpf_notes(const struct machine_bpf *b, struct buf *notes)
{
    static const char *const why[WALK_REASONS] = {
        [WALK_NO_PROCESS] = "of processes not known yet",
        [WALK_NO_MAP] = "through generated code",
        [WALK_NO_TABLE] = "without a table yet",
        [WALK_RULE] = "through a frame without a simple rule",
        [WALK_MEMORY] = "through memory that is not there",
        [WALK_DEEP] = "too deep",
        [WALK_MODE] = "of 32-bit programs",
        [WALK_CHANGED] = "while tables changed",
    };
    const char *between = "stacks that the collector walked: ";
    if (b->wishes.waits)
        bpf_waits_notes(&b->waits, notes);
    for (unsigned i = 0; i < WALK_REASONS; i++) {
        if (!b->wanted[i] || !why[i])
            continue;
        buf_printf(notes, "%s%llu %s", between, (unsigned long long)b->wanted[i], why[i]);
        between = ", ";
    }
    if (*between == ',')
        buf_puts(notes, "\n");
    if (b->too_many_maps)
        buf_printf(notes, "(some processes have more than %d pieces of code mapped)\n", WALK_MAPS);
    if (b->tables.dropped)
        buf_printf(notes, "%llu tables had to make room for others\n",
                   (unsigned long long)b->tables.dropped);
}
