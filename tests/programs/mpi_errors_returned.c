/*
 * A library that stands between a tool and MPI, and says which error handler a session gets that the tool starts by
 * PMPI_Session_init: a tool that wants to live with errors asks for MPI_ERRORS_RETURN.
 *
 *   mpicc -shared -fPIC -o liberrors.so mpi_errors_returned.c
 *   LD_PRELOAD=tool.so:liberrors.so mpirun -n 2 ./mpi_session
 *
 * Prints "the tool's session returns errors" or "the tool's session has another error handler: N" for each session.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

int PMPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session *session) {
  int (*next)(MPI_Info, MPI_Errhandler, MPI_Session *) = dlsym(RTLD_NEXT, "PMPI_Session_init");
  if (handler == MPI_ERRORS_RETURN) {
    printf("the tool's session returns errors\n");
  } else {
    printf("the tool's session has another error handler: %#jx\n", (uintmax_t)handler);
  }
  fflush(stdout);
  return next(info, handler, session);
}
