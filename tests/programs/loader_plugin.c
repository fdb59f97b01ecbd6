/* A plug-in that uses MPI, for loader_deep.c.
 *
 *   mpicc -O1 -g -shared -fPIC -o loader_plugin.so loader_plugin.c
 */
#include <mpi.h>
#include <stdio.h>

void run(void) {
  int rank, i;
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (i = 0; i < 5; i++)
    MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d ends\n", rank);
  fflush(stdout);
  MPI_Finalize();
}
