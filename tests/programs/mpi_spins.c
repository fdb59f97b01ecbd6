/* Rank 1 waits in loops of its own until rank 0 changes a word of its window, 5 times in each of several ways, and prints how long
 * it waited until then, in milliseconds: `MODE FUNCTION MILLISECONDS`. The time of the change is that of rank 0, on the clock of
 * the node. */

#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 5, WORD = 3, LOCK = 5 };

static MPI_Win window;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec * 1e-6;
}

static long fetched(void) {
    long value;
    MPI_Fetch_and_op(NULL, &value, MPI_LONG, 0, WORD, MPI_NO_OP, window);
    MPI_Win_flush(0, window);
    return value;
}

static long got(void) {
    long value;
    MPI_Get(&value, 1, MPI_LONG, 0, WORD, 1, MPI_LONG, window);
    MPI_Win_flush_local(0, window);
    return value;
}

static long swapped(void) {
    long two = 2, none = 0, old;
    MPI_Compare_and_swap(&two, &none, &old, MPI_LONG, 0, LOCK, window);
    MPI_Win_flush_all(window);
    return old;
}

static void set(long value, int word) {
    MPI_Accumulate(&value, 1, MPI_LONG, 0, word, 1, MPI_LONG, MPI_REPLACE, window);
    MPI_Win_flush(0, window);
}

static void fetches(long round) { while (fetched() != round) {} }
static void gets(long round) { while (got() != round) usleep(100); }
static void swaps(long round) { (void)round; while (swapped() != 0) usleep(50); }

static const struct {
    const char *name, *function;
    void (*waits)(long round);
} modes[] = {
    { "fetches", "MPI_Fetch_and_op", fetches },
    { "gets", "MPI_Get", gets },
    { "swaps", "MPI_Compare_and_swap", swaps },
};

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int me;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    long *memory, round = 0;
    MPI_Win_allocate(8 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    for (int i = 0; i < 8; i++) memory[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    for (unsigned mode = 0; mode < sizeof modes / sizeof *modes; mode++) {
        double waited = 0;
        for (int i = 0; i < ROUNDS; i++) {
            double changed = 0;
            round++;
            if (me == 0) set(1, LOCK);
            MPI_Barrier(MPI_COMM_WORLD);
            if (me == 0) {
                struct timespec time = { 0, 30 * 1000000 };
                nanosleep(&time, NULL);
                changed = now();
                set(0, LOCK);
                set(round, WORD);
                MPI_Send(&changed, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
            } else {
                double begin = now();
                modes[mode].waits(round);
                MPI_Recv(&changed, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                waited += changed - begin;
            }
            MPI_Barrier(MPI_COMM_WORLD);
        }
        if (me == 1) printf("%s %s %f\n", modes[mode].name, modes[mode].function, waited);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
