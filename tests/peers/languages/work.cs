using System;
using System.Collections.Generic;
using System.Threading;

class Work {
    static int Fib(int n) { return n < 2 ? n : Fib(n - 1) + Fib(n - 2); }
    static void Main() {
        Console.WriteLine(Fib(32));
        var list = new List<string>();
        for (int i = 0; i < 200000; i++) list.Add(i.ToString());
        list.Sort(StringComparer.Ordinal);
        Console.WriteLine(list[777]);
        object nothing = null;
        try { nothing.ToString(); } catch (NullReferenceException) { Console.WriteLine("null"); }
        int sum = 0;
        var threads = new Thread[8];
        for (int i = 0; i < 8; i++) (threads[i] = new Thread(() => Interlocked.Add(ref sum, Fib(20)))).Start();
        foreach (var t in threads) t.Join();
        Console.WriteLine(sum);
    }
}
