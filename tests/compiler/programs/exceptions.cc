// Exceptions through loops, cleanups and virtual calls; inheritance, templates, static objects.
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace shapes {
struct shape {
    int id = 0;
    virtual ~shape() { ended++; }
    virtual double area() const = 0;
    static int ended;
};
int shape::ended;
struct named {
    std::string name;
    explicit named(const char *n) : name(n) {}
};
struct square : shape, named {
    double side;
    explicit square(double s) : named("square"), side(s) {}
    double area() const override { return side * side; }
};
struct circle : virtual shape, named {
    double radius;
    explicit circle(double r) : named("circle"), radius(r) {}
    double area() const override
    {
        if (radius > 8)
            throw std::out_of_range("radius");
        return 3 * radius * radius;
    }
};
}

struct guard {
    int &count;
    explicit guard(int &c) : count(c) { count++; }
    ~guard() { count += 100; }
};

static int depth(int n, int &count)
{
    guard g(count);
    if (n == 0)
        throw n + 42;
    try {
        return depth(n - 1, count) + 1;
    } catch (const std::exception &) {
        return -1;
    } catch (int x) {
        if (n % 3 == 0)
            throw;
        if (n % 3 == 1)
            throw std::runtime_error("at " + std::to_string(x));
        return x;
    }
}

template <typename T> static T fold(const std::vector<T> &v, std::function<T(T, T)> f)
{
    T all{};
    for (const T &x : v)
        all = f(all, x);
    return all;
}

static int no_throw(int n) noexcept
{
    try {
        if (n & 1)
            throw n;
        return 0;
    } catch (...) {
        return 1;
    }
}

static thread_local std::map<std::string, int> seen;

int main()
{
    std::vector<std::unique_ptr<shapes::shape>> all;
    for (int i = 0; i < 20; i++) {
        if (i & 1)
            all.emplace_back(new shapes::square(i));
        else
            all.emplace_back(new shapes::circle(i));
        all.back()->id = i;
    }
    double sum = 0;
    int failed = 0, count = 0, caught = 0;
    for (const auto &s : all) {
        try {
            sum += s->area() + s->id;
        } catch (const std::out_of_range &e) {
            failed += (int)std::string(e.what()).size();
        }
        seen[dynamic_cast<shapes::named *>(s.get())->name]++;
    }
    for (int i = 0; i < 30; i++) {
        try {
            caught += depth(i % 10, count);
        } catch (int x) {
            caught += x * 2;
        } catch (const std::runtime_error &e) {
            caught += e.what()[3];
        }
        caught += no_throw(i);
    }
    std::vector<int> v{1, 2, 3, 4, 5};
    std::printf("%g %d %d %d %d %d\n", sum, failed, count, caught, seen["circle"],
                fold<int>(v, [&](int a, int b) { return a * 3 + b; }));
    all.clear();
    std::printf("%d\n", shapes::shape::ended);
}
