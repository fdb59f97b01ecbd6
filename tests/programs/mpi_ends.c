/* Rank 0 comes SECONDS later to MPI_Finalize than the others. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
  unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
  int rank, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 20; i++)
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d has %d\n", rank, sum);
  fflush(stdout);
  if (rank == 0)
    sleep(seconds);
  MPI_Finalize();
  return 0;
}
