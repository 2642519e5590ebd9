// Recursion, exceptions through 200 frames, garbage.
import java.util.*;
public class Calls {
  static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
  static int deep(int n) { if (n == 0) throw new RuntimeException("x"); return deep(n - 1) + 1; }
  public static void main(String[] a) {
    long end = System.nanoTime() + Long.parseLong(a[0]) * 1000000000L;
    boolean fine = true;
    while (System.nanoTime() < end) {
      fine &= fib(25) == 75025;
      try { deep(200); fine = false; } catch (RuntimeException e) { fine &= e.getMessage().equals("x"); }
      Map<Integer, String> m = new HashMap<>();
      for (int i = 0; i < 1000; i++) m.put(i, "v" + i);
      fine &= m.size() == 1000;
    }
    System.out.println(fine ? "fine" : "broken");
  }
}
