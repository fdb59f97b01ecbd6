/* A histogram of random numbers over all PEs, by an atomic increment for each number, as the plainest variant of bale's. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { BINS = 1000, NUMBERS = 2000 };

static long bins[BINS];

int main(void) {
    shmem_init();
    int me = shmem_my_pe(), count = shmem_n_pes();
    unsigned seed = 7 + (unsigned)me;
    shmem_barrier_all();
    for (int i = 0; i < NUMBERS; i++) {
        long bin = rand_r(&seed) % (BINS * (long)count);
        shmem_long_atomic_inc(&bins[bin / count], (int)(bin % count));
    }
    shmem_barrier_all();
    long sum = 0;
    for (int i = 0; i < BINS; i++)
        sum += bins[i];
    printf("pe %d counts %s\n", me, sum > 0 ? "some" : "none");
    shmem_finalize();
    return 0;
}
