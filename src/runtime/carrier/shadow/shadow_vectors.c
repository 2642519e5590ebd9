#include "runtime/carrier/shadow/shadow_vectors.h"

#include <asm/sigcontext.h>
#include <sys/mman.h>

#include "sigsafe/sys.h"

enum { LEGACY = 512, ALIGNMENT = 64 };

static struct {
    uint64_t features, size;
} vectors;

/* Linux: arch/x86/include/uapi/asm/sigcontext.h, struct _fpx_sw_bytes in the last bytes of the
 * legacy area. */
bool shadow_vectors_begin_as(const void *frame)
{
    if (!frame || (uint64_t)frame % ALIGNMENT)
        return false;
    const struct _fpx_sw_bytes *about =
        (const struct _fpx_sw_bytes *)(const void *)((const uint8_t *)frame + LEGACY -
                                                     sizeof *about);
    if (about->magic1 != FP_XSTATE_MAGIC1 || about->xstate_size <= LEGACY)
        return false;
    vectors.features = about->xfeatures;
    vectors.size = about->xstate_size;
    return true;
}

void *shadow_vectors_area_as(void)
{
    long at = sys_call6_as(SYS_mmap, 0, (long)vectors.size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return sys_failed(at) ? NULL : (void *)at;
}

void shadow_vectors_save(void *area)
{
    __asm__ volatile("xsave64 (%0)"
                     :
                     : "r"(area), "a"((uint32_t)vectors.features),
                       "d"((uint32_t)(vectors.features >> 32))
                     : "memory");
}

void shadow_vectors_load(const void *area)
{
    __asm__ volatile("xrstor64 (%0)"
                     :
                     : "r"(area), "a"((uint32_t)vectors.features),
                       "d"((uint32_t)(vectors.features >> 32))
                     : "memory");
}
