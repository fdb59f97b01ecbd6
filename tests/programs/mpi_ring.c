/* Passes a token around all processes, ROUNDS times, a pause between two rounds.
 *
 *   mpicc -O1 -g -o mpi_ring mpi_ring.c
 *   mpirun -np 4 ./mpi_ring [ROUNDS [MICROSECONDS [EVERY [ALONE]]]]
 *
 * After every EVERY rounds all processes meet, by turns in a barrier and in a sum, and then each makes ALONE calls that
 * concern nobody else. If EVERY is negative they meet on a duplicate of the world.
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
    int every = argc > 3 ? atoi(argv[3]) : 0;
    int alone = argc > 4 ? atoi(argv[4]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm same, all_of_them = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &same);
    if (every < 0) {
        every = -every;
        all_of_them = same;
    }
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
        if (every && round % every == 0) {
            int one = 1, all = 0;
            if (round / every % 2)
                MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, all_of_them);
            else
                MPI_Barrier(all_of_them);
            for (int call = 0; call < alone; call++) MPI_Barrier(MPI_COMM_SELF);
        }
    }
    MPI_Comm_free(&same);
    if (rank == 0) printf("token %d\n", token);
    MPI_Finalize();
    return 0;
}
