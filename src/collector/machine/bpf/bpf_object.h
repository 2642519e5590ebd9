/* What all BPF programs of the collector need to be loaded.
 *
 * Context: the main thread. Ownership: mapped memory is the caller's. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_BPF_OBJECT_H
#define PENUMBRA_COLLECTOR_MACHINE_BPF_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct bpf_object;

/* Whether the kernel describes its structures, and numbers processes as the programs do. libbpf is
 * told to say nothing: what goes wrong is said by whoever asks. */
bool bpf_object_can(struct err *e);
/* The memory of an array that may be mapped; NULL. */
void *bpf_object_memory(const struct bpf_object *object, const char *map, size_t *size);

#endif
