/* One cause of lost time for each mode, so that the page can be tested with recordings whose lines are known:
 *
 *   kinds imbalance|progress|lock|signal|polling|cores|elements|since
 *
 * With "since", the last process computes twice as long from the 71st of 100 rounds on.
 */
#include <shmem.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 6, MANY = 100, CHANGED = 71, COLUMN = 256, STRIDE = 16 };

static long lock, flag;
static double grid[COLUMN * STRIDE], column[COLUMN];
static int me, last;

static double seconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Computes for a time on a core, however many processes share it. */
static void compute(int milliseconds)
{
    double end = seconds(CLOCK_THREAD_CPUTIME_ID) + 1e-3 * milliseconds;
    while (seconds(CLOCK_THREAD_CPUTIME_ID) < end) {
    }
}

static void imbalance(long round)
{
    shmem_long_p(&flag, round, last - me);
    compute(me == last ? 30 : 10);
    shmem_barrier_all(); /* ends the longer stretch */
}

static void progress(void)
{
    if (me == 0)
        shmem_double_get(column, grid, COLUMN, last); /* waits for its target */
    else
        compute(30);
    shmem_barrier_all();
}

static void holds_a_lock(void)
{
    shmem_set_lock(&lock); /* waits for the holder */
    compute(15);
    shmem_clear_lock(&lock);
    shmem_barrier_all();
}

static void signals(long round)
{
    if (me == 0) {
        compute(20);
        shmem_long_p(&flag, round, last); /* comes late */
        shmem_quiet();
    } else {
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, round);
        compute(20);
    }
    shmem_barrier_all();
}

static void polls(void)
{
    double end = seconds(CLOCK_MONOTONIC) + 30e-3;
    while (me == last && seconds(CLOCK_MONOTONIC) < end)
        shmem_long_test(&flag, SHMEM_CMP_EQ, -1); /* asks in vain */
    shmem_barrier_all();
}

static void cores(void)
{
    compute(20);
    shmem_barrier_all(); /* has too few cores */
}

static void elements(void)
{
    for (int i = 0; i < 8; i++)
        shmem_double_iget(column, grid, 1, STRIDE, COLUMN, last - me); /* takes one element at a time */
    shmem_barrier_all();
}

static void since(long round)
{
    compute(me == last && round >= CHANGED ? 4 : 2);
    shmem_barrier_all(); /* ends an iteration */
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "";
    shmem_init();
    me = shmem_my_pe();
    last = shmem_n_pes() - 1;
    int rounds = strcmp(mode, "since") == 0 ? MANY : ROUNDS;
    for (long round = 1; round <= rounds; round++) {
        if (strcmp(mode, "imbalance") == 0)
            imbalance(round);
        else if (strcmp(mode, "progress") == 0)
            progress();
        else if (strcmp(mode, "lock") == 0)
            holds_a_lock();
        else if (strcmp(mode, "signal") == 0)
            signals(round);
        else if (strcmp(mode, "polling") == 0)
            polls();
        else if (strcmp(mode, "cores") == 0)
            cores();
        else if (strcmp(mode, "elements") == 0)
            elements();
        else if (strcmp(mode, "since") == 0)
            since(round);
    }
    shmem_finalize();
    return 0;
}
