/** Call chains that are known: f0 calls f1 calls ... f9, by every kind of call, with frames of many sizes. */
class Chain {
    interface Step {
        long go(int depth, long x);
    }

    static long sum;
    static final Step[] steps = {new Five(), new Other()};

    /* So many ways through the loop that its end is far; and now and then so long that it is compiled while it runs. */
    static long f9(int depth, long x) {
        long[] seen = null;
        for (int i = 0, rounds = depth > 30 ? 4000 : 200;; i++) {
            if (i > rounds && (x & 3) == 0)
                return seen == null ? x : x + seen[i & 7];
            switch ((int) (x >>> 60)) {
            case 0: x = x * 31 + i; break;
            case 1: x ^= x << 13; if (x > 0) x += i; break;
            case 2: x = Long.rotateLeft(x, 7) + (x > i ? 1 : 2); break;
            case 3: seen = new long[8 + (i & 7)]; seen[i & 7] = x; break;
            case 4: x = x / (i | 1) + (x << 40); break;
            case 5: x += x % ((i & 255) + 3); break;
            case 6: x = -x; if ((x & 64) != 0) x ^= 0x5555; else x += 9; break;
            case 7: x -= seen == null ? 1 : seen[7 & i]; break;
            case 8: x = Long.reverse(x) ^ i; break;
            case 9: x = Math.max(x, i) * 5; break;
            case 10: x += (long) Math.sqrt(i) + (x >> 3); break;
            case 11: x = x * 7 ^ x >>> 5; break;
            default: x = x * 6364136223846793005L + 1442695040888963407L;
            }
            x = x * 6364136223846793005L + (x >>> 33) + i;
        }
    }

    static long f8(int depth, long x, long a, long b, long c, long d, long e, long f, long g, long h) {
        long y = f9(depth, x + a), z = f9(depth, y + b);
        return z + a * b + c * d + e * f + g * h + y;
    }

    static synchronized long f7(int depth, long x) {
        return f8(depth, x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7, x + 8) + 1;
    }

    static long f6(int depth, long x) {
        try {
            long y = f7(depth, x);
            if ((y & 1023) == 1023)
                throw new RuntimeException();
            return y;
        } catch (RuntimeException e) {
            return e.getMessage() == null ? x : 0;
        }
    }

    static class Five implements Step {
        public long go(int depth, long x) { return f6(depth, x) ^ 5; }
    }

    static class Other extends Five {
        @Override public long go(int depth, long x) { return f6(depth, x + 1) ^ 6; }
    }

    static long f4(int depth, long x) {
        double a = x, b = a * 2, c = b + a;
        long y = 0;
        for (int i = 0; i < 3; i++) {
            y += steps[i & 1].go(depth, x + i);
            c = c * a - b + y;
        }
        return y + (long) c;
    }

    static long f3(int depth, long x) { return depth == 0 ? f4(depth, x) : f4(depth, x) + f4(depth - 1, x); }

    static long f2(int depth, long x) {
        long[] spilled = new long[8];
        for (int i = 0; i < spilled.length; i++)
            spilled[i] = x << i;
        String text = "depth " + depth;
        return f3(depth, spilled[depth & 7]) + text.hashCode();
    }

    static long f1(int depth, long x) {
        long sum = 0;
        for (int i = 0; i < 2 + depth; i++)
            sum += f2(depth, x + i);
        return sum;
    }

    static long f0(long x) {
        long all = 0;
        for (int i = 0; i < 40; i++)
            all += f1(i % 36, x + i);
        return all;
    }

    public static void main(String[] args) {
        int size = Integer.parseInt(args[0]);
        for (int i = 0; i < size; i++)
            sum += f0(i);
        System.out.println(sum);
    }
}
