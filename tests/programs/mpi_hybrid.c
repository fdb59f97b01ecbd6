/* OpenSHMEM and MPI in one program: a put of one, a reduction of the other. */
#include <mpi.h>
#include <shmem.h>
#include <stdio.h>

static long box;

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    shmem_init();
    int me = shmem_my_pe(), all = shmem_n_pes();
    shmem_long_p(&box, me + 1, (me + 1) % all);
    shmem_barrier_all();
    long sum = 0;
    MPI_Allreduce(&box, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0) printf("%d processes, sum %ld\n", all, sum);
    fflush(stdout);
    shmem_barrier_all();
    shmem_finalize();
    int over;
    MPI_Finalized(&over); /* Open MPI's OpenSHMEM ends both. */
    if (!over) MPI_Finalize();
    return 0;
}
