/* Pauses and resumes what is recorded of it.
 *
 *   oshcc -g -I include -o control control.c
 *
 * Every PE calls shmem_barrier_all 2 + 3 + 4 + 1 + 5 times, and shmem_long_p; those in the second and the
 * fourth stretch are not to be recorded. The last barriers are, and have their numbers. */
#include <dwell.h>
#include <shmem.h>
#include <stdio.h>

static long flag;

static void stretch(int barriers, int puts) {
    int partner = (shmem_my_pe() + 1) % shmem_n_pes();
    for (int i = 0; i < puts; i++) shmem_long_p(&flag, i, partner);
    for (int i = 0; i < barriers; i++) shmem_barrier_all();
}

int main(void) {
    shmem_init();
    stretch(2, 1);
    DWELL_PAUSE();
    stretch(3, 2);
    DWELL_RESUME();
    stretch(4, 3);
    DWELL_PAUSE();
    /* A team's worth of state changes while nobody writes: memory is obtained and used afterwards. */
    long *later = shmem_malloc(64 * sizeof(long));
    stretch(1, 0);
    DWELL_RESUME();
    shmem_long_p(later, 1, shmem_my_pe());
    stretch(5, 4);
    if (shmem_my_pe() == 0) printf("done\n");
    shmem_finalize();
    return 0;
}
