/* The kernel's code as it is now, with what it has patched: by a BPF program, or of /proc/kcore.
 *
 * Context: ordinary code, one thread.
 * Ownership: machine_code_close releases all. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_CODE_H
#define PENUMBRA_COLLECTOR_MACHINE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct machine_code;

/* kcore: "/proc/kcore", for where no BPF program is wanted or may be loaded. NULL without memory;
 * where nothing can be read, nothing is. */
struct machine_code *machine_code_open(const char *kcore, bool bpf);
void machine_code_close(struct machine_code *c);
/* How many bytes could be read from the address on. */
size_t machine_code_read(struct machine_code *c, uint64_t address, uint8_t *to, size_t most);

#endif
