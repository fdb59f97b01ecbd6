/* A library between a program and MPI: a tool that counts sends and barriers, and
 * a function that starts MPI for the program.
 *
 *   mpicc -O2 -g -shared -fPIC -o libmpi_tool.so mpi_tool.c
 */
#include <mpi.h>

int tool_sends, tool_barriers;

void start_mpi(void) { MPI_Init(0, 0); }

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  tool_sends++;
  return PMPI_Send(buffer, count, type, to, tag, comm);
}

int MPI_Barrier(MPI_Comm comm) {
  /* A tool may talk for itself while it is called. */
  int one = 1, sum;
  tool_barriers++;
  PMPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  return PMPI_Barrier(comm);
}
