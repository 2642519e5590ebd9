#include "sigsafe/unwind_index.h"

#include "sigsafe/sample_path.h"

SAMPLE_PATH
const struct unwind_image *unwind_index_find_as(const struct unwind_index *index, uint64_t pc)
{
    uint32_t low = 0, high = index->count; /* the answer, if any, is the last with lo <= pc */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (index->image[middle].lo <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || pc >= index->image[low - 1].hi)
        return 0;
    return &index->image[low - 1];
}
