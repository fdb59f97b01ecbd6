/* ARMCI programs of three processes that hang, for `dwell where`, by the word on the command line. */
#include <armci.h>
#include <mpi.h>
#include <string.h>
#include <unistd.h>

/* Processes 0 and 1 hold a mutex each and ask for that of the other. */
static void mutexes(int me) {
    if (me < 2) ARMCI_Lock(0, me);
    ARMCI_Barrier();
    if (me < 2) ARMCI_Lock(0, 1 - me);
    ARMCI_Barrier();
}

/* Process 1 computes for ever, and the others are in a barrier. */
static void barrier(int me) {
    while (me == 1) usleep(1000);
    ARMCI_Barrier();
}

int main(int count, char **words) {
    int me;
    MPI_Init(&count, &words);
    ARMCI_Init();
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    ARMCI_Create_mutexes(1);
    const char *mode = count > 1 ? words[1] : "";
    if (!strcmp(mode, "mutexes")) mutexes(me);
    if (!strcmp(mode, "barrier")) barrier(me);
    MPI_Finalize();
    return 0;
}
