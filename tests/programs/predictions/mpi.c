/* Programs of MPI before and after a remedy, for two processes, and those after the empty line for four.
 *
 *   mpicc -O1 -g -finstrument-functions -o mpi mpi.c
 *   mpirun -np 2 ./mpi MODE OPERATIONS_PER_MILLISECOND
 *
 *   sleep        rank 0 sleeps between gets from rank 1, which computes; the remedy is progress without rank 1
 *   allocated    as sleep, in memory that the library may share between processes
 *   busy         as sleep, but rank 0 computes between its gets, so that no core is idle
 *   unbalanced   rank 1 computes three times as long as rank 0 between fences
 *   balanced     both compute equally long
 *
 *   ticket       a ticket lock, whose counter all read until it is their turn; rank 2 holds it four times as long
 *   short_ticket rank 2 holds it as long as the others
 *   pipeline     stages with synchronous sends in between; that of rank 2 takes four times as long
 *   even_stages  it takes twice as long
 *   turns        in every round, another rank is three times as long at its work
 *   even_turns   the work of every round is divided evenly
 *   halo         puts to both neighbours, flush, barrier; rank 2 is four times as long at its work
 *   even_halo    rank 2 is as long as the others
 *   epochs       rank 0 exposes its memory to the others, four times as late as they come
 *   early_epochs rank 0 exposes its memory when they come
 */
#include <mpi.h>

#include "work.h"

enum { CHUNKS = 60, GETS = 200, ROUNDS = 40, HALO = 128 };

static int rank, size;

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

/* More processes than cores: sleeping is work that does not need one. */
static void update(double milliseconds) { sleep_for(milliseconds); }
static void hold(double milliseconds) { sleep_for(milliseconds); }

static long add(long number, long what, MPI_Op op, MPI_Win win) {
  long value;
  MPI_Fetch_and_op(&number, &value, MPI_LONG, 0, what, op, win);
  MPI_Win_flush(0, win);
  return value;
}

static void ticket(double of_rank_2, MPI_Win win) {
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < ROUNDS / 4; i++) {
    long mine = add(1, 0, MPI_SUM, win);
    while (add(0, 1, MPI_NO_OP, win) != mine) sleep_for(0.02);
    hold(rank == 2 ? of_rank_2 : 10);
    add(1, 1, MPI_SUM, win);
  }
  MPI_Win_unlock_all(win);
}

static void pipeline(double of_rank_2) {
  static double item[HALO];
  for (int i = 0; i < ROUNDS; i++) {
    if (rank > 0) MPI_Recv(item, HALO, MPI_DOUBLE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    update(rank == 2 ? of_rank_2 : 8);
    if (rank < size - 1) MPI_Ssend(item, HALO, MPI_DOUBLE, rank + 1, 1, MPI_COMM_WORLD);
  }
}

static void turns(double of_one, double of_others, MPI_Win win) {
  for (int i = 0; i < ROUNDS; i++) {
    long value = i;
    update(i % size == rank ? of_one : of_others);
    MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, 1, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
  }
}

static void halo(double of_rank_2) {
  static double border[HALO], memory[2 * HALO];
  MPI_Win win;
  MPI_Win_create(memory, sizeof memory, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < ROUNDS; i++) {
    update(rank == 2 ? of_rank_2 : 10);
    MPI_Put(border, HALO, MPI_DOUBLE, (rank + 1) % size, 0, HALO, MPI_DOUBLE, win);
    MPI_Put(border, HALO, MPI_DOUBLE, (rank + size - 1) % size, HALO, HALO, MPI_DOUBLE, win);
    MPI_Win_flush_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

static void epochs(double of_rank_0, MPI_Win win) {
  MPI_Group everybody, others, first;
  int zero = 0;
  MPI_Comm_group(MPI_COMM_WORLD, &everybody);
  MPI_Group_incl(everybody, 1, &zero, &first);
  MPI_Group_excl(everybody, 1, &zero, &others);
  for (int i = 0; i < ROUNDS; i++) {
    long value = i;
    update(rank == 0 ? of_rank_0 : 10);
    if (rank == 0) {
      MPI_Win_post(others, 0, win);
      MPI_Win_wait(win);
    } else {
      MPI_Win_start(first, 0, win);
      MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
      MPI_Win_complete(win);
    }
  }
  MPI_Group_free(&everybody);
  MPI_Group_free(&others);
  MPI_Group_free(&first);
}

int main(int argc, char **argv) {
  const char *mode = argv[1];
  static long memory[2];
  MPI_Win win;
  calibrated(argc, argv);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
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
  if (!strcmp(mode, "ticket")) ticket(40, win);
  if (!strcmp(mode, "short_ticket")) ticket(10, win);
  if (!strcmp(mode, "pipeline")) pipeline(32);
  if (!strcmp(mode, "even_stages")) pipeline(16);
  if (!strcmp(mode, "turns")) turns(30, 10, win);
  if (!strcmp(mode, "even_turns")) turns(15, 15, win);
  if (!strcmp(mode, "halo")) halo(40);
  if (!strcmp(mode, "even_halo")) halo(10);
  if (!strcmp(mode, "epochs")) epochs(40, win);
  if (!strcmp(mode, "early_epochs")) epochs(10, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) took(begin);
  MPI_Win_free(&win);
  MPI_Finalize();
}
