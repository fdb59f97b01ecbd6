/* Programs of MPI before and after a remedy, for two processes.
 *
 *   mpicc -O1 -g -finstrument-functions -o mpi mpi.c
 *   mpirun -np 2 ./mpi MODE OPERATIONS_PER_MILLISECOND
 *
 *   sleep        rank 0 sleeps between gets from rank 1, which computes; the remedy is progress without rank 1
 *   allocated    as sleep, in memory that the library may share between processes
 *   busy         as sleep, but rank 0 computes between its gets, so that no core is idle
 *   unbalanced   rank 1 computes three times as long as rank 0 between fences
 *   balanced     both compute equally long
 */
#include <mpi.h>

#include "work.h"

enum { CHUNKS = 60, GETS = 200, ROUNDS = 40 };

static int rank;

/* Rank 0 gets from rank 1, which makes a call between chunks of 20 ms only. */
static void gets(int is_busy, MPI_Win win) {
  long value;
  MPI_Win_lock_all(0, win);
  if (rank == 0) {
    for (int i = 0; i < GETS; i++) {
      if (is_busy) work(5);
      else sleep_for(5);
      MPI_Get(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
      MPI_Win_flush(1, win);
    }
  } else {
    for (int i = 0; i < CHUNKS; i++) {
      int flag;
      work(20);
      MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
  }
  MPI_Win_unlock_all(win);
}

static void relax(double milliseconds) { work(milliseconds); }

static void rounds(double of_rank_0, double of_rank_1, MPI_Win win) {
  for (int i = 0; i < ROUNDS; i++) {
    long value = i;
    relax(rank == 0 ? of_rank_0 : of_rank_1);
    MPI_Put(&value, 1, MPI_LONG, 1 - rank, 1, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
  }
}

int main(int argc, char **argv) {
  const char *mode = argv[1];
  static long memory[2];
  MPI_Win win;
  calibrated(argc, argv);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!strcmp(mode, "allocated")) {
    /* Memory that the library may share between processes. */
    long *shared;
    MPI_Win_allocate(sizeof memory, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &win);
  } else {
    MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  }
  MPI_Win_fence(0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = now();
  if (!strcmp(mode, "sleep") || !strcmp(mode, "allocated")) gets(0, win);
  if (!strcmp(mode, "busy")) gets(1, win);
  if (!strcmp(mode, "unbalanced")) rounds(10, 30, win);
  if (!strcmp(mode, "balanced")) rounds(20, 20, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) took(begin);
  MPI_Win_free(&win);
  MPI_Finalize();
}
