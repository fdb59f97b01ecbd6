/* Tasks from a common counter, as programs of chemistry share out their work with Global Arrays: whoever is
 * free takes the next number, fetches a block, and adds what it makes of it to another.
 *
 *   ga_tasks [TASKS]
 *
 * Each process says how often it called what.
 */
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 16 };

int main(int argc, char **argv)
{
    int tasks = argc > 1 ? atoi(argv[1]) : 20, mine = 0, zero = 0, width = BLOCK;
    double block[BLOCK * BLOCK], one = 1, sum = 0;
    MPI_Init(&argc, &argv);
    GA_Initialize();
    MA_init(C_DBL, 1 << 20, 1 << 20);
    int me = GA_Nodeid(), procs = GA_Nnodes();
    int dims[2] = { BLOCK * procs, BLOCK }, single = 1, chunk[2] = { BLOCK, BLOCK };
    int from = NGA_Create(C_DBL, 2, dims, "from", chunk);
    int to = NGA_Create(C_DBL, 2, dims, "to", chunk);
    int counter = NGA_Create(C_INT, 1, &single, "counter", NULL);
    GA_Fill(from, &one);
    GA_Zero(to);
    GA_Zero(counter);
    GA_Sync();
    for (;;) {
        long task = NGA_Read_inc(counter, &zero, 1);
        if (task >= tasks)
            break;
        int other = (me + 1) % procs;
        int lo[2] = { BLOCK * other, 0 }, hi[2] = { BLOCK * other + BLOCK - 1, BLOCK - 1 };
        NGA_Get(from, lo, hi, block, &width);
        NGA_Acc(to, lo, hi, block, &width, &one);
        mine++;
    }
    GA_Sync();
    if (me == 0) {
        for (int p = 0; p < procs; p++) {
            int lo[2] = { BLOCK * p, 0 }, hi[2] = { BLOCK * p + BLOCK - 1, BLOCK - 1 };
            NGA_Get(to, lo, hi, block, &width);
            for (int i = 0; i < BLOCK * BLOCK; i++)
                sum += block[i];
        }
        printf("sum %.1f of %d tasks\n", sum, tasks);
    }
    GA_Destroy(counter);
    GA_Destroy(to);
    GA_Destroy(from);
    fprintf(stderr, "count pe=%d NGA_Get=%d bytes=0\n", me, mine + (me == 0 ? procs : 0));
    fprintf(stderr, "count pe=%d NGA_Acc=%d bytes=0\n", me, mine);
    fprintf(stderr, "count pe=%d NGA_Read_inc=%d bytes=0\n", me, mine + 1);
    fprintf(stderr, "count pe=%d ARMCI_AccS=%d bytes=%d\n", me, mine, mine * BLOCK * BLOCK * 8);
    GA_Terminate();
    MPI_Finalize();
    return 0;
}
