/* Completes one-sided operations of MPI one by one, or all at once:
 *
 *   mpi_inefficient flush      a flush after every put
 *   mpi_inefficient lock       a lock and an unlock around every put
 *   mpi_inefficient once       one flush after all puts
 *
 * With --time behind it prints how many seconds that took.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 400 };

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  int me, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int right = (me + 1) % size;
  double *memory, from[COUNT] = {0};
  MPI_Win win;
  MPI_Win_allocate(sizeof from, sizeof *from, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Barrier(MPI_COMM_WORLD);
  double began = MPI_Wtime();
  int failed = 0;
  if (!strcmp(mode, "lock")) {
    for (int i = 0; i < COUNT; i++) {
      MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
      MPI_Put(&from[i], 1, MPI_DOUBLE, right, i, 1, MPI_DOUBLE, win);
      MPI_Win_unlock(right, win);
    }
  } else {
    MPI_Win_lock_all(0, win);
    if (!strcmp(mode, "flush")) {
      for (int i = 0; i < COUNT; i++) {
        MPI_Put(&from[i], 1, MPI_DOUBLE, right, i, 1, MPI_DOUBLE, win);
        MPI_Win_flush(right, win);
      }
    } else if (!strcmp(mode, "once")) {
      for (int i = 0; i < COUNT; i++)
        MPI_Put(&from[i], 1, MPI_DOUBLE, right, i, 1, MPI_DOUBLE, win);
      MPI_Win_flush(right, win);
    } else {
      fprintf(stderr, "mpi_inefficient: no mode %s\n", mode);
      failed = 1;
    }
    MPI_Win_unlock_all(win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 2 && me == 0) printf("seconds %f\n", MPI_Wtime() - began);
  MPI_Win_free(&win);
  MPI_Finalize();
  return failed;
}
