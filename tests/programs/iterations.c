/* 1,000 iterations that compute and communicate. In the mode "step" the last process computes 2.1 times as long from the
 * 700th on, in "drift" every process computes up to a tenth longer, and in "even" nothing changes. Processes communicate
 * by OpenSHMEM, or by windows or messages of MPI if it is compiled with -DWINDOWS or -DMESSAGES. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#if defined WINDOWS || defined MESSAGES
#include <mpi.h>
#else
#include <shmem.h>
#endif

enum { ITERATIONS = 1000, CHANGED = 700, MICROSECONDS = 200 };

/* Computes for a time on a core, whatever else runs there. */
static void compute(double microseconds)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - begin.tv_sec) * 1e6 + (now.tv_nsec - begin.tv_nsec) / 1e3 < microseconds);
}

static double factor(const char *mode, int iteration, int is_last)
{
    if (strcmp(mode, "step") == 0)
        return is_last && iteration >= CHANGED ? 2.1 : 1.0;
    if (strcmp(mode, "drift") == 0)
        return 1.0 + 0.1 * iteration / ITERATIONS;
    return 1.0;
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "even";
    static long word;
#if defined WINDOWS || defined MESSAGES
    int me, all;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
#ifdef WINDOWS
    MPI_Win window;
    MPI_Win_create(&word, sizeof word, sizeof word, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
#endif
#else
    shmem_init();
    int me = shmem_my_pe(), all = shmem_n_pes();
#endif
    int next = (me + 1) % all;
    for (int iteration = 1; iteration <= ITERATIONS; iteration++) {
        long value = iteration;
        compute(MICROSECONDS * factor(mode, iteration, me == all - 1));
#if defined WINDOWS
        MPI_Put(&value, 1, MPI_LONG, next, 0, 1, MPI_LONG, window);
        MPI_Win_fence(0, window);
#elif defined MESSAGES
        int before = (me + all - 1) % all;
        MPI_Sendrecv(&value, 1, MPI_LONG, next, 0, &word, 1, MPI_LONG, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#else
        shmem_long_p(&word, value, next);
        shmem_barrier_all();
#endif
    }
#if defined WINDOWS || defined MESSAGES
#ifdef WINDOWS
    MPI_Win_free(&window);
#endif
    MPI_Finalize();
#else
    shmem_finalize();
#endif
    return 0;
}
