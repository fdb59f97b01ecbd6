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

/* Process 0 reads a word of process 1 until it changes, which nobody does. */
static void word(int me, int *of_one) {
    int seen = 0;
    while (me == 0 && !seen) ARMCI_Get(of_one, &seen, sizeof seen, 1);
    ARMCI_Barrier();
}

int main(int count, char **words) {
    int me;
    void *memory[3];
    MPI_Init(&count, &words);
    ARMCI_Init();
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    ARMCI_Malloc(memory, 64);
    memset(memory[me], 0, 64);
    ARMCI_Create_mutexes(1);
    const char *mode = count > 1 ? words[1] : "";
    if (!strcmp(mode, "mutexes")) mutexes(me);
    if (!strcmp(mode, "barrier")) barrier(me);
    if (!strcmp(mode, "word")) word(me, memory[1]);
    MPI_Finalize();
    return 0;
}
