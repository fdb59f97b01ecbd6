/* Four threads of each process send to those of the next at the same time, with MPI_THREAD_MULTIPLE. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

static int rank, size;
static long sums[4];

static void *work(void *at) {
    long thread = (long)at;
    for (int round = 0; round < 50; round++) {
        long out = rank + round, in = 0;
        MPI_Request request;
        MPI_Irecv(&in, 1, MPI_LONG, (rank + size - 1) % size, (int)thread, MPI_COMM_WORLD, &request);
        MPI_Send(&out, 1, MPI_LONG, (rank + 1) % size, (int)thread, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sums[thread] += in;
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    pthread_t threads[4];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int several = provided == MPI_THREAD_MULTIPLE;
    for (long i = 0; i < 4; i++) {
        if (several) pthread_create(&threads[i], NULL, work, (void *)i);
        else work((void *)i);
    }
    for (int i = 0; several && i < 4; i++) pthread_join(threads[i], NULL);
    printf("rank %d: %ld\n", rank, sums[0] + sums[1] + sums[2] + sums[3]);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
