/** Long loops: compiled while they run (on-stack replacement), one inside the other. */
class Loops {
    static int collatz(long n) {
        int steps = 0;
        for (; n != 1; steps++)
            n = (n & 1) == 0 ? n >> 1 : 3 * n + 1;
        return steps;
    }

    static long sieve(int limit) {
        boolean[] composite = new boolean[limit];
        long sum = 0;
        for (int i = 2; i < limit; i++) {
            if (composite[i])
                continue;
            sum += i;
            for (long j = (long) i * i; j < limit; j += i)
                composite[(int) j] = true;
        }
        return sum;
    }

    static double matrix(int n) {
        double[][] a = new double[n][n], b = new double[n][n], c = new double[n][n];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                a[i][j] = i + j;
                b[i][j] = i - j;
            }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double sum = 0;
                for (int k = 0; k < n; k++)
                    sum += a[i][k] * b[k][j];
                c[i][j] = sum;
            }
        return c[n / 2][n / 3];
    }

    public static void main(String[] args) {
        int size = Integer.parseInt(args[0]);
        long sum = 0, x = 1;
        for (int i = 0; i < size * 60_000_000L; i++)
            x = x * 6364136223846793005L + 1442695040888963407L ^ x >>> 29;
        for (long n = 1; n < size * 700_000L; n++)
            sum += collatz(n);
        for (int i = 0; i < size; i++)
            sum += sieve(12_000_000) + (long) matrix(420);
        System.out.println(sum + " " + x);
    }
}
