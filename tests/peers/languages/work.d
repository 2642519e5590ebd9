import std.algorithm, std.array, std.conv, std.parallelism, std.range, std.stdio;

int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

void main()
{
    writeln(fib(32));
    auto a = iota(100000).map!(x => x.to!string).array;
    sort(a);
    writeln(a[777]);
    try { throw new Exception("one"); } catch (Exception e) { writeln(e.msg); }
    writeln(taskPool.reduce!"a + b"(iota(1000000)));
}
