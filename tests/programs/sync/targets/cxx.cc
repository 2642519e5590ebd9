// Operators new and delete of every kind; a quarter of the bytes by each of four functions.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone))

struct alignas(64) wide {
    char bytes[1024];
};

static void *volatile sink;

NOINLINE static void by_new(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        char *p = new char[1024];
        sink = p;
        delete[] p;
    }
}

NOINLINE static void by_aligned_new(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        wide *p = new wide;
        sink = p;
        delete p;
    }
}

NOINLINE static void by_nothrow(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        char *p = new (std::nothrow) char[1024];
        sink = p;
        operator delete[](p, std::nothrow);
    }
}

NOINLINE static void by_malloc(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        sink = std::malloc(1024);
        std::free(sink);
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? std::atoi(argv[1]) : 10000, thrown = 0;
    by_new(rounds);
    by_aligned_new(rounds);
    by_nothrow(rounds);
    by_malloc(rounds);
    for (int i = 0; i < 100; i++) {
        try {
            volatile std::size_t huge = static_cast<std::size_t>(-1) / 4;
            sink = operator new(huge);
        } catch (const std::bad_alloc &) {
            thrown++;
        }
    }
    std::printf("%d\n", thrown);
    return 0;
}
