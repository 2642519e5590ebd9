// Exceptions through a thousand frames, each with something to destroy.
#include <cstdio>

struct guard {
    ~guard() { ++destroyed; }
    static long destroyed;
};
long guard::destroyed;

__attribute__((noinline)) static long down(int depth)
{
    guard g;
    if (depth == 0)
        throw depth + 7;
    long result = down(depth - 1);
    __asm__ volatile("" : "+r"(result));
    return result + 1;
}

int main()
{
    long sum = 0;
    for (int round = 0; round < 3000; round++) {
        try {
            down(1000);
        } catch (int value) {
            sum += value;
        }
        for (int i = 0; i < 20; i++) {
            try {
                down(i);
            } catch (int value) {
                sum += value;
            }
        }
    }
    std::printf("%ld %ld\n", sum, guard::destroyed);
}
