/* One-sided MPI with passive targets: workers fetch blocks of rank 0, which computes outside of MPI and serves nobody there. */
#include <mpi.h>
#include <time.h>

enum { BLOCK = 1024, ROUNDS = 40 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void compute(double milliseconds) {
    double end = now() + milliseconds / 1e3;
    while (now() < end) {
    }
}

static void fetch(double *block, MPI_Win window) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Get(block, BLOCK, MPI_DOUBLE, 0, 0, BLOCK, MPI_DOUBLE, window);
    MPI_Win_unlock(0, window);
}

int main(int argc, char **argv) {
    int me;
    double *own, block[BLOCK];
    MPI_Win window;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Win_allocate(sizeof block, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ROUNDS; i++) {
        if (me == 0) {
            compute(15);
        } else {
            fetch(block, window);
            compute(1);
        }
        if (i % 10 == 9)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
