/* Starts MPI late and from a library, has a tool linked in, and goes on after the
 * end of MPI.
 *
 *   mpicc -O2 -g -o mpi_start mpi_start.c -L. -lmpi_tool -Wl,-rpath,'$ORIGIN'
 *   mpirun -n 2 ./mpi_start
 *   ./mpi_start never       does not start MPI; exit code 3
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SENDS 10

extern int tool_sends, tool_barriers;
void start_mpi(void);

static int own_calls;

/* A tool that is part of the program. */
int MPI_Allgather(const void *from, int sent, MPI_Datatype type, void *into, int received,
                  MPI_Datatype into_type, MPI_Comm comm) {
  own_calls++;
  return PMPI_Allgather(from, sent, type, into, received, into_type, comm);
}

static void flags(const char *when) {
  int started = -1, ended = -1, major = 0, minor = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  MPI_Get_version(&major, &minor);
  printf("%s: %d %d %d.%d\n", when, started, ended, major, minor);
}

static void work(void) {
  const struct timespec t = {.tv_nsec = 20 * 1000 * 1000};
  nanosleep(&t, NULL);
}

int main(int argc, char **argv) {
  int me, ranks, all[64], value = 0;
  flags("before");
  if (argc > 1 && strcmp(argv[1], "never") == 0) return 3;
  work();
  start_mpi();
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < SENDS; i++) {
    if (me == 0) MPI_Send(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (me == 1) MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Allgather(&me, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  flags("between");
  printf("rank %d: %d sends, %d barriers, %d of its own, got %d\n", me, tool_sends, tool_barriers,
         own_calls, value);
  MPI_Finalize();
  flags("after");
  work();
  pid_t child = fork();
  if (child == 0) _exit(12);
  int status = 0;
  waitpid(child, &status, 0);
  printf("child: %d\n", WEXITSTATUS(status));
  return 0;
}
