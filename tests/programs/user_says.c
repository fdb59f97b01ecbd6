/* Phases, parameters and counters around calls of MPI.
 *
 *   mpicc -g -I include -o user_says user_says.c
 *
 * Steps of two levels each; process 1 comes late to one of them by as many milliseconds as the argument says. The
 * processes name things in different orders, and begin a region in a function that returns before it ends.
 */
#include <dwell.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STEPS 4
#define LATE 2

/* What it calls has less of the stack below it than this. */
__attribute__((noinline)) static void begin(const char *name)
{
    volatile char room[512];
    room[0] = room[511] = 0;
    DWELL_BEGIN(name);
}

static void level(int step, int level, int late)
{
    DWELL_PARAMETER_INT("level", level);
    DWELL_PARAMETER_TEXT("solver", level ? "cg" : "gmres");
    if (late)
        usleep(1000 * (useconds_t)late);
    MPI_Barrier(MPI_COMM_WORLD);
    DWELL_COUNTER("residual", "1", 1.0 / (step + 1) - level);
}

static void steps(int rank, int late)
{
    for (int step = 0; step < STEPS; step++) {
#ifdef __cplusplus
        dwell::Phase phase("step", step);
        dwell::Region inner("both_levels");
#else
        DWELL_PHASE_BEGIN("step", step);
        DWELL_BEGIN("both_levels");
#endif
        for (int at = 0; at < 2; at++)
            level(step, at, rank == 1 && step == LATE && at == 1 ? late : 0);
        DWELL_COUNTER_INT("particles", "", 100 * rank - step);
#ifndef __cplusplus
        DWELL_END("both_levels");
        DWELL_PHASE_END("step");
#endif
    }
}

int main(int argc, char **argv)
{
    int rank, late = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    begin("all_steps");
    if (rank == 1) {
        DWELL_COUNTER_INT("only_one_has_it", "bytes", -7);
        DWELL_PARAMETER_TEXT("solver", "cg");
        DWELL_PARAMETER_UNSIGNED("seed", 1ull << 63);
    }
    steps(rank, late);
    DWELL_END("all_steps");
    /* Set in no region: until the end. */
    DWELL_PARAMETER_INT("level", -1);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("count pe=%d all_steps=1 bytes=0\n", rank);
    printf("count pe=%d step=%d bytes=0\n", rank, STEPS);
    printf("count pe=%d both_levels=%d bytes=0\n", rank, STEPS);
    printf("count pe=%d MPI_Barrier=%d bytes=0\n", rank, 2 * STEPS + 1);
    MPI_Finalize();
    return 0;
}
