/* A call of MPI through functions that are not instrumented, one of them inlined. With an argument it is made many
 * times, to see what that costs. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static inline __attribute__((always_inline)) void inlined(void)
{
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

__attribute__((noinline)) static void deep(int depth, int times)
{
    if (depth) {
        deep(depth - 1, times);
        __asm__ volatile("");
        return;
    }
    for (int i = 0; i < times; i++)
        inlined();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int times = argc > 1 ? atoi(argv[1]) : 1, depth = argc > 2 ? atoi(argv[2]) : 2;
    double from = MPI_Wtime();
    deep(depth, times);
    if (times > 1)
        printf("%.1f ns\n", (MPI_Wtime() - from) * 1e9 / times);
    MPI_Finalize();
    return 0;
}
