/* Arrays that double when they are full, and the search in those that are in order.
 *
 * Context: ordinary code.
 * Ownership: the array is the caller's, to free(); NULL is one without room. */
#ifndef PENUMBRA_BASE_ARRAY_H
#define PENUMBRA_BASE_ARRAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* As reallocarray, for twice as many elements, or the first few. */
static inline void *array_double(void *items, size_t *capacity, size_t each)
{
    enum { FIRST = 16 };
    size_t wanted = *capacity ? *capacity * 2 : FIRST;
    void *grown = wanted <= UINT32_MAX ? reallocarray(items, wanted, each) : NULL;
    if (grown)
        *capacity = wanted;
    return grown;
}

/* Room for one more element behind `count`; false without memory, and nothing has changed. All
 * three are lvalues, `capacity` of 32 bits or more. */
#define ARRAY_ROOM(items, count, capacity)                                                         \
    __extension__({                                                                                \
        size_t room_ = (capacity);                                                                 \
        bool full_ = (count) >= room_;                                                             \
        void *items_ = full_ ? array_double((items), &room_, sizeof *(items)) : (items);           \
        if (full_ && items_) {                                                                     \
            (items) = items_;                                                                      \
            (capacity) = (__typeof__(capacity))room_;                                              \
        }                                                                                          \
        !full_ || items_;                                                                          \
    })

/* For how many of `count` elements a condition on the index i holds: it does for none after the
 * first for which it does not. */
#define ARRAY_LEADING(count, i, holds)                                                             \
    __extension__({                                                                                \
        __typeof__((count) + 0) low_ = 0, high_ = (count);                                         \
        while (low_ < high_) {                                                                     \
            __typeof__(low_) i = low_ + (high_ - low_) / 2;                                        \
            if (holds)                                                                             \
                low_ = i + 1;                                                                      \
            else                                                                                   \
                high_ = i;                                                                         \
        }                                                                                          \
        low_;                                                                                      \
    })

#endif
