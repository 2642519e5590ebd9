// Throws through a few frames, with cleanups on the way, and catches.
#include <stdexcept>
#include <string>

struct cleanup {
    int *count;
    ~cleanup() { ++*count; }
};

__attribute__((noinline)) static int thrower(int depth, int *count)
{
    cleanup guard{count};
    if (depth == 0)
        throw std::runtime_error(std::string(40, 'x'));
    return thrower(depth - 1, count) + 1;
}

extern "C" int throwing_run(int depth)
{
    int count = 0;
    try {
        thrower(depth, &count);
    } catch (const std::exception &e) {
        return count + static_cast<int>(std::string(e.what()).size());
    }
    return 0;
}
