/* A team of threads in each process, of which one computes longer, by a delay in milliseconds: prints how long the threads of
   the process wait for it together, in nanoseconds, by their own clocks. With the delay 0 nobody waits. The kinds `parallel`,
   `barrier` and `loop` say where they wait; `first` is like `parallel`, but with the delay in rank 0 only, so that other ranks
   wait for that thread, too. Arguments: kind, threads, delay, rounds. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* The threads sleep, so that they are late by the same time on a machine with fewer cores. */
static void compute(double ms) { usleep(ms * 1000); }

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "parallel";
    int threads = argc > 2 ? atoi(argv[2]) : 2, rounds = argc > 4 ? atoi(argv[4]) : 5, me;
    double delay = argc > 3 ? atof(argv[3]) : 40;
    omp_set_dynamic(0);
    #pragma omp parallel num_threads(threads)
    compute(1); /* Makes the threads. */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (!strcmp(kind, "first") && me != 0) delay = 0;
    long long arrived[64] = {0}, waited = 0;
    for (int round = 0; round < rounds; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (!strcmp(kind, "parallel") || !strcmp(kind, "first")) {
            #pragma omp parallel num_threads(threads)
            {
                int t = omp_get_thread_num();
                compute(5 + (t == threads - 1 ? delay : 0));
                arrived[t] = now();
            }
        } else if (!strcmp(kind, "barrier")) {
            #pragma omp parallel num_threads(threads)
            {
                int t = omp_get_thread_num();
                compute(5 + (t == threads - 1 ? delay : 0));
                arrived[t] = now();
                #pragma omp barrier
            }
        } else if (!strcmp(kind, "loop")) {
            #pragma omp parallel num_threads(threads)
            {
                /* A thread that is too late for an iteration waits from here on. */
                arrived[omp_get_thread_num()] = now();
                #pragma omp for schedule(dynamic, 1)
                for (int i = 0; i < threads; i++) {
                    compute(5 + (i == threads - 1 ? delay : 0));
                    arrived[omp_get_thread_num()] = now();
                }
            }
        }
        long long last = 0;
        for (int t = 0; t < threads; t++) if (arrived[t] > last) last = arrived[t];
        for (int t = 0; t < threads; t++) waited += last - arrived[t];
    }
    printf("waited %d %lld\n", me, waited);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
