#include "base/sort.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int comparison(const void *, const void *);

/* How many elements from `first` on are in order. */
static size_t run_length(const uint8_t *first, size_t count, size_t size, comparison *compare)
{
    size_t length = count ? 1 : 0;
    while (length < count && compare(first + (length - 1) * size, first + length * size) <= 0)
        length++;
    return length;
}

/* [first, middle) and [middle, end) are in order each; `copy` has room for the first. */
static void merge(uint8_t *first, uint8_t *middle, const uint8_t *end, size_t size,
                  comparison *compare, uint8_t *copy)
{
    const uint8_t *left = copy, *left_end = copy + (middle - first), *right = middle;
    uint8_t *to = first;
    memcpy(copy, first, (size_t)(middle - first));
    for (; left < left_end && right < end; to += size) {
        const uint8_t **from = compare(left, right) <= 0 ? &left : &right;
        memcpy(to, *from, size);
        *from += size;
    }
    memcpy(to, left, (size_t)(left_end - left));
}

void sort_runs(void *base, size_t count, size_t size, comparison *compare)
{
    uint8_t *first = base;
    size_t length = run_length(first, count, size, compare);
    if (length == count)
        return;
    size_t rest = run_length(first + length * size, count - length, size, compare);
    uint8_t *copy = length + rest == count ? malloc(length * size) : NULL;
    if (!copy) {
        qsort(base, count, size, compare);
        return;
    }
    merge(first, first + length * size, first + count * size, size, compare, copy);
    free(copy);
}
