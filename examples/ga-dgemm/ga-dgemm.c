/* Matrix multiplication with Global Arrays: GA_Dgemm is SRUMMA, which fetches blocks by gets of ARMCI.
 *
 *   mpicc -O2 -g -o ga-dgemm ga-dgemm.c $(dwell build flags ga) $(ga-config --ldflags) $(ga-config --libs) \
 *     -lm -lgfortran
 *   mpirun -np 4 dwell run ./ga-dgemm [--count] [--time] [--imbalance PERCENT] [N [ROUNDS]]
 *
 * Compares its result with the known answer; the exit code is 1 if they differ. With an imbalance, odd
 * processes compute so much longer between the rounds.
 */
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "../common/options.h"

/* Computes for so long, without a word to the library. */
static void compute(double seconds)
{
    double until = MPI_Wtime() + seconds;
    while (MPI_Wtime() < until)
        ;
}

int main(int argc, char **argv)
{
    int count = 0, time = 0, wrong = 0;
    long size = 256, rounds = 3;
    double imbalance = 0;
    const struct option table[] = {
        { "--count", OPTION_FLAG, &count },
        { "--time", OPTION_FLAG, &time },
        { "--imbalance", OPTION_PERCENT, &imbalance },
        { NULL, OPTION_NUMBER, &size },
        { NULL, OPTION_NUMBER, &rounds },
    };
    MPI_Init(&argc, &argv);
    options_read(argc, argv, "[--count] [--time] [--imbalance PERCENT] [N [ROUNDS]]", table,
                 sizeof table / sizeof *table);
    int n = (int)size;
    GA_Initialize();
    MA_init(C_DBL, 1 << 20, 1 << 20);
    int me = GA_Nodeid(), dims[2] = { n, n };
    int a = NGA_Create(C_DBL, 2, dims, "a", NULL);
    int b = GA_Duplicate(a, "b");
    int c = GA_Duplicate(a, "c");
    double one = 1, two = 2, began = MPI_Wtime(), alone = 0;
    GA_Fill(a, &one);
    GA_Fill(b, &two);
    GA_Zero(c);
    for (long round = 0; round < rounds; round++) {
        double start = MPI_Wtime();
        GA_Dgemm('n', 'n', n, n, n, 1.0, a, b, 1.0, c);
        alone = MPI_Wtime() - start;
        if (me % 2)
            compute(imbalance * alone);
    }
    GA_Sync();
    if (me == 0 && time)
        fprintf(stderr, "time %.6f\n", MPI_Wtime() - began);
    int lo[2], hi[2], ld;
    NGA_Distribution(c, me, lo, hi);
    if (lo[0] >= 0 && hi[0] >= lo[0]) {
        double *mine;
        NGA_Access(c, lo, hi, &mine, &ld);
        for (int i = 0; i <= hi[0] - lo[0]; i++)
            for (int j = 0; j <= hi[1] - lo[1]; j++)
                wrong += mine[i * ld + j] != 2.0 * n * rounds;
        NGA_Release(c, lo, hi);
    }
    GA_Igop(&wrong, 1, "+");
    double trace = 0, *row = malloc(n * sizeof *row);
    if (me == 0) {
        int first[2] = { n - 1, 0 }, last[2] = { n - 1, n - 1 }, width = n;
        NGA_Get(c, first, last, row, &width);
        for (int i = 0; i < n; i++)
            trace += row[i];
        printf("ga-dgemm: last row %.1f, %s\n", trace, wrong ? "wrong" : "right");
    }
    free(row);
    GA_Destroy(c);
    GA_Destroy(b);
    GA_Destroy(a);
    if (count) {
        printf("count pe=%d GA_Dgemm=%ld bytes=0\n", me, rounds);
        printf("count pe=%d GA_Fill=2 bytes=0\n", me);
        printf("count pe=%d GA_Destroy=3 bytes=0\n", me);
    }
    GA_Terminate();
    MPI_Finalize();
    return wrong != 0;
}
