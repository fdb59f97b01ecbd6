/* OpenSHMEM programs that hang, for `dwell where`, by the word on the command line. */
#include <shmem.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static long lock, other, flag, box;

/* PE 0 holds the lock and waits for a flag of PE 1, which waits for the lock. PE 1 has written the flag once before. */
static void lock_and_flag(int me) {
    if (me == 1) shmem_long_p(&flag, 1, 0);
    if (me == 0) shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    if (me == 0) shmem_set_lock(&lock);
    shmem_barrier_all();
    if (me == 0) shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 2);
    shmem_set_lock(&lock);
    shmem_long_p(&flag, 2, 0);
    shmem_clear_lock(&lock);
}

/* PEs 0 and 1 hold a lock each and ask for that of the other. */
static void two_locks(int me) {
    if (me == 0) shmem_set_lock(&lock);
    if (me == 1) shmem_set_lock(&other);
    shmem_barrier_all();
    if (me == 0) shmem_set_lock(&other);
    if (me == 1) shmem_set_lock(&lock);
    shmem_barrier_all();
}

/* PE 2 never comes to the barrier. */
static void missing(int me) {
    shmem_barrier_all();
    while (me == 2) usleep(1000);
    shmem_barrier_all();
}

/* PE 1 is stopped before the barrier. */
static void stopped(int me) {
    shmem_barrier_all();
    if (me == 1) kill(getpid(), SIGSTOP);
    shmem_barrier_all();
}

/* PE 0 asks again and again for a flag that nobody writes. */
static void polls(int me) {
    while (me == 0 && !shmem_long_test(&flag, SHMEM_CMP_EQ, 1)) {
    }
    shmem_barrier_all();
}

/* Everything is well. */
static void healthy(int me) {
    for (;;) {
        shmem_long_p(&box, 1, (me + 1) % shmem_n_pes());
        usleep(20000);
        shmem_barrier_all();
    }
}

int main(int count, char **words) {
    shmem_init();
    int me = shmem_my_pe();
    const char *mode = count > 1 ? words[1] : "";
    if (!strcmp(mode, "flag")) lock_and_flag(me);
    if (!strcmp(mode, "locks")) two_locks(me);
    if (!strcmp(mode, "missing")) missing(me);
    if (!strcmp(mode, "stopped")) stopped(me);
    if (!strcmp(mode, "polls")) polls(me);
    if (!strcmp(mode, "healthy")) healthy(me);
    shmem_finalize();
    return 0;
}
