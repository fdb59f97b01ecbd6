/* The program of the tour: a halo exchange along a ring of PEs, by puts and flags.
 *
 *   oshcc -O2 -g -o tour tour.c
 *   oshrun -np 4 ./tour             the cells of PE 2 are refined, and nobody helps it
 *   oshrun -np 4 ./tour balanced    all PEs have the same work
 *
 * Relaxing a cell is a sleep, so that the run looks alike on every machine, with any number of cores. */

#include <shmem.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CELLS 4096
#define STEPS 20

static double line[CELLS + 2];
static long from_left, from_right;

/* Microseconds of work that a PE has in each step. */
static int work_of(int me, int count, int balanced) {
    int coarse = 10000, refined = 30000;
    if (balanced) {
        return (coarse * (count - 1) + refined) / count;
    }
    return me == 2 ? refined : coarse;
}

static void relax(int microseconds) {
    usleep(microseconds);
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
    shmem_init();
    int me = shmem_my_pe(), count = shmem_n_pes();
    int work = work_of(me, count, argc > 1 && strcmp(argv[1], "balanced") == 0);
    shmem_barrier_all();
    for (long step = 1; step <= STEPS; step++) {
        relax(work);
        exchange(me, count, step);
    }
    shmem_barrier_all();
    if (me == 0) {
        printf("%d steps of %d PEs\n", STEPS, count);
    }
    shmem_finalize();
    return 0;
}
