/* Each rank computes in work() for as many rounds as its number tells: 1, 2, 3, 12, 1, 2, ..., and
 * the same in even(). */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

static volatile uint32_t sink;

__attribute__((noipa)) static void compute(void)
{
    for (uint32_t i = 0; i < 30000000; i++)
        sink += i * i;
}

__attribute__((noipa)) static void work(int rounds)
{
    for (int i = 0; i < rounds; i++)
        compute();
    sink++;
}

__attribute__((noipa)) static void even(void)
{
    compute();
    sink++;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    work(rank % 4 == 3 ? 12 : 1 + rank % 4);
    even();
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d\n", rank);
    MPI_Finalize();
    return 0;
}
