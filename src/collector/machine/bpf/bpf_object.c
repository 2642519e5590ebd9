#include "collector/machine/bpf/bpf_object.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What goes wrong is said by whoever asks; libbpf would write pages of it. */
static int say_nothing(enum libbpf_print_level level, const char *format, va_list list)
{
    (void)level, (void)format, (void)list;
    return 0;
}

/* The programs know processes by the numbers of the first PID namespace. */
static bool is_first_namespace(void)
{
    enum { PROC_PID_INIT_INO = 0xeffffffc };
    struct stat st;
    return !stat("/proc/self/ns/pid", &st) && st.st_ino == (ino_t)(unsigned)PROC_PID_INIT_INO;
}

bool bpf_object_can(struct err *e)
{
    if (access("/sys/kernel/btf/vmlinux", R_OK))
        return err_set_errno(e, ERR_NO_TRIGGER, errno,
                             "the kernel does not describe its structures "
                             "(/sys/kernel/btf/vmlinux, CONFIG_DEBUG_INFO_BTF)");
    if (!is_first_namespace())
        return err_set(e, ERR_NO_TRIGGER, "Penumbra runs in a PID namespace of its own");
    libbpf_set_print(say_nothing);
    return true;
}

void *bpf_object_memory(const struct bpf_object *object, const char *name, size_t *size)
{
    const struct bpf_map *map = bpf_object__find_map_by_name(object, name);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t value = map ? (bpf_map__value_size(map) + 7) & ~(size_t)7 : 0;
    *size = map ? (value * bpf_map__max_entries(map) + page - 1) / page * page : 0;
    void *at = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
    return at == MAP_FAILED ? NULL : at;
}
