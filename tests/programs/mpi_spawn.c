/* Starts another program, which is the same, and talks to it.
 *
 *   mpicc -O2 -g -o mpi_spawn mpi_spawn.c
 *   mpirun -n 2 ./mpi_spawn
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void talk(MPI_Comm other, int sender) {
  int me, value = 0, sum = 0, size = 0;
  MPI_Comm all;
  MPI_Comm_rank(other, &me);
  for (int i = 0; i < 5 && me == 0; i++) {
    if (sender) MPI_Send(&i, 1, MPI_INT, 0, 1, other);
    else MPI_Recv(&value, 1, MPI_INT, 0, 1, other, MPI_STATUS_IGNORE);
  }
  MPI_Intercomm_merge(other, !sender, &all);
  MPI_Comm_size(all, &size);
  value = 1;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, all);
  if (sender && me == 0) printf("%d of %d take part\n", sum, size);
  fflush(stdout);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&other);
}

int main(int argc, char **argv) {
  int me, code = 0;
  MPI_Comm parent, child;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    talk(parent, 0);
  } else {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child, &code);
    talk(child, 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
