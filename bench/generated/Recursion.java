/** Recursive and virtual calls: trees of expressions, Ackermann's function, queens. */
class Recursion {
    interface Node {
        long value(long x);
    }

    record Constant(long n) implements Node {
        public long value(long x) { return n; }
    }

    record Variable() implements Node {
        public long value(long x) { return x; }
    }

    record Sum(Node a, Node b) implements Node {
        public long value(long x) { return a.value(x) + b.value(x); }
    }

    record Product(Node a, Node b) implements Node {
        public long value(long x) { return a.value(x) * b.value(x + 1); }
    }

    static Node tree(int depth) {
        if (depth == 0)
            return new Variable();
        if (depth % 5 == 4)
            return new Sum(new Constant(depth), tree(depth - 1));
        return depth % 2 == 0 ? new Sum(tree(depth - 1), tree(depth - 1)) : new Product(tree(depth - 1), tree(depth - 1));
    }

    static int ackermann(int m, int n) {
        if (m == 0)
            return n + 1;
        return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
    }

    static int queens(int n, int row, int columns, int left, int right) {
        if (row == n)
            return 1;
        int found = 0;
        for (int free = ((1 << n) - 1) & ~(columns | left | right); free != 0; free &= free - 1) {
            int bit = free & -free;
            found += queens(n, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);
        }
        return found;
    }

    public static void main(String[] args) {
        int size = Integer.parseInt(args[0]);
        long sum = 0;
        Node root = tree(20);
        for (int i = 0; i < size * 30; i++)
            sum += root.value(i);
        for (int i = 0; i < size * 2; i++)
            sum += ackermann(2, 2000) + ackermann(3, 8);
        for (int i = 0; i < size; i++)
            sum += queens(12, 0, 0, 0, 0);
        System.out.println(sum);
    }
}
