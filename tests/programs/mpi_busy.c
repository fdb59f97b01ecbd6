/* Computes for 200 ms of processor time in each process, after all have begun. Two processes on one core then take turns. */
#include <mpi.h>
#include <time.h>

static double on_core(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = on_core();
    while (on_core() < begin + 0.2) {
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
