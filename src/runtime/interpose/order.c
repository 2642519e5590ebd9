/* AddressSanitizer ends a program in whose list of images another library is before its own. Where
 * LD_PRELOAD was made for another program that has passed it on (a static one), that is ours: so
 * the list has ours at its end.
 *
 * And LeakSanitizer walks through the list while it searches all stacks for what the program may
 * still reach: at the end, in a destructor before ours, or when the program asks for it. A sample's
 * frame holds registers, and what had been left below the stack; and on an alternate stack it makes
 * all of the other one be searched. So there are none meanwhile. */
#include <link.h>
#include <stddef.h>

#include "guest/images.h"
#include "runtime/interpose/real.h"
#include "runtime/process.h"
#include "runtime/runtime.h"

/* Made by the linker: where this library begins. */
__attribute__((visibility("hidden"))) extern const ElfW(Ehdr) __ehdr_start;

struct order {
    int (*callback)(struct dl_phdr_info *info, size_t size, void *data);
    void *data;
    struct dl_phdr_info ours;
    size_t size; /* of ours; 0: not met */
};

static int put_off(struct dl_phdr_info *info, size_t size, void *state)
{
    struct order *order = state;
    if (info->dlpi_addr != (ElfW(Addr))&__ehdr_start || size > sizeof order->ours)
        return order->callback(info, size, order->data);
    order->ours = *info;
    order->size = size;
    return 0;
}

extern void __lsan_do_leak_check(void) __attribute__((weak));

/* By code of the image that LeakSanitizer is in. */
static bool may_search(uint64_t callback)
{
    const struct unwind_index *index =
        __lsan_do_leak_check && rt_running_as() ? images_current_as() : NULL;
    const struct unwind_image *theirs =
        index ? unwind_index_find_as(index, (uint64_t)__lsan_do_leak_check) : NULL;
    return theirs && unwind_index_find_as(index, callback) == theirs;
}

EXPORT int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *info, size_t size, void *data),
                           void *data)
{
    struct order order = {.callback = callback, .data = data};
    bool held = may_search((uint64_t)callback) && process_samples_hold();
    int result = REAL(dl_iterate_phdr)(put_off, &order);
    if (!result && order.size)
        result = callback(&order.ours, order.size, data);
    if (held)
        process_samples_release();
    return result;
}
