/* PE 1 waits in loops of its own until PE 0 changes a word, 5 times in each of several ways, and prints how long it waited until
 * then, in milliseconds: `MODE FUNCTION MILLISECONDS`. The time of the change is that of PE 0, on the clock of the node. */

#include <shmem.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 5, FLAGS = 8 };

/* On the symmetric heap, where operations over shared memory need no help of the target. */
static long *word, *own, *lock, *changed;
static int *flags;

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void sleeps(long milliseconds) {
    struct timespec time = { 0, milliseconds * 1000000 };
    nanosleep(&time, 0);
}

static void fetches(long round) { while (shmem_long_atomic_fetch(word, 0) != round) {} }
static void gets(long round) { while (shmem_long_g(word, 0) != round) usleep(200); }
static void tests(long round) { while (!shmem_long_test(own, SHMEM_CMP_EQ, round)) {} }
static void flags_in_turn(long round) {
    int set[FLAGS] = { 0 };
    for (int missing = FLAGS; missing > 0;)
        for (int i = 0; i < FLAGS; i++)
            if (!set[i] && shmem_int_test(flags + i, SHMEM_CMP_EQ, (int)round)) set[i] = 1, missing--;
}
static void swaps(long round) { (void)round; while (shmem_long_atomic_compare_swap(lock, 0, 2, 0) != 0) usleep(50); }

static const struct {
    const char *name, *function;
    void (*waits)(long round);
} modes[] = {
    { "fetches", "shmem_long_atomic_fetch", fetches },
    { "gets", "shmem_long_g", gets },
    { "tests", "shmem_long_test", tests },
    { "flags", "shmem_int_test", flags_in_turn },
    { "swaps", "shmem_long_atomic_compare_swap", swaps },
};

int main(void) {
    shmem_init();
    int me = shmem_my_pe();
    word = shmem_calloc(4, sizeof *word);
    own = word + 1, lock = word + 2, changed = word + 3;
    flags = shmem_calloc(FLAGS, sizeof *flags);
    long round = 0;
    for (unsigned mode = 0; mode < sizeof modes / sizeof *modes; mode++) {
        double waited = 0;
        for (int i = 0; i < ROUNDS; i++) {
            round++;
            if (me == 0) *lock = 1;
            shmem_barrier_all();
            if (me == 0) {
                sleeps(30);
                *changed = now();
                shmem_long_atomic_set(lock, 0, 0);
                shmem_long_p(own, round, 1);
                for (int i = 0; i < FLAGS; i++) shmem_int_p(flags + i, (int)round, 1);
                shmem_long_p(word, round, 0);
                shmem_quiet();
            } else {
                long begin = now();
                modes[mode].waits(round);
                waited += (shmem_long_g(changed, 0) - begin) * 1e-6;
            }
            shmem_barrier_all();
        }
        if (me == 1) printf("%s %s %f\n", modes[mode].name, modes[mode].function, waited);
    }
    shmem_finalize();
    return 0;
}
