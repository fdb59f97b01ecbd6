/* Two puts to two processes, whose fences come in the other order, 100 ms apart. */
#include <armci.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int me, n;
    MPI_Init(&argc, &argv);
    ARMCI_Init();
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    void **memory = malloc(n * sizeof *memory);
    ARMCI_Malloc(memory, 1 << 16);
    char *source = ARMCI_Malloc_local(1 << 16);
    ARMCI_Barrier();
    if (me == 0) {
        armci_hdl_t one, two;
        ARMCI_INIT_HANDLE(&one);
        ARMCI_INIT_HANDLE(&two);
        ARMCI_NbPut(source, memory[1], 4096, 1, &one);
        ARMCI_NbPut(source, memory[2], 8192, 2, &two);
        ARMCI_Fence(2);
        usleep(100000);
        ARMCI_Fence(1);
        printf("done\n");
    }
    ARMCI_Barrier();
    ARMCI_Free_local(source);
    ARMCI_Free(memory[me]);
    ARMCI_Finalize();
    MPI_Finalize();
    return 0;
}
