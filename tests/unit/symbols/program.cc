// What test_symbols resolves: inlining over several levels and units, templates, closures, a virtual
// function, a nested class, C linkage, a cold path, aliases.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace shapes {

struct Shape {
    virtual ~Shape() = default;
    virtual double area(double scale) const = 0;
};

struct Square : Shape {
    explicit Square(double s) : side(s) {}
    double area(double scale) const override { return side * side * scale; }
    double side;
};

template <int N> static inline int rank(std::vector<int> &v)
{
    std::sort(v.begin(), v.end(), [](int a, int b) { return (a ^ N) < (b ^ N); });
    return v[N % v.size()];
}

static inline int add_three(int x) { return x + std::rand() % 3; }
static inline int add_six(int x) { return add_three(add_three(x)) * 5; }

} // namespace shapes

extern "C" __attribute__((noinline)) int plain_c_function(int x)
{
    if (__builtin_expect(x == 12345, 0)) {
        std::puts("unlikely");
        std::abort();
    }
    return shapes::add_six(x) + shapes::add_six(x + 1);
}

extern "C" __attribute__((noinline)) int __aliased(int x) { return x ^ 5; }
extern "C" int aliased(int) __attribute__((weak, alias("__aliased")));
extern "C" int aliased_longer(int) __attribute__((alias("__aliased")));

__attribute__((noinline)) static int count_words(const std::map<std::string, int> &words)
{
    int sum = 0;
    auto each = [&](const std::pair<const std::string, int> &w) {
        sum += w.second * static_cast<int>(w.first.size());
    };
    std::for_each(words.begin(), words.end(), each);
    return sum;
}

int main(int argc, char **argv)
{
    struct Local {
        int value;
        __attribute__((noinline)) int twice(int x) { return value + plain_c_function(2 * x) + __aliased(x); }
    } local{argc};
    std::vector<int> v;
    for (int i = 0; i < 1000; i++)
        v.push_back(i * 7919 % 1000);
    std::map<std::string, int> words{{argv[0], 1}, {"two", 2}};
    shapes::Square square(argc);
    const shapes::Shape *shape = &square;
    std::printf("%d %d %d %g %d\n", shapes::rank<3>(v), shapes::rank<5>(v), count_words(words),
                shape->area(argc), local.twice(argc));
}
