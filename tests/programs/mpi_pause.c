/* Ten messages from process 0 to process 1, of which each records others: 0 does not record what it sends third
 * to sixth, 1 not what it receives fifth to ninth. Before the last, 0 is late by 200 ms. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, value;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++) {
        if (rank == 0) {
            if (i == 2) MPI_Pcontrol(0);
            if (i == 6) MPI_Pcontrol(1);
            if (i == 9) usleep(200000);
            if (i % 2) {
                MPI_Request request;
                MPI_Isend(&i, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            } else {
                MPI_Send(&i, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
            }
        } else if (rank == 1) {
            if (i == 4) MPI_Pcontrol(0);
            if (i == 9) MPI_Pcontrol(1);
            MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (value != i) MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    MPI_Finalize();
    return 0;
}
