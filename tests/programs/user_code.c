/* Functions that the compiler instruments, and regions that the program names, around calls of MPI.
 *
 *   mpicc -g -finstrument-functions -I include -o user_code user_code.c
 *
 * Each process says how often it was where. With an argument it goes deeper than the recorder keeps apart.
 */
#include <dwell.h>
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>

static jmp_buf back;

static void exchange(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static int solve(int depth)
{
    if (depth == 0) {
        exchange();
        return 1;
    }
    return solve(depth - 1) + 1;
}

static void gives_up(int how)
{
    exchange();
    longjmp(back, how);
}

static void tries(void)
{
    if (!setjmp(back))
        gives_up(1);
    exchange();
}

static int work(int depth)
{
    int sum = 0;
    for (int round = 0; round < 3; round++) {
        DWELL_BEGIN("a round");
        sum += solve(depth);
        DWELL_END("a round");
    }
    tries();
    return sum;
}

int main(int argc, char **argv)
{
    int rank, deep = argc > 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int depth = deep ? 1000 : 4, sum = work(depth);
    printf("process %d has %d\n", rank, sum);
    printf("count pe=%d work=1 bytes=0\n", rank);
    printf("count pe=%d tries=1 bytes=0\n", rank);
    printf("count pe=%d gives_up=1 bytes=0\n", rank);
    printf("count pe=%d MPI_Barrier=5 bytes=0\n", rank);
    if (!deep) {
        printf("count pe=%d solve=%d bytes=0\n", rank, 3 * (depth + 1));
        printf("count pe=%d exchange=5 bytes=0\n", rank);
    }
    MPI_Finalize();
    return 0;
}
