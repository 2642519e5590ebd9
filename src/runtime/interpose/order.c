/* AddressSanitizer ends a program in whose list of images another library is before its own. Where LD_PRELOAD was made for
 * another program that has passed it on (a static one), that is ours: so the list has ours at its end. */
#include <link.h>
#include <stddef.h>

#include "runtime/interpose/real.h"

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

EXPORT int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *info, size_t size, void *data), void *data)
{
    struct order order = {.callback = callback, .data = data};
    int result = REAL(dl_iterate_phdr)(put_off, &order);
    return result || !order.size ? result : callback(&order.ours, order.size, data);
}
