/* Short and long calls in turn, for `dwell run --overhead`: PE 0 gets single numbers and blocks of PE 1 and itself, thousands
   of times with next to nothing between them, a few times with a pause between them, from nine places and then a pause, which
   is one more than are summed up together, puts blocks and waits for their completion, and raises a flag. PE 1 waits for the flag, and comes to it early: its wait is 50 ms by the clock. */
#define _POSIX_C_SOURCE 200809L
#include <shmem.h>
#include <stdio.h>
#include <time.h>

enum { GETS = 20000, APART = 150, PUTS = 3000, BLOCK = 64 };

static long number;
static long block[BLOCK];
static long flag;

static void pause_for(long milliseconds)
{
    struct timespec time = {0, milliseconds * 1000000L};
    nanosleep(&time, NULL);
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe();
    long sum = 0, mine[BLOCK];
    number = 7 + me;
    shmem_barrier_all();
    if (me == 0) {
        for (int at = 0; at < GETS; at++) {
            sum += shmem_long_g(&number, 1);
            shmem_long_get(mine, block, BLOCK, 1);
        }
        for (int at = 0; at < APART; at++) {
            pause_for(1);
            sum += shmem_long_g(&number, 1);
        }
        for (int at = 0; at < APART; at++) {
            pause_for(1);
            sum += shmem_long_g(&number, 1);
            sum += shmem_long_g(&number, 1);
            sum += shmem_long_g(&number, 1);
            sum += shmem_long_g(&number, 1);
            sum += shmem_long_g(&number, 1);
            sum += shmem_long_g(&number, 1);
            sum += shmem_long_g(&number, 1);
            sum += shmem_long_g(&number, 1);
            sum += shmem_long_g(&number, 1);
        }
        for (int at = 0; at < PUTS; at++) {
            shmem_long_put(block, mine, BLOCK, 1);
            shmem_quiet();
        }
    }
    shmem_barrier_all();
    if (me == 0) {
        pause_for(50);
        shmem_long_p(&flag, 1, 1);
    } else {
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    }
    shmem_barrier_all();
    if (me == 0)
        printf("sum %ld\n", sum);
    shmem_finalize();
    return 0;
}
