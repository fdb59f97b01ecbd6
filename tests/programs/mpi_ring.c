/* Passes a token around all processes, ROUNDS times, a pause between two rounds.
 *
 *   mpicc -O1 -g -o mpi_ring mpi_ring.c
 *   mpirun -np 4 ./mpi_ring [ROUNDS [MICROSECONDS]]
 *
 * Every message is received after it was sent, whatever clocks say. Process 1 is late by 100 ms once, in the
 * middle, so that process 2 waits for it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, size, token = 0;
    int rounds = argc > 1 ? atoi(argv[1]) : 200;
    int pause = argc > 2 ? atoi(argv[2]) : 2000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int round = 0; round < rounds; round++) {
        if (rank == 0) {
            usleep(pause);
            MPI_Send(&token, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
            MPI_Recv(&token, 1, MPI_INT, before, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&token, 1, MPI_INT, before, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == 1 && round == rounds / 2) usleep(100000);
            token++;
            MPI_Send(&token, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
        }
    }
    if (rank == 0) printf("token %d\n", token);
    MPI_Finalize();
    return 0;
}
