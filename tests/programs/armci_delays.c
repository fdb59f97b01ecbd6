/* Process 1 comes late, by known milliseconds, and process 0 waits for it: `armci_delays KIND MILLISECONDS`. */
#include <armci.h>
#include <message.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

/* Computes for so long, without a word to the library. */
static void compute(double milliseconds)
{
    double until = MPI_Wtime() + milliseconds / 1000;
    while (MPI_Wtime() < until)
        ;
}

int main(int argc, char **argv)
{
    int me, procs;
    MPI_Init(&argc, &argv);
    ARMCI_Init();
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &procs);
    if (argc < 3)
        ARMCI_Error("usage: armci_delays KIND MILLISECONDS", 2);
    const char *kind = argv[1];
    double delay = atof(argv[2]), value = 1;
    void **memory = malloc(procs * sizeof *memory);
    ARMCI_Malloc(memory, 64);
    ARMCI_Create_mutexes(1);
    /* The first of each is slower than the others. */
    ARMCI_Put(&value, memory[1], sizeof value, 1);
    ARMCI_Get(memory[1], &value, sizeof value, 1);
    ARMCI_Barrier();
    armci_msg_barrier();
    if (!strcmp(kind, "barrier")) {
        if (me == 1)
            compute(delay);
    } else if (!strcmp(kind, "sum")) {
        long sum = me;
        if (me == 1)
            compute(delay);
        armci_msg_lgop(&sum, 1, "+");
    } else if (!strcmp(kind, "lock")) {
        if (me == 1) {
            ARMCI_Lock(0, 0);
            armci_msg_barrier();
            compute(delay);
            ARMCI_Unlock(0, 0);
        } else {
            armci_msg_barrier();
            ARMCI_Lock(0, 0);
            ARMCI_Unlock(0, 0);
        }
    } else if (me == 1) {
        compute(delay);
    } else {
        compute(5);
        if (!strcmp(kind, "get")) {
            ARMCI_Get(memory[1], &value, sizeof value, 1);
        } else {
            /* A blocking put waits by itself in some components of MPI. */
            ARMCI_NbPut(&value, memory[1], sizeof value, 1, NULL);
            ARMCI_Fence(1);
        }
    }
    ARMCI_Barrier();
    ARMCI_Destroy_mutexes();
    ARMCI_Free(memory[me]);
    free(memory);
    ARMCI_Finalize();
    MPI_Finalize();
    return 0;
}
