// Recursion, exceptions through 500 frames, iterators, delegates, threads, collections of what is live on stacks.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;

static class Calls {
    static int Fib(int n) { return n < 2 ? n : Fib(n - 1) + Fib(n - 2); }
    static int Deep(int n) { if (n == 0) throw new InvalidOperationException("x"); return Deep(n - 1) + 1; }
    static IEnumerable<int> Squares(int n) { for (int i = 0; i < n; i++) yield return i * i; }
    static int Kept(int n) {
        var data = new byte[100 + n];
        data[n] = (byte)n;
        int below = n == 0 ? 0 : Kept(n - 1);
        if (n == 50) GC.Collect(0);
        return below + data[n];
    }
    static bool Round() {
        bool fine = Fib(18) == 2584 && Kept(100) == 5050 && Squares(100).Sum() == 328350;
        try { Deep(500); fine = false; } catch (InvalidOperationException e) { fine = fine && e.Message == "x"; }
        return fine;
    }
    static int Main(string[] arguments) {
        bool fine = true;
        var end = DateTime.UtcNow.AddSeconds(int.Parse(arguments[0]));
        var threads = Enumerable.Range(0, 3).Select(_ => new Thread(() => {
            while (DateTime.UtcNow < end) if (!Round()) fine = false;
        })).ToList();
        threads.ForEach(t => t.Start());
        threads.ForEach(t => t.Join());
        Console.WriteLine(fine ? "fine" : "broken");
        return 0;
    }
}
