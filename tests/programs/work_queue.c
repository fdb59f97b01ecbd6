/* A work queue: a counter of PE 0, a static variable, from which all PEs take their tasks. PE 0 computes and takes tasks,
 * too. Its own calls serve nobody, so the others wait for their first task until PE 0 is done with all others. */

#include <shmem.h>
#include <stdio.h>
#include <time.h>

#define TASKS 40

static long next;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void compute(double seconds) {
    double end = now() + seconds;
    while (now() < end) {
    }
}

static long take_task(void) {
    return shmem_long_atomic_fetch_inc(&next, 0);
}

int main(void) {
    shmem_init();
    shmem_barrier_all();
    double waited = 0;
    for (;;) {
        double begin = now();
        long task = take_task();
        if (shmem_my_pe() != 0) waited += now() - begin;
        if (task >= TASKS) break;
        compute(0.01);
    }
    printf("pe %d waited %.6f\n", shmem_my_pe(), waited);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
