/* PCAF from C, as a runtime of coarrays over MPI would call it: two images that read and write nothing here.
 *
 *   mpicc -g -I include -o pcaf pcaf.c include/pcaf.c
 */
#include <mpi.h>
#include <pcaf.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size = 8;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int other = 1 - rank, list[1] = {other + 1};
    pcaf_rma_write_begin(other, 512, &size);
    pcaf_rma_write_end(other);
    pcaf_rma_read_begin(other, 3, NULL);
    pcaf_rma_read_end(other);
    pcaf_rma_write(other, 1, &size);
    pcaf_rma_read(other, 2, &size);
    pcaf_sync_begin(PCAF_SYNC_ALL, NULL, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    pcaf_sync_end(PCAF_SYNC_ALL);
    pcaf_sync_begin(PCAF_SYNC_IMAGES, list, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    pcaf_sync_end(PCAF_SYNC_IMAGES);
    pcaf_sync_begin(PCAF_START_CRITICAL, NULL, 0);
    pcaf_sync_end(PCAF_START_CRITICAL);
    pcaf_sync_begin(PCAF_END_CRITICAL, NULL, 0);
    pcaf_sync_end(PCAF_END_CRITICAL);
    if (rank == 0)
        puts("done");
    MPI_Finalize();
    return 0;
}
