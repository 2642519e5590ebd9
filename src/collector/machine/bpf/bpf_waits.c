#include "collector/machine/bpf/bpf_waits.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collector/machine/machine_record.h"
#include "collector/measure.h"

static struct bpf_link *link_to(struct bpf_object *object, const char *name)
{
    const struct bpf_program *program = bpf_object__find_program_by_name(object, name);
    return program ? bpf_program__attach(program) : NULL;
}

bool bpf_waits_attach(struct bpf_waits *w, struct bpf_object *object)
{
    w->scratches = bpf_object__find_map_by_name(object, "wait_scratches");
    w->look = link_to(object, "machine_look");
    w->links[0] = w->look ? link_to(object, "machine_switch") : NULL;
    w->links[1] = w->links[0] ? link_to(object, "machine_waking") : NULL;
    return w->links[1];
}

void bpf_waits_start(struct bpf_waits *w, uint64_t period_ns, uint64_t group)
{
    w->control->cgroup = group;
    __atomic_store_n(&w->control->period_ns, period_ns, __ATOMIC_RELEASE);
}

void bpf_waits_stop(struct bpf_waits *w)
{
    for (unsigned i = 0; i < sizeof w->links / sizeof *w->links; i++)
        bpf_link__destroy(w->links[i]);
    bpf_link__destroy(w->look);
    w->links[0] = w->links[1] = w->look = NULL;
}

/* ---- looks ---- */

/* As the program in the kernel would have written it, had it taken the wait at its beginning. */
static void look_take(struct bpf_waits *w, struct machine_rings *rings,
                      const struct wait_look *look)
{
    struct {
        uint8_t raw[MACHINE_RAW_HEAD];
        struct walk_piece piece;
    } record = {.piece = {.h = {.magic = PIECE_MAGIC, .subject = WALK_WAIT, .odds = 1,
                                .reason = WALK_DONE, .pid = look->pid, .tid = look->tid,
                                .begun = look->begun},
                          .abi = look->abi}};
    struct walk_piece *p = &record.piece;
    memcpy(p->regs, look->regs, sizeof p->regs);
    p->h.kernel = (uint16_t)(look->kernel < WALK_KERNEL ? look->kernel : WALK_KERNEL);
    memcpy(p->kernel, look->address, sizeof p->kernel);
    enum { RSP = 7 /* of MACHINE_REGISTERS */ };
    struct iovec local = {p->bytes, WALK_PIECE},
                 remote = {(void *)(uintptr_t)look->regs[RSP], WALK_PIECE};
    ssize_t n = look->abi ? process_vm_readv(look->pid, &local, 1, &remote, 1, 0) : 0;
    w->unread += n < 0;
    p->size = n > 0 ? (uint32_t)n : 0;
    size_t size = offsetof(struct walk_piece, bytes) + p->size;
    machine_record_head(record.raw, look->pid, look->tid, monotonic_ns(), size);
    machine_rings_add(rings, &record, MACHINE_RAW_HEAD + size);
    w->looked++;
}

static bool looks_read(int fd, struct buf *found)
{
    uint8_t part[8192];
    ssize_t n;
    while ((n = read(fd, part, sizeof part)) > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)))
        if (n > 0)
            buf_put(found, part, (size_t)n);
    return !n && buf_ok(found);
}

void bpf_waits_again(struct bpf_waits *w)
{
    __atomic_fetch_add(&w->control->generation, 1, __ATOMIC_RELAXED);
}

void bpf_waits_look(struct bpf_waits *w, struct machine_rings *rings, uint64_t least_ns)
{
    struct buf found = {0};
    struct wait_look look;
    __atomic_store_n(&w->control->least_ns, least_ns, __ATOMIC_RELEASE);
    int fd = w->look ? bpf_iter_create(bpf_link__fd(w->look)) : -1;
    bool ok = fd >= 0 && looks_read(fd, &found);
    for (size_t at = 0; ok && at + sizeof look <= found.size; at += sizeof look) {
        memcpy(&look, found.data + at, sizeof look);
        look_take(w, rings, &look);
    }
    if (fd >= 0)
        close(fd);
    buf_free(&found);
    w->looks++;
    w->failed += !ok;
}

/* ---- notes ---- */

/* Of all CPUs. The kernel keeps a value for each that it could have. */
static struct wait_counts counts_sum(const struct bpf_waits *w)
{
    struct wait_counts sum = {0}, one;
    int cpus = libbpf_num_possible_cpus();
    size_t size = (bpf_map__value_size(w->scratches) + 7) & ~(size_t)7;
    uint8_t *values = cpus > 0 ? calloc((size_t)cpus, size) : NULL;
    uint32_t key = 0;
    bool ok = values && !bpf_map_lookup_elem(bpf_map__fd(w->scratches), &key, values);
    for (int i = 0; ok && i < cpus; i++) {
        memcpy(&one, values + (size_t)i * size, sizeof one);
        sum.all += one.all;
        sum.taken += one.taken;
    }
    free(values);
    return sum;
}

void bpf_waits_notes(const struct bpf_waits *w, struct buf *notes)
{
    struct wait_counts counts = counts_sum(w);
    uint64_t no_room = w->control->no_room;
    buf_printf(notes, "threads began to wait %" PRIu64 " times; %" PRIu64 " times that was taken, "
                      "and %" PRIu64 " times they were found waiting\n",
               counts.all, counts.taken, w->looked);
    if (w->failed)
        buf_printf(notes, "%" PRIu64 " of %" PRIu64 " looks at threads that wait failed\n",
                   w->failed, w->looks);
    if (w->unread)
        buf_printf(notes, "%" PRIu64 " threads that wait have a stack that cannot be read\n",
                   w->unread);
    if (no_room)
        buf_printf(notes, "%" PRIu64 " waits left out: of more threads than there is room for\n",
                   no_room);
}
