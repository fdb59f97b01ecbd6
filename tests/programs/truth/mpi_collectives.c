/* Waits in collectives of MPI, with 4 ranks: see truth.h.
 * mpicc -g -O1 mpi_collectives.c -o mpi_collectives; mpirun -np 4 ./mpi_collectives sub_broadcast ... */
#include <mpi.h>

#include "truth.h"

#define WORLD MPI_COMM_WORLD
static double local[4096];

static void barrier(int event) { BARRIER(event, MPI_Barrier(WORLD)); }
static void rank_late(int rank, double ms) {
  if (me == rank) rest(ms);
  mark(1);
}

/* Communicators {2, 0} and {3, 1}; roots are ranks 2 and 3 of the world. */
static MPI_Comm halves(void) {
  MPI_Comm half;
  MPI_Comm_split(WORLD, me % 2, -me, &half);
  return half;
}
static void sub_broadcast(void) {
  MPI_Comm half = halves();
  meet(2);
  rank_late(me == 2 || me == 3 ? me : -1, me == 2 ? 50 : 90);
  TIMED(MPI_Bcast(local, 8, MPI_DOUBLE, 0, half));
  if (me < 2) waited("late_broadcast", me + 2, 1);
  MPI_Comm_free(&half);
}
static void reduce(void) {
  rank_late(3, 60);
  TIMED(MPI_Reduce(local, local + 64, 8, MPI_DOUBLE, MPI_SUM, 1, WORLD));
  if (me == 1) waited("early_reduce", 3, 1);
}
static void scan(void) {
  rank_late(1, 60);
  TIMED(MPI_Scan(local, local + 64, 8, MPI_DOUBLE, MPI_SUM, WORLD));
  if (me > 1) waited("early_scan", 1, 1);
}
static void gather(void) {
  rank_late(2, 60);
  TIMED(MPI_Gather(local, 8, MPI_DOUBLE, local + 64, 8, MPI_DOUBLE, 3, WORLD));
  if (me == 3) waited("early_reduce", 2, 1);
}
static void scatter(void) {
  rank_late(0, 60);
  TIMED(MPI_Scatter(local, 8, MPI_DOUBLE, local + 64, 8, MPI_DOUBLE, 0, WORLD));
  if (me) waited("late_broadcast", 0, 1);
}
static void reduce_scatter(void) {
  rank_late(0, 60);
  TIMED(MPI_Reduce_scatter_block(local, local + 64, 8, MPI_DOUBLE, MPI_SUM, WORLD));
  if (me) waited("nxn_wait", 0, 1);
}
static void non_blocking_reduce(void) {
  MPI_Request request;
  rank_late(1, 60);
  MPI_Iallreduce(local, local + 64, 8, MPI_DOUBLE, MPI_SUM, WORLD, &request);
  TIMED(MPI_Wait(&request, MPI_STATUS_IGNORE));
  if (me != 1) waited("nonblocking_collective_wait", 1, 1);
}
static void non_blocking_broadcast(void) {
  MPI_Request request;
  rank_late(2, 70);
  MPI_Ibcast(local, 8, MPI_DOUBLE, 2, WORLD, &request);
  TIMED(MPI_Wait(&request, MPI_STATUS_IGNORE));
  if (me != 2) waited("nonblocking_collective_wait", 2, 1);
}
/* A collective and a message in one call: the collective, for which rank 3 is late, is the last. */
static void collective_and_message(void) {
  MPI_Request request[2];
  if (me == 3) rest(90);
  if (me == 1) rest(40);
  mark(1);
  MPI_Iallreduce(local, local + 8, 1, MPI_DOUBLE, MPI_SUM, WORLD, request);
  request[1] = MPI_REQUEST_NULL;
  if (me == 0) MPI_Irecv(local + 20, 1, MPI_DOUBLE, 1, 5, WORLD, request + 1);
  if (me == 1) MPI_Isend(local, 1, MPI_DOUBLE, 0, 5, WORLD, request + 1);
  TIMED(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
  if (me != 3) waited("nonblocking_collective_wait", 3, 1);
}
/* A ring: ranks wait for their neighbours only. Rank 0 is late by 120 ms, rank 2 of six or more by 50 ms. */
static void neighbours(void) {
  MPI_Comm ring;
  int periodic = 1;
  MPI_Cart_create(WORLD, 1, &processes, &periodic, 0, &ring);
  meet(2);
  if (me == 0) rest(120);
  if (me == 2 && processes > 4) rest(50);
  mark(1);
  TIMED(MPI_Neighbor_alltoall(local, 1, MPI_DOUBLE, local + 64, 1, MPI_DOUBLE, ring));
  if (me == 1 || me == processes - 1) waited("nxn_wait", 0, 1);
  if (me == 3 && processes > 4) waited("nxn_wait", 2, 1);
  barrier(3);
  MPI_Comm_free(&ring);
}
static void duplicate(void) {
  MPI_Comm copy;
  rank_late(2, 60);
  TIMED(MPI_Comm_dup(WORLD, &copy));
  if (me != 2) waited("wait_at_create", 2, 1);
  MPI_Comm_free(&copy);
}
/* A barrier of an intercommunicator of both halves; rank 1 is late. */
static void intercommunicator(void) {
  MPI_Comm half = halves(), both;
  MPI_Intercomm_create(half, 0, WORLD, me % 2 ? 2 : 3, 77, &both);
  meet(2);
  rank_late(1, 60);
  TIMED(MPI_Barrier(both));
  if (me != 1) waited("barrier_wait", 1, 1);
  barrier(3);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}
/* A communicator of ranks 3 and 1 made by them alone. */
static void group(void) {
  MPI_Group all, two;
  MPI_Comm pair = MPI_COMM_NULL;
  int ranks[2] = {3, 1};
  MPI_Comm_group(WORLD, &all);
  MPI_Group_incl(all, 2, ranks, &two);
  if (me == 1 || me == 3) MPI_Comm_create_group(WORLD, two, 9, &pair);
  meet(2);
  rank_late(3, 70);
  if (pair == MPI_COMM_NULL) return;
  TIMED(MPI_Allreduce(local, local + 8, 1, MPI_DOUBLE, MPI_SUM, pair));
  if (me == 1) waited("nxn_wait", 3, 1);
  MPI_Comm_free(&pair);
}

/* All do the same. A rank may still wait for its neighbour, which has lost its core. */
static void balanced(void) {
  int left = (me + processes - 1) % processes, right = (me + 1) % processes;
  for (int i = 0; i < 9; i++) {
    rest(5);
    barrier(6 * i);
    mark(6 * i + 2);
    TIMED(MPI_Sendrecv(local, 1, MPI_DOUBLE, right, 3, local + 8, 1, MPI_DOUBLE, left, 3, WORLD, MPI_STATUS_IGNORE));
    waited("late_sender", left, 6 * i + 2);
    barrier(6 * i + 3);
  }
}

int main(int count, char **names) {
  static const mode_t_ modes[] = {
      MODE(sub_broadcast), MODE(reduce), MODE(scan), MODE(gather), MODE(scatter), MODE(reduce_scatter),
      MODE(non_blocking_reduce), MODE(non_blocking_broadcast), MODE(collective_and_message), MODE(neighbours),
      MODE(duplicate), MODE(intercommunicator), MODE(group), MODE(balanced),
  };
  MPI_Init(&count, &names);
  int rank, size;
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &size);
  truth_begin(rank, size);
  barrier(0);
  RUN_MODES(count, names, modes, barrier);
  truth_end();
  MPI_Finalize();
}
