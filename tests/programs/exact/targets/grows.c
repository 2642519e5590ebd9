/* Work that is the same in every run, whose calling contexts grow fast: fib and a quicksort. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 5000 };
static uint32_t numbers[COUNT];

__attribute__((noinline)) static uint64_t fib(uint32_t n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__attribute__((noinline)) static void sort(uint32_t *lo, uint32_t *hi)
{
    uint32_t *left = lo, *right = hi, pivot = lo[(hi - lo) / 2];
    while (left <= right) {
        while (*left < pivot)
            left++;
        while (*right > pivot)
            right--;
        if (left <= right) {
            uint32_t was = *left;
            *left++ = *right;
            *right-- = was;
        }
    }
    if (lo < right)
        sort(lo, right);
    if (left < hi)
        sort(left, hi);
    __asm__ volatile("" : : : "memory"); /* a call, not a jump */
}

int main(int argc, char **argv)
{
    uint32_t seed = 1;
    for (uint32_t i = 0; i < COUNT; i++)
        numbers[i] = seed = seed * 1664525 + 1013904223;
    sort(numbers, numbers + COUNT - 1);
    printf("%u %lu\n", numbers[COUNT / 2], fib(argc > 1 ? (uint32_t)atoi(argv[1]) : 20));
    return 0;
}
