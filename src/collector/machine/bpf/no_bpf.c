/* A build without clang, bpftool or libbpf. */
#include "collector/machine/bpf/capture.h"
#include "collector/machine/bpf/machine_bpf.h"

bool machine_bpf_open(struct machine_bpf **to, struct machine_rings *rings,
                      const struct machine_bpf_wishes *wishes, struct err *e)
{
    (void)rings, (void)wishes;
    *to = NULL;
    return err_set(e, ERR_NO_TRIGGER, "Penumbra was built without clang, bpftool or libbpf");
}

void machine_bpf_waits(struct machine_bpf *b, uint64_t period_ns, uint64_t group)
{
    (void)b, (void)period_ns, (void)group;
}

void machine_bpf_look(struct machine_bpf *b, struct machine_rings *rings, uint64_t least_ns)
{
    (void)b, (void)rings, (void)least_ns;
}

void machine_bpf_look_again(struct machine_bpf *b)
{
    (void)b;
}

void machine_bpf_stop(struct machine_bpf *b, struct machine_rings *rings)
{
    (void)b, (void)rings;
}

void machine_bpf_want(struct machine_bpf *b, struct machine_processes *all,
                      struct machine_process *p, const struct machine_record *r)
{
    (void)b, (void)all, (void)p, (void)r;
}

void machine_bpf_forget(struct machine_bpf *b)
{
    (void)b;
}

void machine_bpf_notes(const struct machine_bpf *b, struct buf *notes)
{
    (void)b, (void)notes;
}

void machine_bpf_close(struct machine_bpf *b)
{
    (void)b;
}

bool capture_open(struct capture **to, struct machine_rings *rings, uint64_t period_ns, int cgroup,
                  struct err *e)
{
    (void)rings, (void)period_ns, (void)cgroup;
    *to = NULL;
    return err_set(e, ERR_NO_TRIGGER, "Penumbra was built without clang, bpftool or libbpf");
}

struct capture *capture_open_text(void)
{
    return NULL;
}

void capture_run(struct capture *c, bool run)
{
    (void)c, (void)run;
}

void capture_close(struct capture *c)
{
    (void)c;
}

bool capture_text(struct capture *c, uint64_t address, uint8_t to[CAPTURE_TEXT])
{
    (void)c, (void)address, (void)to;
    return false;
}

struct capture_recipe *capture_recipe_at(struct capture *c, uint64_t pc)
{
    (void)c, (void)pc;
    return NULL;
}

void capture_allow(struct capture *c, const struct capture_process *p)
{
    (void)c, (void)p;
}

bool capture_is_memory(const struct capture *c, uint64_t address)
{
    (void)c, (void)address;
    return false;
}

void capture_notes(const struct capture *c, struct buf *notes)
{
    (void)c, (void)notes;
}
