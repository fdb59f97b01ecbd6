/* Rank 0 gets from the window of rank 1 while that computes, and tests the requests until they are complete. It prints in how many
 * loops a test found its requests incomplete, and how many tests did: `LOOPS TESTS`. */

#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { ROUNDS = 5 };

static void compute(double seconds) {
    struct timespec time;
    double begin = MPI_Wtime();
    do clock_gettime(CLOCK_MONOTONIC, &time); while (MPI_Wtime() - begin < seconds);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int me, loops = 0, tests = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    long *memory, got[2];
    MPI_Win window;
    MPI_Win_allocate(2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    memory[0] = memory[1] = me;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (me == 1) {
            compute(0.02);
        } else if (me == 0) {
            MPI_Request requests[2];
            int complete = 0, failed = 0;
            for (int i = 0; i < 2; i++) MPI_Rget(got + i, 1, MPI_LONG, 1, i, 1, MPI_LONG, window, requests + i);
            while (!complete) {
                /* Of one request in one round, of both in the next. */
                if (round % 2 == 0) MPI_Test(requests, &complete, MPI_STATUS_IGNORE);
                else MPI_Testall(2, requests, &complete, MPI_STATUSES_IGNORE);
                failed += !complete;
            }
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            loops += failed > 0, tests += failed;
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(window);
    if (me == 0) printf("%d %d\n", loops, tests);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
