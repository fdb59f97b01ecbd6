/* Process 1 waits in loops of its own until process 0 changes a word of process 2, 5 times in each of several ways with one call
 * site, and prints how long it waited until then, in milliseconds: `MODE FUNCTION MILLISECONDS`. Process 2 waits for both
 * meanwhile, so it serves them.
 * The time of the change is that of process 0, on the clock of the node. */

#include <armci.h>
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 5, OWNER = 2 };

static long *words[3], *word, *lock, *changed;

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

/* One call site for all loops over it. */
__attribute__((noinline)) static long operate(int operation, long value, int add, long *at) {
    ARMCI_Rmw(operation, &value, at, add, OWNER);
    return value;
}

static void adds(long round) { while (operate(ARMCI_FETCH_AND_ADD_LONG, 0, 0, word) != round) {} }
static void swaps(long round) { (void)round; while (operate(ARMCI_SWAP_LONG, 1, 0, lock)) usleep(50); }

static void (*const modes[])(long round) = { adds, swaps };

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    ARMCI_Init();
    int me;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    ARMCI_Malloc((void **)words, 4 * sizeof(long));
    word = words[OWNER], lock = word + 1, changed = word + 2;
    long round = 0;
    for (int i = 0; i < 4; i++) words[me][i] = 0;
    double waited = 0;
    for (unsigned mode = 0; mode < sizeof modes / sizeof *modes; mode++) {
        for (int i = 0; i < ROUNDS; i++) {
            round++;
            if (me == 0) operate(ARMCI_SWAP_LONG, 1, 0, lock);
            ARMCI_Barrier();
            if (me == 0) {
                usleep(30000);
                long time = now();
                operate(ARMCI_SWAP_LONG, time, 0, changed);
                operate(ARMCI_SWAP_LONG, 0, 0, lock);
                operate(ARMCI_SWAP_LONG, round, 0, word);
            } else if (me == 1) {
                long begin = now();
                modes[mode](round);
                waited += (operate(ARMCI_FETCH_AND_ADD_LONG, 0, 0, changed) - begin) * 1e-6;
            }
            ARMCI_Barrier();
        }
    }
    if (me == 1) printf("words ARMCI_Rmw %f\n", waited);
    ARMCI_Free(words[me]);
    ARMCI_Finalize();
    MPI_Finalize();
    return 0;
}
