#include "collector/machine/machine_code.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/machine/bpf/capture.h"

/* The kernel's image and its modules. What else kcore has, such as memory of devices, is not
 * read. */
#define CODE_FIRST UINT64_C(0xffffffff80000000)

struct machine_code {
    struct capture *capture; /* NULL: no BPF program may be loaded */
    int kcore;               /* or -1 */
    Elf64_Phdr *segments;
    unsigned segment_count;
};

/* An ELF file with a segment for each range of the kernel's memory. */
static bool kcore_open(struct machine_code *c, const char *path)
{
    Elf64_Ehdr h;
    c->kcore = open(path, O_RDONLY | O_CLOEXEC);
    if (c->kcore < 0 || pread(c->kcore, &h, sizeof h, 0) != sizeof h ||
        memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phoff > INT64_MAX - (1 << 30))
        return true;
    size_t size = h.e_phnum * sizeof *c->segments;
    c->segments = malloc(size + 1);
    if (!c->segments)
        return false;
    if (pread(c->kcore, c->segments, size, (off_t)h.e_phoff) == (ssize_t)size)
        c->segment_count = h.e_phnum;
    return true;
}

struct machine_code *machine_code_open(const char *kcore, bool bpf)
{
    struct machine_code *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->kcore = -1;
    c->capture = bpf ? capture_open_text() : NULL;
    if (c->capture || kcore_open(c, kcore))
        return c;
    machine_code_close(c);
    return NULL;
}

void machine_code_close(struct machine_code *c)
{
    if (!c)
        return;
    capture_close(c->capture);
    if (c->kcore >= 0)
        close(c->kcore);
    free(c->segments);
    free(c);
}

static size_t kcore_read(const struct machine_code *c, uint64_t address, uint8_t *to, size_t most)
{
    for (unsigned i = 0; i < c->segment_count; i++) {
        const Elf64_Phdr *s = &c->segments[i];
        uint64_t skip = address - s->p_vaddr;
        if (s->p_type != PT_LOAD || address < s->p_vaddr || skip >= s->p_filesz ||
            s->p_offset > INT64_MAX - s->p_filesz || s->p_filesz > INT64_MAX)
            continue;
        uint64_t left = s->p_filesz - skip;
        ssize_t n = pread(c->kcore, to, left < most ? left : most, (off_t)(s->p_offset + skip));
        return n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static size_t capture_read(struct machine_code *c, uint64_t address, uint8_t *to, size_t most)
{
    uint8_t line[CAPTURE_TEXT];
    size_t n = 0;
    while (n < most && capture_text(c->capture, (address + n) & -(uint64_t)CAPTURE_TEXT, line)) {
        size_t skip = (address + n) % CAPTURE_TEXT, here = CAPTURE_TEXT - skip;
        here = here < most - n ? here : most - n;
        memcpy(to + n, line + skip, here);
        n += here;
    }
    return n;
}

size_t machine_code_read(struct machine_code *c, uint64_t address, uint8_t *to, size_t most)
{
    if (address < CODE_FIRST || most > -address)
        return 0;
    return c->capture ? capture_read(c, address, to, most) : kcore_read(c, address, to, most);
}
