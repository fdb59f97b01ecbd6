/* Two non-blocking puts to two processes, waited for in the other order, 100 ms apart. */
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static double block[1024];
    MPI_Init(&argc, &argv);
    GA_Initialize();
    int n = GA_Nnodes(), dims[1] = {1024 * n}, chunk[1] = {1024}, lo[1], hi[1], ld[1] = {1};
    int array = NGA_Create(C_DBL, 1, dims, "array", chunk);
    GA_Sync();
    if (GA_Nodeid() == 0) {
        ga_nbhdl_t one, two;
        NGA_Distribution(array, 1, lo, hi);
        NGA_NbPut(array, lo, hi, block, ld, &one);
        NGA_Distribution(array, 2, lo, hi);
        NGA_NbPut(array, lo, hi, block, ld, &two);
        NGA_NbWait(&two);
        usleep(100000);
        NGA_NbWait(&one);
        printf("done\n");
    }
    GA_Sync();
    GA_Destroy(array);
    GA_Terminate();
    MPI_Finalize();
    return 0;
}
