#include "guest/images.h"

#include <link.h>
#include <sys/mman.h>

#include "guest/image.h"
#include "sigsafe/sample_path.h"
#include "sigsafe/own_memory.h"
#include "sigsafe/sys.h"

enum { IMAGES_RING = 8, IMAGES_FIRST = 128 };

static struct {
    struct unwind_index *current;           /* atomic */
    struct unwind_index *ring[IMAGES_RING]; /* NULL until used */
    uint32_t capacity[IMAGES_RING];
    uint32_t position;
    uint32_t generation;
    uint32_t lock;     /* handlers only try */
    bool open;         /* changed under the lock */
    uint64_t unloaded; /* images, ever, when those that are left were looked at last; atomic */
    struct images_ways ways;
} images;

/* Images being collected, in buffers of the ring. */
struct builder {
    struct unwind_index *index;
    uint32_t capacity;
    uint64_t unloaded;
};

SAMPLE_PATH
const struct unwind_index *images_current_as(void)
{
    return __atomic_load_n(&images.current, __ATOMIC_ACQUIRE);
}

static struct unwind_index *index_map_as(uint32_t capacity)
{
    uint64_t size = sizeof(struct unwind_index) + capacity * sizeof(struct unwind_image);
    long address = own_map_as(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    return sys_failed(address) ? NULL : (struct unwind_index *)address;
}

/* The next buffer of the ring, empty, with room for `needed` images; never the current one. An
 * outgrown buffer stays mapped: a handler may be reading it. */
static bool builder_open_as(struct builder *b, uint32_t needed)
{
    uint32_t i = (images.position + 1) % IMAGES_RING;
    if (images.ring[i] && images.ring[i] == images.current)
        i = (i + 1) % IMAGES_RING;
    images.position = i;
    if (images.capacity[i] < needed) {
        uint32_t capacity = IMAGES_FIRST;
        while (capacity < needed)
            capacity *= 2;
        struct unwind_index *fresh = index_map_as(capacity);
        if (!fresh)
            return false;
        images.ring[i] = fresh;
        images.capacity[i] = capacity;
    }
    b->index = images.ring[i];
    b->capacity = images.capacity[i];
    __atomic_store_n(&b->index->generation, 0, __ATOMIC_RELEASE);
    b->index->count = 0;
    return true;
}

/* Keeps the order by address. */
static void builder_insert_as(struct builder *b, const struct unwind_image *image)
{
    if (b->index->count == b->capacity)
        return;
    uint32_t i = b->index->count++;
    for (; i && b->index->image[i - 1].lo > image->lo; i--)
        b->index->image[i] = b->index->image[i - 1];
    b->index->image[i] = *image;
}

static const struct unwind_image *index_same(const struct unwind_index *index,
                                             const struct unwind_image *image)
{
    for (uint32_t i = 0; index && i < index->count; i++)
        if (index->image[i].lo == image->lo && index->image[i].number == image->number)
            return &index->image[i];
    return NULL;
}

static spool_ref image_record_ref(const struct unwind_image *image)
{
    return spool_ref_of(&guest.spool, image_record(image));
}

static void map_add_as(const struct unwind_image *image, uint32_t epoch)
{
    struct spool_map *map = spool_alloc_as(&guest.spool, sizeof *map);
    if (!map)
        return;
    map->image = image_record_ref(image);
    map->bias = image->bias;
    map->lo = image->lo;
    map->hi = image->hi;
    map->epoch_first = epoch;
    spool_push_as(&guest.spool, &guest.process->maps, map);
}

static void map_end_as(const struct unwind_image *image, uint32_t epoch)
{
    spool_ref ref = guest.process->maps;
    struct spool_map *map;
    while ((map = spool_at(&guest.spool, ref, sizeof *map))) {
        if (map->lo == image->lo && map->image == image_record_ref(image) && !map->epoch_last) {
            __atomic_store_n(&map->epoch_last, epoch, __ATOMIC_RELEASE);
            return;
        }
        ref = map->next;
    }
}

/* Makes the built index the current one, and writes what changed into the spool as a new epoch. */
static void builder_publish_as(struct builder *b)
{
    const struct unwind_index *old = images.current;
    uint32_t epoch = guest.process->epoch + 1;
    bool news = false;
    for (uint32_t i = 0; i < b->index->count; i++)
        if (!index_same(old, &b->index->image[i])) {
            map_add_as(&b->index->image[i], epoch);
            news = true;
        }
    for (uint32_t i = 0; old && i < old->count; i++)
        if (!index_same(b->index, &old->image[i])) {
            map_end_as(&old->image[i], epoch - 1);
            news = true;
        }
    if (!news)
        return;
    b->index->generation = ++images.generation;
    __atomic_store_n(&images.current, b->index, __ATOMIC_RELEASE);
    __atomic_store_n(&guest.process->epoch, epoch, __ATOMIC_RELEASE);
}

/* Describes an image that the process has not had. */
static bool image_new_as(const struct image_source *source, struct unwind_image *image)
{
    if (!image_describe_as(source, image))
        return false;
    if (images.ways.look_as)
        images.ways.look_as(source, image);
    return true;
}

static int image_collect(struct dl_phdr_info *info, size_t size, void *builder)
{
    (void)size;
    struct builder *b = builder;
    struct unwind_image image;
    struct image_source source = {info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum,
                                  info->dlpi_name ? info->dlpi_name : ""};
    b->unloaded = info->dlpi_subs;
    if (image_known(&source, images.current, &image) || image_new_as(&source, &image))
        builder_insert_as(b, &image);
    return 0;
}

/* 1: nothing has been unloaded since they were looked at last. */
static int image_count(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)size;
    ++*(uint32_t *)count;
    return info->dlpi_subs == __atomic_load_n(&images.unloaded, __ATOMIC_ACQUIRE);
}

void images_refresh(void)
{
    uint32_t count = 0;
    if (guest_quiet_as() || dl_iterate_phdr(image_count, &count))
        return;
    while (__atomic_exchange_n(&images.lock, 1, __ATOMIC_ACQUIRE))
        sys_call3_as(SYS_sched_yield, 0, 0, 0);
    struct builder b;
    if (images.open && builder_open_as(&b, count + 16)) {
        dl_iterate_phdr(image_collect, &b);
        builder_publish_as(&b);
        __atomic_store_n(&images.unloaded, b.unloaded, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&images.lock, 0, __ATOMIC_RELEASE);
}

bool images_begin(struct images_ways ways)
{
    images.unloaded = UINT64_MAX;
    images.ways = ways;
    images.open = true;
    images_refresh();
    images.open = images.current != NULL;
    return images.open;
}

/* Describes the image at pc through the loader's lock-free lookup. */
static bool image_find_as(uint64_t pc, struct unwind_image *image)
{
    struct dl_find_object found;
    if (!images.ways.find || images.ways.find((void *)pc, &found) != 0 || !found.dlfo_link_map)
        return false;
    const Elf64_Ehdr *elf = found.dlfo_map_start;
    const uint8_t *magic = elf->e_ident;
    if (magic[0] != 0x7f || magic[1] != 'E' || magic[2] != 'L' || magic[3] != 'F' ||
        elf->e_phoff > 4096 - elf->e_phnum * sizeof(Elf64_Phdr))
        return false;
    const struct link_map *map = found.dlfo_link_map;
    struct image_source source = {
        map->l_addr, (const Elf64_Phdr *)(const void *)((const uint8_t *)elf + elf->e_phoff),
        elf->e_phnum, map->l_name ? map->l_name : ""};
    return image_new_as(&source, image);
}

bool images_add_as(uint64_t pc)
{
    struct unwind_image image;
    struct builder b;
    bool added = false;
    if (guest_quiet_as() || __atomic_exchange_n(&images.lock, 1, __ATOMIC_ACQUIRE))
        return false;
    const struct unwind_index *old = images.current;
    if (images.open && image_find_as(pc, &image) && builder_open_as(&b, old->count + 16)) {
        for (uint32_t i = 0; i < old->count; i++)
            if (old->image[i].hi <= image.lo || old->image[i].lo >= image.hi)
                builder_insert_as(&b, &old->image[i]);
        builder_insert_as(&b, &image);
        builder_publish_as(&b);
        added = images.current != old;
    }
    __atomic_store_n(&images.lock, 0, __ATOMIC_RELEASE);
    return added;
}

bool images_forget(void)
{
    enum { TRIES = 1000 };
    for (int i = 0; __atomic_exchange_n(&images.lock, 1, __ATOMIC_ACQUIRE); i++) {
        if (i == TRIES)
            return false;
        sys_call3_as(SYS_sched_yield, 0, 0, 0);
    }
    images.open = false;
    images.current = NULL;
    __atomic_store_n(&images.lock, 0, __ATOMIC_RELEASE);
    return true;
}

void images_fork_child_as(void)
{
    images.lock = 0;
    uint32_t epoch = ++guest.process->epoch;
    const struct unwind_index *index = images.current;
    for (uint32_t i = 0; index && i < index->count; i++)
        map_add_as(&index->image[i], epoch);
}
