/* Code at an address, for who interprets it: the kernel's by the BPF program, as of less than a
 * second ago; a process's from its file, or where it has none from its memory.
 *
 * What was captured at the instruction itself comes first: it is of that moment.
 *
 * Context: the machine's thread.
 * Ownership: borrows the capture and the process. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_TEXT_H
#define PENUMBRA_COLLECTOR_MACHINE_TEXT_H

#include "collector/machine/bpf/capture.h"
#include "collector/machine/machine_memory.h"

enum { MACHINE_TEXT_LINES = 1024 };

struct machine_text {
    struct capture *capture;
    struct machine_memory memory;
    struct machine_record none; /* a sample without a stack */
    uint64_t at;                /* of what was captured */
    const uint8_t *bytes;
    unsigned count;
    uint64_t now_ns;
    struct {
        uint64_t address, ns;
        bool there;
        uint8_t bytes[CAPTURE_TEXT];
    } line[MACHINE_TEXT_LINES]; /* of the kernel's code */
};

/* process: NULL for the kernel's. The bytes captured at `at` stay the caller's. */
void machine_text_begin(struct machine_text *t, const struct machine_process *process, uint64_t at,
                        const uint8_t *bytes, unsigned count);
/* Returns how many bytes there are at the address, at most `most`. */
unsigned machine_text_read(struct machine_text *t, uint64_t address, uint8_t *to, unsigned most);

#endif
