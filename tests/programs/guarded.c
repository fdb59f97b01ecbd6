/* Goes through every kind of entry into the recorder, and prints what it computed: calls of a runtime before and after,
 * clocks compared in barriers, the program's own regions, pausing, threads that come and go.
 *
 * Built as a program of OpenSHMEM with -DSHMEM, else of MPI. Prints a line for each process. */
#include "dwell.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

#ifdef SHMEM
#include <shmem.h>

static long box, sum;

static long exchange(long value) {
    shmem_long_p(&box, value, (rank + 1) % size);
    shmem_barrier_all();
    long got = box;
    sum = shmem_long_atomic_fetch_add(&sum, got, rank) + got;
    shmem_barrier_all();
    return got;
}

static void begin(void) {
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    rank = shmem_my_pe();
    size = shmem_n_pes();
}

static void end(void) { shmem_finalize(); }
static void control(int level) {
    if (level) DWELL_RESUME();
    else DWELL_PAUSE();
}
static void look(void) { (void)shmem_long_g(&box, rank); }

#else
#include <mpi.h>

static MPI_Win window;
static long *box;

static long exchange(long value) {
    long got = 0;
    MPI_Request request;
    MPI_Irecv(&got, 1, MPI_LONG, (rank + size - 1) % size, 5, MPI_COMM_WORLD, &request);
    MPI_Send(&value, 1, MPI_LONG, (rank + 1) % size, 5, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_fence(0, window);
    MPI_Put(&got, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, window);
    MPI_Win_fence(0, window);
    long all = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&got, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
    return got + all;
}

static void begin(void) {
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &box, &window);
    *box = 0;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void end(void) {
    MPI_Win_free(&window);
    MPI_Finalize();
}

static void control(int level) { MPI_Pcontrol(level); }

static void look(void) {
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}
#endif

static void *worker(void *unused) {
    for (int i = 0; i < 20; i++) look();
    return unused;
}

int main(void) {
    begin();
    long total = 0;
    for (int round = 0; round < 12; round++) {
        errno = 77;
        DWELL_BEGIN("round");
        DWELL_PARAMETER_INT("number", round);
        if (errno != 77) printf("errno is %d\n", errno);
        total += exchange(10 * rank + round);
        if (round == 4) control(0);
        if (round == 6) control(1);
        if (round % 3 == 0) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, worker, NULL)) abort();
            pthread_join(thread, NULL);
        }
        DWELL_COUNTER_INT("total", "1", total);
        DWELL_END("round");
    }
    DWELL_PAUSE();
    DWELL_RESUME();
    printf("rank %d of %d: %ld\n", rank, size, total);
    fflush(stdout);
    end();
    return 0;
}
