/* A halo exchange along a ring of PEs whose phases are paced by the clock.
 *
 *   oshcc -O1 -g -o paced_halo paced_halo.c
 *   oshrun -np 4 ./paced_halo STEPS MICROSECONDS_OF_PE_2 MICROSECONDS_OF_OTHERS
 *
 * Each PE sleeps until its next deadline, so that a phase that began late ends in time, and the length of the run says how
 * long its phases are, not how busy the machine is. */

#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CELLS 4096

static double line[CELLS + 2];
static long from_left, from_right;

static void until(struct timespec *deadline, long microseconds) {
    deadline->tv_nsec += microseconds * 1000;
    deadline->tv_sec += deadline->tv_nsec / 1000000000;
    deadline->tv_nsec %= 1000000000;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, deadline, NULL);
}

static void exchange(int me, int count, long step) {
    int left = (me + count - 1) % count, right = (me + 1) % count;
    shmem_double_put(&line[CELLS + 1], &line[1], 1, left);
    shmem_double_put(&line[0], &line[CELLS], 1, right);
    shmem_fence();
    shmem_long_p(&from_right, step, left);
    shmem_long_p(&from_left, step, right);
    shmem_long_wait_until(&from_left, SHMEM_CMP_GE, step);
    shmem_long_wait_until(&from_right, SHMEM_CMP_GE, step);
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 100;
    long late = argc > 2 ? atol(argv[2]) : 9000, others = argc > 3 ? atol(argv[3]) : 3000;
    shmem_init();
    int me = shmem_my_pe(), count = shmem_n_pes();
    shmem_barrier_all();
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    for (long step = 1; step <= steps; step++) {
        until(&deadline, me == 2 ? late : others);
        exchange(me, count, step);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
