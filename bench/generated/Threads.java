import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;

/** Threads: a pool, fork and join, locks, concurrent maps, and what they wait for. */
class Threads {
    static class Sort extends RecursiveAction {
        final long[] a;
        final int lo, hi;

        Sort(long[] a, int lo, int hi) {
            this.a = a;
            this.lo = lo;
            this.hi = hi;
        }

        @Override protected void compute() {
            if (hi - lo < 512) {
                Arrays.sort(a, lo, hi);
                return;
            }
            int mid = (lo + hi) >>> 1;
            invokeAll(new Sort(a, lo, mid), new Sort(a, mid, hi));
            long[] left = Arrays.copyOfRange(a, lo, mid);
            for (int i = 0, j = mid, k = lo; i < left.length; k++)
                a[k] = j == hi || left[i] <= a[j] ? left[i++] : a[j++];
        }
    }

    static long total;

    static synchronized void add(long n) { total += n; }

    static void work(ConcurrentMap<Integer, Long> map, int seed) {
        long x = seed;
        for (int i = 0; i < 200_000; i++) {
            x = x * 25214903917L + 11;
            map.merge((int) (x >>> 40) & 4095, 1L, Long::sum);
            if (i % 64 == 0)
                add(x & 1);
        }
    }

    public static void main(String[] args) throws Exception {
        int size = Integer.parseInt(args[0]);
        ExecutorService pool = Executors.newFixedThreadPool(4);
        ConcurrentMap<Integer, Long> map = new ConcurrentHashMap<>();
        List<Future<?>> all = new ArrayList<>();
        for (int i = 0; i < size * 24; i++) {
            int seed = i;
            all.add(pool.submit(() -> work(map, seed)));
        }
        for (Future<?> f : all)
            f.get();
        long[] a = new Random(3).longs(400_000 * size).toArray();
        new ForkJoinPool(4).invoke(new Sort(a, 0, a.length));
        pool.shutdown();
        long sum = 0;
        for (long n : map.values())
            sum += n;
        System.out.println(sum + " " + total + " " + a[a.length / 2]);
    }
}
