/* A halo exchange along a line of PEs: puts, then flags that say that they are there. PE 2 computes three times as long as
 * the others, as if its part of the grid were refined, so its neighbours wait for its flags, and their neighbours for
 * theirs. */

#include <shmem.h>
#include <stdio.h>
#include <unistd.h>

/* Microseconds that PE 2 computes in a step. */
#ifndef LATE
#define LATE 9000
#endif

#define CELLS 4096
#define STEPS 60

static double line[CELLS + 2];
static long from_left, from_right;

static void smooth(int me) {
    usleep(me == 2 ? LATE : 3000);
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

int main(void) {
    shmem_init();
    int me = shmem_my_pe(), count = shmem_n_pes();
    shmem_barrier_all();
    for (long step = 1; step <= STEPS; step++) {
        smooth(me);
        exchange(me, count, step);
        if (step % 20 == 0) {
            shmem_barrier_all();
        }
    }
    if (me == 0) {
        printf("%d steps\n", STEPS);
    }
    shmem_finalize();
    return 0;
}
