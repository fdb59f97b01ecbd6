/* Delays of one rank that others pass on, with 4 ranks: see truth.h. In every mode all do the same but for one rank, which
 * is late three times. The ranks that wait for it make others wait. A barrier comes before each delay, so that all
 * delays of a mode are between the same two calls.
 * mpicc -g -O1 passed_on_mpi.c -o passed_on_mpi; mpirun -np 4 ./passed_on_mpi pipeline */
#include <mpi.h>

#include "truth.h"

#define ROUNDS 3
#define LATE 200
#define WORLD MPI_COMM_WORLD
static int word;

static void barrier(int event) {
  (void)event;
  MPI_Barrier(WORLD);
}
static void receive_from(int rank) { MPI_Recv(&word, 1, MPI_INT, rank, 0, WORLD, MPI_STATUS_IGNORE); }
static void send_to(int rank) { MPI_Send(&word, 1, MPI_INT, rank, 0, WORLD); }
/* Makes a communicator of some consecutive ranks; null in others. */
static MPI_Comm some(int from, int to) {
  MPI_Comm made;
  MPI_Comm_split(WORLD, from <= me && me <= to ? 0 : MPI_UNDEFINED, me, &made);
  return made;
}

/* Ranks after 0 receive from the one before, do what they have to do, and send to the next. */
static void receive_and_send(double ms) {
  receive_from(me - 1);
  if (ms > 0) rest(ms);
  if (me < 3) send_to(me + 1);
}

/* Rank 0 sends late, except for the first time; there is no barrier between the rounds. */
static void pipeline(void) {
  for (int round = 0; round <= ROUNDS; round++) {
    if (me == 0) {
      if (round) late(LATE);
      TIMED(MPI_Send(&word, 1, MPI_INT, 1, 0, WORLD));
      if (round) caused("cause:computing", 3, 2);
    } else {
      receive_and_send(0);
    }
  }
}

/* Rank 0 is late by the whole delay, and rank 1, which has waited for it, by a quarter of it. */
static void two_delays(void) {
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Barrier(WORLD);
    if (me == 0) {
      late(LATE);
      TIMED(MPI_Send(&word, 1, MPI_INT, 1, 0, WORLD));
      caused("cause:computing", 3, 2);
    } else {
      receive_and_send(me == 1 ? LATE / 4 : 0);
    }
  }
}

/* Rank 3 computes as well, for half of the time for which rank 0 is late, and would be in time. */
static void in_time(void) {
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Barrier(WORLD);
    if (me == 0) {
      late(LATE);
      TIMED(MPI_Send(&word, 1, MPI_INT, 1, 0, WORLD));
      caused("cause:computing", 2.5, 1.5);
    } else {
      if (me == 3) rest(LATE / 2);
      receive_and_send(0);
    }
  }
}

/* Rank 3 receives late. Rank 2 cannot send to it, and so does not receive from rank 1, and so on. */
static void synchronous_sends(void) {
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Barrier(WORLD);
    if (me == 3) {
      late(LATE);
      TIMED(MPI_Recv(&word, 1, MPI_INT, 2, 0, WORLD, MPI_STATUS_IGNORE));
      caused("cause:computing", 3, 2);
    } else {
      MPI_Ssend(&word, 1, MPI_INT, me + 1, 0, WORLD);
      if (me > 0) receive_from(me - 1);
    }
  }
}

/* Rank 0 is in a slow call of MPI before it sends: the program copies an attribute of a communicator. */
static int copy(MPI_Comm of, int key, void *more, void *from, void *to, int *flag) {
  (void)of, (void)key, (void)more, (void)from, (void)to;
  late(LATE);
  return *flag = 0, MPI_SUCCESS;
}
static void slow_call(void) {
  int key;
  MPI_Comm own;
  MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, 0);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, 0);
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Barrier(WORLD);
    if (me == 0) {
      TIMED(MPI_Comm_dup(MPI_COMM_SELF, &own));
      caused("cause:call", 3, 2);
      send_to(1);
      MPI_Comm_free(&own);
    } else {
      receive_and_send(0);
    }
  }
  MPI_Comm_delete_attr(MPI_COMM_SELF, key);
  MPI_Comm_free_keyval(&key);
}

/* Rank 0 is late to meet rank 1, which then meets rank 2, which then meets rank 3. */
static void pairs(void) {
  MPI_Comm pair[3];
  for (int i = 0; i < 3; i++) pair[i] = some(i, i + 1);
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Barrier(WORLD);
    if (me == 0) {
      late(LATE);
      TIMED(MPI_Barrier(pair[0]));
      caused("cause:computing", 3, 2);
    } else {
      MPI_Barrier(pair[me - 1]);
      if (me < 3) MPI_Barrier(pair[me]);
    }
  }
}

/* Rank 0 is late with a broadcast to rank 1, for which rank 3 waits in a reduction, and rank 2 in the barrier. */
static void broadcast_then_reduce(void) {
  MPI_Comm first = some(0, 1), second = some(1, 3);
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Barrier(WORLD);
    if (me == 0) {
      late(LATE);
      TIMED(MPI_Bcast(&word, 1, MPI_INT, 0, first));
      caused("cause:computing", 3, 1);
    } else {
      int sum;
      if (me == 1) MPI_Bcast(&word, 1, MPI_INT, 0, first);
      MPI_Reduce(&word, &sum, 1, MPI_INT, MPI_SUM, 2, second);
    }
  }
}

/* Rank 0 posts late to rank 1, which posts to rank 2 after its access, and so on. */
static void epochs(void) {
  MPI_Group all, before = MPI_GROUP_NULL, next = MPI_GROUP_NULL;
  MPI_Win window;
  int *memory, rank;
  MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, WORLD, &memory, &window);
  MPI_Comm_group(WORLD, &all);
  if (me > 0) rank = me - 1, MPI_Group_incl(all, 1, &rank, &before);
  if (me < 3) rank = me + 1, MPI_Group_incl(all, 1, &rank, &next);
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Barrier(WORLD);
    if (me == 0) {
      late(LATE);
      TIMED(MPI_Win_post(next, 0, window));
      caused("cause:computing", 3, 2);
      MPI_Win_wait(window);
    } else {
      MPI_Win_start(before, 0, window);
      MPI_Put(&word, 1, MPI_INT, me - 1, 0, 1, MPI_INT, window);
      MPI_Win_complete(window);
      if (me < 3) {
        MPI_Win_post(next, 0, window);
        MPI_Win_wait(window);
      }
    }
  }
  if (me > 0) MPI_Group_free(&before);
  if (me < 3) MPI_Group_free(&next);
  MPI_Group_free(&all);
  MPI_Win_free(&window);
}

/* Rank 0 is late to a fence with rank 1, for which ranks 2 and 3 wait in a fence of their own with it. */
static void fences(void) {
  MPI_Win first = MPI_WIN_NULL, second = MPI_WIN_NULL;
  int *memory;
  MPI_Comm one = some(0, 1), two = some(1, 3);
  if (me < 2) MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, one, &memory, &first);
  if (me > 0) MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, two, &memory, &second);
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Barrier(WORLD);
    if (me == 0) {
      late(LATE);
      TIMED(MPI_Win_fence(0, first));
      caused("cause:computing", 3, 2);
    } else {
      if (me == 1) MPI_Win_fence(0, first);
      MPI_Win_fence(0, second);
    }
  }
  if (me < 2) MPI_Win_free(&first);
  if (me > 0) MPI_Win_free(&second);
}

/* Rank 0 holds a lock on rank 3 for long. Rank 1 waits for the lock, rank 2 for a message of rank 1, rank 3 for one of
 * rank 2. */
static void lock_holder(void) {
  MPI_Win window;
  int *memory;
  MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, WORLD, &memory, &window);
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Barrier(WORLD);
    if (me == 0) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 3, 0, window);
      MPI_Put(&word, 1, MPI_INT, 3, 0, 1, MPI_INT, window);
      MPI_Win_flush(3, window);
    }
    MPI_Barrier(WORLD);
    if (me == 0) {
      late(LATE);
      TIMED(MPI_Win_unlock(3, window));
      caused("cause:computing", 3, 2);
    } else if (me == 1) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 3, 0, window);
      MPI_Put(&word, 1, MPI_INT, 3, 0, 1, MPI_INT, window);
      MPI_Win_unlock(3, window);
      send_to(2);
    } else {
      receive_and_send(0);
    }
  }
  MPI_Win_free(&window);
}

/* Rank 1 gets from rank 0, which is not in the library, and so comes late to the barrier. */
static void late_target(void) {
  MPI_Win window;
  int *memory;
  MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, WORLD, &memory, &window);
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Barrier(WORLD);
    if (me == 0) late(LATE);
    if (me == 1) {
      MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
      MPI_Get(&word, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
      MPI_Win_unlock(0, window);
      rest(10);
    }
    TIMED(MPI_Barrier(WORLD));
    if (me == 0) caused("cause:computing", 3, 2);
  }
  MPI_Win_free(&window);
}

int main(int count, char **names) {
  static const mode_t_ modes[] = {
      MODE(pipeline), MODE(two_delays),            MODE(in_time), MODE(synchronous_sends), MODE(slow_call),
      MODE(pairs),    MODE(broadcast_then_reduce), MODE(epochs),  MODE(fences),            MODE(lock_holder),
      MODE(late_target),
  };
  MPI_Init(&count, &names);
  int rank, size;
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &size);
  truth_begin(rank, size);
  MPI_Barrier(WORLD);
  RUN_MODES(count, names, modes, barrier);
  truth_end();
  MPI_Finalize();
}
