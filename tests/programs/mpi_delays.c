/* Waits of a known length: rank 1 comes late, or stays away from the library, by so many milliseconds.
 *
 *     mpi_delays KIND MILLISECONDS
 *
 * late_sender   rank 0 receives what rank 1 sends late
 * barrier       rank 0 waits for rank 1 in a barrier
 * broadcast     rank 0 waits for the root of a broadcast
 * progress      rank 0 gets from rank 1 and flushes, while that computes
 * fence         rank 0 waits for rank 1 in a fence
 * lock          rank 0 waits for a lock that rank 1 holds */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void compute(double milliseconds) {
    double end = MPI_Wtime() + milliseconds / 1000;
    while (MPI_Wtime() < end) {
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const char *kind = argv[1];
    double delay = atof(argv[2]);
    int rank, value = 7;
    double *memory, got = 0;
    MPI_Win win;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    *memory = rank;
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(kind, "late_sender")) {
        if (rank == 1) {
            compute(delay);
            MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        } else if (rank == 0) {
            MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    } else if (!strcmp(kind, "barrier")) {
        if (rank == 1) compute(delay);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (!strcmp(kind, "broadcast")) {
        if (rank == 1) compute(delay);
        MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD);
    } else if (!strcmp(kind, "fence")) {
        MPI_Win_fence(0, win);
        if (rank == 1) compute(delay);
        MPI_Win_fence(0, win);
    } else if (!strcmp(kind, "progress")) {
        MPI_Win_lock_all(0, win);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            compute(delay);
        } else if (rank == 0) {
            compute(5);
            MPI_Get(&got, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, win);
            MPI_Win_flush(1, win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_unlock_all(win);
    } else if (!strcmp(kind, "lock")) {
        if (rank == 1) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
            MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
            compute(delay);
            MPI_Win_unlock(1, win);
        } else if (rank == 0) {
            MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
            MPI_Get(&got, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, win);
            MPI_Win_unlock(1, win);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    if (rank == 0) printf("done\n");
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
