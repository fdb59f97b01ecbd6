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

int main(int count, char **words) {
    MPI_Init(&count, &words);
    int me;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    const char *mode = count > 1 ? words[1] : "";
    if (!strcmp(mode, "mismatch")) mismatch(me);
    if (!strcmp(mode, "window")) window(me);
    if (!strcmp(mode, "message")) message(me);
    MPI_Finalize();
    return 0;
}
