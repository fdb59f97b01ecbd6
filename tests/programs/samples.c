/* Two processes that compute in functions of known cost between barriers, for samples.
 *
 *   samples MODE
 *
 *   late      rank 1 computes three times as long as rank 0 in relax, and both equally long in flux
 *   balanced  both compute equally long in both
 *   copies    rank 1 copies memory in pack for a long time, in a function of the C library
 *   sleeps    rank 1 sleeps instead of computing more
 *   handler   as late; then rank 1 handles SIGURG itself, and counts signals for as long again
 *   dies      computes in relax for half a second, and is killed there
 *   gaps      looks at the clock for 6 seconds, and prints in how many places and for how long something else ran
 *   stack     as late, with a signal stack of 16 KiB at rank 1, on which it handles SIGUSR1
 * Work is counted in operations, and each function prints nothing, so that runs with and without samples have the same output. */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 30, BYTES = 1 << 20 };

#define KEPT __attribute__((noinline))

static volatile double sink;
static volatile sig_atomic_t signals;
static char from[BYTES], to[BYTES];

/* About as many milliseconds. */
KEPT static double relax(int milliseconds)
{
    double x = sink;
    for (long i = 0; i < 250000L * milliseconds; i++)
        x = x * 0.999 + 1; /* RELAX */
    return sink = x;
}

KEPT static double flux(int milliseconds)
{
    double x = sink;
    for (long i = 0; i < 250000L * milliseconds; i++)
        x = x * 0.998 + 2; /* FLUX */
    return sink = x;
}

KEPT static void pack(int times)
{
    for (int i = 0; i < times; i++) {
        memcpy(to, from, BYTES); /* PACK */
        sink += to[i % BYTES];
    }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec * 1e-3;
}

/* Microseconds in which this process was interrupted, in stretches that are too short for another to have its core. */
KEPT static void gaps(int depth)
{
    if (depth > 0) {
        gaps(depth - 1);
        sink += 1;
        return;
    }
    double begin = now(), last = begin, sum = 0;
    int number = 0;
    while (last < begin + 6e6) {
        double time = now(), gap = time - last;
        if (gap > 3 && gap < 100) {
            sum += gap;
            number++;
        }
        last = time;
    }
    printf("%d interruptions, %.1f ms in 6 s\n", number, sum / 1e3);
}

static void count(int signal)
{
    (void)signal;
    signals++;
}

static void rounds(const char *mode, int rank)
{
    struct timespec pause = {0, 20 * 1000 * 1000};
    for (int i = 0; i < ROUNDS; i++) {
        int late = rank == 1 && strcmp(mode, "balanced") && strcmp(mode, "copies") && strcmp(mode, "sleeps");
        relax(late ? 30 : 10);
        flux(5);
        if (rank == 1 && !strcmp(mode, "copies"))
            pack(400);
        if (rank == 1 && !strcmp(mode, "sleeps"))
            nanosleep(&pause, NULL);
        MPI_Barrier(MPI_COMM_WORLD); /* BARRIER */
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "late";
    static char small[16 * 1024];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1 && !strcmp(mode, "stack")) {
        stack_t stack = {.ss_sp = small, .ss_size = sizeof small};
        struct sigaction action = {.sa_handler = count, .sa_flags = SA_ONSTACK};
        sigaltstack(&stack, NULL);
        sigaction(SIGUSR1, &action, NULL);
        raise(SIGUSR1);
    }
    if (!strcmp(mode, "gaps")) {
        gaps(8);
        MPI_Finalize();
        return 0;
    }
    if (!strcmp(mode, "dies")) {
        relax(500);
        raise(SIGKILL);
    }
    rounds(mode, rank);
    if (!strcmp(mode, "handler")) {
        if (rank == 1)
            signal(SIGURG, count);
        rounds(mode, rank);
        if (rank == 1)
            raise(SIGURG);
    }
    printf("rank %d: %d signals\n", rank, (int)signals);
    MPI_Finalize();
    return 0;
}
