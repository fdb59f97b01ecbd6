/* Makes and gives back communicators, windows and types by the thousand, so that
 * the library uses their handles again, and counts what it moves on which.
 *
 *   mpicc -O2 -g -o mpi_handles mpi_handles.c
 *   mpirun -n 4 ./mpi_handles ROUNDS
 *
 * Says of each rank how much memory it took, as `resident` in KiB between the
 * first and the last quarter of the rounds, and lines `count pe=...`.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, ranks;
static long allreduces, allreduced, sends, sent, puts_, put;

static void expect(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "mpi_handles: rank %d: %s\n", me, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A sum over the ranks in the world of who is there. */
static void check(MPI_Comm comm, int expected) {
  int sum = 0;
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
  allreduces++;
  allreduced += 8;
  expect(sum == expected, "a communicator has other members than it should");
}

static void communicators(int round) {
  const int all = ranks * (ranks - 1) / 2;
  MPI_Comm twin, half, none, group_comm;
  MPI_Group group, part;
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);
  /* Who is with whom changes from round to round, the handle does not. */
  int colour = (me >> (round % 2)) & 1, expected = 0;
  for (int i = 0; i < ranks; i++)
    if (((i >> (round % 2)) & 1) == colour) expected += i;
  MPI_Comm_split(twin, colour, -me, &half);
  check(half, expected);
  check(twin, all);
  MPI_Comm_free(&half);
  MPI_Comm_split(twin, me == 0 ? MPI_UNDEFINED : 0, 0, &none);
  expect((me == 0) == (none == MPI_COMM_NULL), "split with no colour");
  if (me != 0) {
    check(none, all);
    MPI_Comm_free(&none);
  }
  MPI_Comm_free(&twin);
  if (round % 16) return;
  /* Only the members take part. */
  int first[] = {0, 1};
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Group_incl(group, 2, first, &part);
  if (me < 2) {
    MPI_Comm_create_group(MPI_COMM_WORLD, part, 5, &group_comm);
    check(group_comm, 1);
    MPI_Comm_free(&group_comm);
  }
  MPI_Group_free(&part);
  MPI_Group_free(&group);
}

static void between(int round) {
  MPI_Comm half, inter, merged;
  const int side = me >= ranks / 2, all = ranks * (ranks - 1) / 2;
  MPI_Comm_split(MPI_COMM_WORLD, side, me, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, side ? 0 : ranks / 2, 7, &inter);
  int value = me * 10 + round, got = -1, rank;
  MPI_Comm_rank(inter, &rank);
  MPI_Sendrecv(&value, 1, MPI_INT, rank, 1, &got, 1, MPI_INT, rank, 1, inter, MPI_STATUS_IGNORE);
  expect(got == (side ? me - ranks / 2 : me + ranks / 2) * 10 + round, "a message between groups");
  MPI_Intercomm_merge(inter, side, &merged);
  check(merged, all);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

static void windows(int round) {
  const int other = (me + 1) % ranks;
  double value = me + round, *memory;
  MPI_Win window;
  MPI_Win_allocate(sizeof *memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, window);
  MPI_Put(&value, 1, MPI_DOUBLE, other, 0, 1, MPI_DOUBLE, window);
  MPI_Win_unlock(other, window);
  puts_++;
  put += 8;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
}

/* The same handle for a type of another size each time. */
static void types(int round) {
  char out[256], in[256];
  const int count = 1 + round % 13, other = ranks - 1 - me;
  MPI_Datatype row, strided;
  MPI_Type_contiguous(count, MPI_SHORT, &row);
  MPI_Type_vector(3, 1, 2, row, &strided);
  MPI_Type_commit(&strided);
  memset(out, round, sizeof out);
  MPI_Sendrecv(out, 1, strided, other, 2, in, 1, strided, other, 2, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Send(out, 2, strided, me, 3, MPI_COMM_WORLD);
  MPI_Recv(in, 2, strided, me, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  sends++;
  sent += 2L * 3 * count * 2;
  MPI_Type_free(&row);
  MPI_Type_free(&strided);
}

static long resident(void) {
  long pages = 0, ignored;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file) return 0;
  if (fscanf(file, "%ld %ld", &ignored, &pages) != 2) pages = 0;
  fclose(file);
  return pages * 4;
}

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
  long early = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int round = 0; round < rounds; round++) {
    communicators(round);
    if (round % 8 == 0) between(round);
    if (round % 8 == 0) windows(round);
    types(round);
    if (round == rounds / 4) early = resident();
  }
  fprintf(stderr, "resident %ld\n", resident() - early);
  printf("count pe=%d MPI_Allreduce=%ld bytes=%ld\n", me, allreduces, allreduced);
  printf("count pe=%d MPI_Send=%ld bytes=%ld\n", me, sends, sent);
  printf("count pe=%d MPI_Recv=%ld bytes=%ld\n", me, sends, sent);
  printf("count pe=%d MPI_Put=%ld bytes=%ld\n", me, puts_, put);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
