/* MPI programs that hang, for `dwell where`, by the word on the command line. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

static long word;

/* Rank 0 is in a barrier, and all others in a reduction. */
static void mismatch(int me) {
    long sum;
    if (me == 0) MPI_Barrier(MPI_COMM_WORLD);
    else MPI_Allreduce(&word, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
}

/* Rank 0 holds the lock of a window of rank 1 in a barrier, to which rank 2 does not come before it has had the lock. */
static void window(int me) {
    MPI_Win win;
    long value = 7;
    MPI_Win_create(&word, sizeof word, sizeof word, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (me == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Put(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
        MPI_Win_flush(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 2) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Put(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
        MPI_Win_unlock(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) MPI_Win_unlock(1, win);
    MPI_Win_free(&win);
}

/* Rank 1 computes for ever, and rank 0 waits for its message. */
static void message(int me) {
    while (me == 1) usleep(1000);
    if (me == 0) MPI_Recv(&word, 1, MPI_LONG, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Opens an access epoch to one rank, or an exposure epoch for it. */
static void with(int rank, int (*open)(MPI_Group, int, MPI_Win), MPI_Win win) {
    MPI_Group all, one;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &rank, &one);
    open(one, 0, win);
}

/* Rank 0 accesses a window that rank 1 never posts. */
static void start(int me, MPI_Win win) {
    long value = 7;
    while (me == 1) usleep(1000);
    if (me) return;
    with(1, MPI_Win_start, win);
    MPI_Put(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
    MPI_Win_complete(win);
}

/* Ranks 0 and 1 wait for the end of the other's epoch before they end their own. */
static void epochs(int me, MPI_Win win) {
    if (me == 2) return;
    with(1 - me, MPI_Win_post, win);
    with(1 - me, MPI_Win_start, win);
    MPI_Win_wait(win);
    MPI_Win_complete(win);
}

/* Rank 1 never comes to the fence. */
static void fence(int me, MPI_Win win) {
    while (me == 1) usleep(1000);
    MPI_Win_fence(0, win);
}

/* Runs a function with a window. */
static void windowed(int me, void (*run)(int, MPI_Win)) {
    MPI_Win win;
    MPI_Win_create(&word, sizeof word, sizeof word, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    run(me, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Everything is well, though some leave a broadcast long before others come to it, and compute for long. */
static void healthy(int me) {
    for (int round = 0;; round++) {
        MPI_Bcast(&word, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        if (round % 3 == me) usleep(500000);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    int me;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    const char *mode = count > 1 ? words[1] : "";
    if (!strcmp(mode, "mismatch")) mismatch(me);
    if (!strcmp(mode, "window")) window(me);
    if (!strcmp(mode, "message")) message(me);
    if (!strcmp(mode, "start")) windowed(me, start);
    if (!strcmp(mode, "epochs")) windowed(me, epochs);
    if (!strcmp(mode, "fence")) windowed(me, fence);
    if (!strcmp(mode, "healthy")) healthy(me);
    MPI_Finalize();
    return 0;
}
