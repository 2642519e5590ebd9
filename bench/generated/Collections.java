import java.util.*;

/** Allocation: maps, trees, lists and queues that grow and shrink, under the garbage collector. */
class Collections {
    static long dijkstra(int n, int seed) {
        Random random = new Random(seed);
        List<List<int[]>> edges = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            edges.add(new LinkedList<>());
            for (int k = 0; k < 6; k++)
                edges.get(i).add(new int[] {random.nextInt(n), 1 + random.nextInt(100)});
        }
        long[] best = new long[n];
        Arrays.fill(best, Long.MAX_VALUE);
        PriorityQueue<long[]> queue = new PriorityQueue<>((a, b) -> Long.compare(a[0], b[0]));
        queue.add(new long[] {0, 0});
        while (!queue.isEmpty()) {
            long[] top = queue.poll();
            int at = (int) top[1];
            if (top[0] >= best[at])
                continue;
            best[at] = top[0];
            for (int[] edge : edges.get(at))
                queue.add(new long[] {top[0] + edge[1], edge[0]});
        }
        return best[n - 1] == Long.MAX_VALUE ? 0 : best[n - 1];
    }

    public static void main(String[] args) {
        int size = Integer.parseInt(args[0]);
        long sum = 0;
        for (int i = 0; i < size * 4; i++) {
            sum += dijkstra(60_000, i);
            TreeMap<Integer, String> tree = new TreeMap<>();
            for (int k = 0; k < 150_000; k++)
                tree.put(k * 7919 % 200_003, "v" + k);
            for (Iterator<Integer> it = tree.keySet().iterator(); it.hasNext();)
                if (it.next() % 3 == 0)
                    it.remove();
            ArrayDeque<Object> deque = new ArrayDeque<>(tree.values());
            while (deque.size() > 1)
                deque.addLast(Objects.hash(deque.pollFirst(), deque.pollFirst()));
            sum += deque.peek().hashCode();
        }
        System.out.println(sum);
    }
}
