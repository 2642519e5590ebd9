/* OpenMP: parallel loops, reductions, tasks, critical sections. */
#include <stdio.h>

static long fibonacci(int n)
{
    if (n < 2)
        return n;
    long a, b;
#pragma omp task shared(a) if (n > 12)
    a = fibonacci(n - 1);
#pragma omp task shared(b) if (n > 12)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(void)
{
    static long array[1000];
    long sum = 0, most = 0, f = 0;
#pragma omp parallel for schedule(dynamic, 7) num_threads(4)
    for (int i = 0; i < 1000; i++)
        array[i] = (i * 7919L) % 1009;
#pragma omp parallel for reduction(+ : sum) num_threads(4)
    for (int i = 0; i < 1000; i++)
        sum += array[i];
#pragma omp parallel num_threads(4)
    {
        long mine = 0;
#pragma omp for nowait
        for (int i = 0; i < 1000; i++)
            if (array[i] > mine)
                mine = array[i];
#pragma omp critical
        if (mine > most)
            most = mine;
    }
#pragma omp parallel num_threads(4)
#pragma omp single
    f = fibonacci(16);
    printf("%ld %ld %ld\n", sum, most, f);
    return 0;
}
