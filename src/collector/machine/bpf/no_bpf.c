/* A build without clang, bpftool or libbpf. */
#include "collector/machine/bpf/machine_bpf.h"

bool machine_bpf_open(struct machine_bpf **to, struct machine_rings *rings, bool lasting,
                      struct err *e)
{
    (void)rings, (void)lasting;
    *to = NULL;
    return err_set(e, ERR_NO_TRIGGER, "Penumbra was built without clang, bpftool or libbpf");
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
