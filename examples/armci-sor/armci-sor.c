/* Poisson's equation on a square of cells for each process, solved by red-black successive over-relaxation.
 * Before each half of a sweep every process fetches the edges of its neighbours: rows with ARMCI_Get, columns
 * with ARMCI_GetS. A barrier ends each half.
 *
 *   mpicc -O2 -g -o armci-sor armci-sor.c $(dwell build flags armci) -larmci-openmpi -lm
 *   mpirun -np 4 dwell run ./armci-sor [--count] [--time] [--imbalance PERCENT] [N [SWEEPS]]
 *
 * N is the side of the square of each process (default 128), SWEEPS how many sweeps (default 50). With an
 * imbalance, processes with odd numbers compute so much longer. The solution is x + y, which the discrete
 * equation has exactly: the distance to it must become smaller, or the exit code is 1.
 */
#include <armci.h>
#include <math.h>
#include <message.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "../common/options.h"

static int me, procs, rows, columns, row, column;
static long n, stride;
static void **memory;
static double *u; /* (n + 2) x (n + 2) cells, those around are the neighbours' or the border */
static long gets, strided, bytes, strided_bytes;

static double *at(double *base, long y, long x)
{
    return base + y * stride + x;
}

static double solution(long y, long x)
{
    return (row * n + y) / (double)(rows * n) + (column * n + x) / (double)(columns * n);
}

static int neighbour(int dy, int dx)
{
    int y = row + dy, x = column + dx;
    return y < 0 || y >= rows || x < 0 || x >= columns ? -1 : y * columns + x;
}

static void fetch_row(int from, long theirs, long mine)
{
    if (from < 0)
        return;
    ARMCI_Get(at(memory[from], theirs, 1), at(u, mine, 1), n * sizeof(double), from);
    gets++;
    bytes += n * sizeof(double);
}

static void fetch_column(int from, long theirs, long mine)
{
    int step = stride * sizeof(double), counts[2] = { sizeof(double), n };
    if (from < 0)
        return;
    ARMCI_GetS(at(memory[from], 1, theirs), &step, at(u, 1, mine), &step, counts, 1, from);
    strided++;
    strided_bytes += n * sizeof(double);
}

static void relax(int colour, double factor)
{
    for (long y = 1; y <= n; y++)
        for (long x = 1 + (row * n + column * n + y + colour) % 2; x <= n; x += 2) {
            double around = *at(u, y - 1, x) + *at(u, y + 1, x) + *at(u, y, x - 1) + *at(u, y, x + 1);
            *at(u, y, x) += factor * (around / 4 - *at(u, y, x));
        }
}

static double distance(void)
{
    double sum = 0;
    for (long y = 1; y <= n; y++)
        for (long x = 1; x <= n; x++)
            sum += fabs(*at(u, y, x) - solution(y, x));
    armci_msg_dgop(&sum, 1, "+");
    return sum / ((double)n * n * procs);
}

int main(int argc, char **argv)
{
    int count = 0, time = 0;
    long sweeps = 50;
    double imbalance = 0;
    const struct option table[] = {
        { "--count", OPTION_FLAG, &count },
        { "--time", OPTION_FLAG, &time },
        { "--imbalance", OPTION_PERCENT, &imbalance },
        { NULL, OPTION_NUMBER, &n },
        { NULL, OPTION_NUMBER, &sweeps },
    };
    n = 128;
    MPI_Init(&argc, &argv);
    options_read(argc, argv, "[--count] [--time] [--imbalance PERCENT] [N [SWEEPS]]", table,
                 sizeof table / sizeof *table);
    ARMCI_Init();
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &procs);
    for (rows = (int)sqrt(procs); procs % rows; rows--)
        ;
    columns = procs / rows;
    row = me / columns;
    column = me % columns;
    stride = n + 2;
    memory = malloc(procs * sizeof *memory);
    ARMCI_Malloc(memory, stride * stride * sizeof(double));
    u = memory[me];
    ARMCI_Access_begin(u);
    for (long y = 0; y <= n + 1; y++)
        for (long x = 0; x <= n + 1; x++) {
            int border = (y == 0 && row == 0) || (y == n + 1 && row == rows - 1) ||
                         (x == 0 && column == 0) || (x == n + 1 && column == columns - 1);
            *at(u, y, x) = border ? solution(y, x) : 0;
        }
    ARMCI_Access_end(u);
    double before = distance(), factor = 2 / (1 + sin(acos(-1) / (n * columns)));
    ARMCI_Barrier();
    double began = MPI_Wtime();
    for (long sweep = 0; sweep < sweeps; sweep++)
        for (int colour = 0; colour < 2; colour++) {
            fetch_row(neighbour(-1, 0), n, 0);
            fetch_row(neighbour(1, 0), 1, n + 1);
            fetch_column(neighbour(0, -1), n, 0);
            fetch_column(neighbour(0, 1), 1, n + 1);
            double start = MPI_Wtime();
            ARMCI_Access_begin(u);
            relax(colour, factor);
            ARMCI_Access_end(u);
            double until = MPI_Wtime() + (me % 2 ? imbalance * (MPI_Wtime() - start) : 0);
            while (MPI_Wtime() < until)
                ;
            ARMCI_Barrier();
        }
    if (me == 0 && time)
        fprintf(stderr, "time %.6f\n", MPI_Wtime() - began);
    double after = distance();
    int wrong = !(after < before);
    if (me == 0)
        printf("armci-sor: n=%ld sweeps=%ld %s\n", n, sweeps, wrong ? "wrong" : "closer");
    if (count && gets)
        printf("count pe=%d ARMCI_Get=%ld bytes=%ld\n", me, gets, bytes);
    if (count && strided)
        printf("count pe=%d ARMCI_GetS=%ld bytes=%ld\n", me, strided, strided_bytes);
    ARMCI_Free(memory[me]);
    free(memory);
    ARMCI_Finalize();
    MPI_Finalize();
    return wrong;
}
