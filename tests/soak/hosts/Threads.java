// Threads that start and end, wait for each other, and share a map; their stacks are walked for garbage.
import java.util.*;
import java.util.concurrent.*;
public class Threads {
  static long sum(int from, int to) {
    if (to - from < 1000) { long s = 0; for (int i = from; i < to; i++) s += i; return s; }
    int middle = (from + to) / 2;
    return sum(from, middle) + sum(middle, to);
  }
  public static void main(String[] a) throws Exception {
    long end = System.nanoTime() + Long.parseLong(a[0]) * 1000000000L;
    boolean fine = true;
    while (System.nanoTime() < end) {
      ConcurrentHashMap<Integer, String> map = new ConcurrentHashMap<>();
      ExecutorService pool = Executors.newFixedThreadPool(6);
      List<Future<Long>> parts = new ArrayList<>();
      for (int i = 0; i < 24; i++) {
        final int n = i;
        parts.add(pool.submit(() -> {
          for (int k = 0; k < 200; k++) map.put(n * 1000 + k, "value " + k);
          return sum(0, 100000);
        }));
      }
      for (Future<Long> part : parts) fine &= part.get() == 4999950000L;
      pool.shutdown();
      fine &= pool.awaitTermination(60, TimeUnit.SECONDS) && map.size() == 24 * 200;
      System.gc();
    }
    System.out.println(fine ? "fine" : "broken");
  }
}
