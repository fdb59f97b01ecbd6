/* Threads of the program that fork teams of their own and end, while other threads do so: prints calls and results. */
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>

#define WAVES 6
#define AT_ONCE 3
#define REGIONS 4

static long sums[AT_ONCE];

static void *run(void *place) {
    long *sum = place;
    for (int i = 0; i < REGIONS; i++) {
        long part = 0;
        #pragma omp parallel num_threads(2 + i % 2) reduction(+ : part)
        part += omp_get_thread_num() + 1;
        *sum += part;
    }
    return NULL;
}

int main(int argc, char **argv) {
    int me, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    omp_set_dynamic(0);
    for (int wave = 0; wave < WAVES; wave++) {
        pthread_t threads[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) pthread_create(&threads[i], NULL, run, &sums[i]);
        for (int i = 0; i < AT_ONCE; i++) pthread_join(threads[i], NULL);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    long calls = 0, total = 0;
    for (int i = 0; i < REGIONS; i++) calls += WAVES * AT_ONCE * (2 + i % 2);
    for (int i = 0; i < AT_ONCE; i++) total += sums[i];
    printf("count %d GOMP_parallel %ld\ncount %d implicit barrier %ld\ncount %d body %ld\n", me, calls, me, calls, me,
           calls);
    printf("result %d: %ld\n", me, total);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
