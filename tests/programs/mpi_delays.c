/*
 * Waits of known length: rank 0 is late by DELAY milliseconds, rank 1 waits for it.
 *
 *   mpicc -O2 -g -fno-optimize-sibling-calls -o mpi_delays mpi_delays.c
 *   mpirun -np 2 ./mpi_delays DELAY MODE...
 *
 * MODE             rank 1 waits in              until rank 0
 *   recv           MPI_Recv                     sends
 *   irecv          MPI_Wait for an MPI_Irecv    sends
 *   wrong_order    MPI_Recv                     sends that message, after another which waits already
 *   ssend          MPI_Ssend                    receives
 *   barrier        MPI_Barrier                  enters it too
 *   allreduce      MPI_Allreduce                enters it too
 *   alltoall       MPI_Alltoall                 enters it too
 *   bcast          MPI_Bcast, root 0            enters it
 *   reduce         MPI_Reduce, root 1           enters it
 *   ibarrier       MPI_Wait for an MPI_Ibarrier begins it too
 *   create         MPI_Win_allocate             enters it too
 *   free           MPI_Win_free                 enters it too
 *   fence          MPI_Win_fence                enters it too
 *   post           start, put and complete      posts its window
 *   wait           MPI_Win_wait                 completes its epoch, long after its last operation
 *   lock           lock, get and unlock         gives the lock back
 *   get            MPI_Win_flush after MPI_Get  enters a barrier, if the transport needs it
 *   rget           MPI_Wait for an MPI_Rget     enters a barrier, if the transport needs it
 *   atomic         MPI_Win_flush after          enters a barrier, if the transport needs it
 *                  MPI_Fetch_and_op
 *
 * Everything is done ROUNDS times, each time from a function of its own (barrier_0, barrier_1, ...), so that
 * the rounds are call paths of their own. Who is late computes; it does not sleep. After each round rank 0
 * prints, from the clocks of both, how long rank 1 must have waited in it; if its call was over before, no
 * longer than that:
 *
 *   expected barrier 0 0.190012
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delays.h"

#define WORLD MPI_COMM_WORLD

static int one = 1, two[2], other[2];
static double word, *memory;
static MPI_Win win, made;
static MPI_Request request;
static MPI_Group peer;

#define lock() MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win)

#define ONE 1, MPI_DOUBLE /* of what windows hold */

WAIT(recv, MPI_Recv(&one, 1, MPI_INT, 0, 1, WORLD, MPI_STATUS_IGNORE))
WAIT(irecv, MPI_Wait(&request, MPI_STATUS_IGNORE))
WAIT(wrong_order, MPI_Recv(&one, 1, MPI_INT, 0, 1, WORLD, MPI_STATUS_IGNORE))
WAIT(ssend, MPI_Ssend(&one, 1, MPI_INT, 0, 1, WORLD))
WAIT(barrier, MPI_Barrier(WORLD))
WAIT(allreduce, MPI_Allreduce(&one, two, 1, MPI_INT, MPI_SUM, WORLD))
WAIT(alltoall, MPI_Alltoall(other, 1, MPI_INT, two, 1, MPI_INT, WORLD))
WAIT(bcast, MPI_Bcast(&one, 1, MPI_INT, 0, WORLD))
WAIT(reduce, MPI_Reduce(&one, two, 1, MPI_INT, MPI_SUM, 1, WORLD))
WAIT(ibarrier, MPI_Wait(&request, MPI_STATUS_IGNORE))
WAIT(create, MPI_Win_allocate(8, 8, MPI_INFO_NULL, WORLD, &memory, &made))
WAIT(free, MPI_Win_free(&made))
WAIT(fence, MPI_Win_fence(0, win))
WAIT(post, (MPI_Win_start(peer, 0, win), MPI_Put(&word, ONE, 0, 0, ONE, win), MPI_Win_complete(win)))
WAIT(wait, MPI_Win_wait(win))
WAIT(lock, (lock(), MPI_Get(&word, ONE, 0, 0, ONE, win), MPI_Win_unlock(0, win)))
WAIT(get, MPI_Win_flush(0, win))
WAIT(rget, MPI_Wait(&request, MPI_STATUS_IGNORE))
WAIT(atomic, MPI_Win_flush(0, win))

static void receive(void (*wait)(void)) {
  if (alone(wait)) MPI_Send(&one, 1, MPI_INT, 1, 1, WORLD);
}

static void receive_later(void (*wait)(void)) {
  if (me == 1) MPI_Irecv(two, 1, MPI_INT, 0, 1, WORLD, &request);
  receive(wait);
}

static void wrong_order(void (*wait)(void)) {
  if (me == 0) MPI_Send(&one, 1, MPI_INT, 1, 2, WORLD);
  receive(wait);
  if (me == 1) MPI_Recv(&one, 1, MPI_INT, 0, 2, WORLD, MPI_STATUS_IGNORE);
}

static void send(void (*wait)(void)) {
  if (alone(wait)) MPI_Recv(&one, 1, MPI_INT, 1, 1, WORLD, MPI_STATUS_IGNORE);
}

static void begin_later(void (*wait)(void)) {
  if (me == 0) be_late();
  MPI_Ibarrier(WORLD, &request);
  if (me == 1) be_on_time(wait);
  else MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void create(void (*wait)(void)) {
  together(wait);
  MPI_Win_free(&made);
}

static void give_back(void (*wait)(void)) {
  MPI_Win_allocate(8, 8, MPI_INFO_NULL, WORLD, &memory, &made);
  together(wait);
}

static void fence(void (*wait)(void)) {
  MPI_Win_fence(0, win);
  together(wait);
}

static void post(void (*wait)(void)) {
  if (alone(wait)) {
    MPI_Win_post(peer, 0, win);
    MPI_Win_wait(win);
  }
}

static void expose(void (*wait)(void)) {
  if (me == 1) {
    MPI_Win_post(peer, 0, win);
    be_on_time(wait);
  } else {
    MPI_Win_start(peer, 0, win);
    MPI_Put(&word, ONE, 1, 0, ONE, win);
    be_late();
    MPI_Win_complete(win);
  }
}

static void contend(void (*wait)(void)) {
  if (me == 0) {
    /* Some libraries take the lock only with the first operation. */
    lock();
    MPI_Get(&word, ONE, 0, 0, ONE, win);
    MPI_Win_flush(0, win);
    MPI_Send(&one, 1, MPI_INT, 1, 1, WORLD);
  } else {
    MPI_Recv(&one, 1, MPI_INT, 0, 1, WORLD, MPI_STATUS_IGNORE);
  }
  if (alone(wait)) MPI_Win_unlock(0, win);
}

enum what { GET, RGET, ATOMIC };

/* Something outstanding at rank 0, which is away from the library. */
static void outstanding(void (*wait)(void), enum what what) {
  MPI_Win_lock_all(0, win);
  if (me == 1) { /* some libraries lock a process with the first operation on it */
    MPI_Get(&word, ONE, 0, 0, ONE, win);
    MPI_Win_flush(0, win);
  }
  MPI_Barrier(WORLD);
  compute(HEAD_START_MS);
  if (me == 1) {
    if (what == GET) MPI_Get(&word, ONE, 0, 0, ONE, win);
    if (what == RGET) MPI_Rget(&word, ONE, 0, 0, ONE, win, &request);
    if (what == ATOMIC) MPI_Fetch_and_op(&word, &word, MPI_DOUBLE, 0, 0, MPI_SUM, win);
  }
  alone(wait);
  MPI_Barrier(WORLD);
  MPI_Win_unlock_all(win);
}

static void get(void (*wait)(void)) { outstanding(wait, GET); }
static void rget(void (*wait)(void)) { outstanding(wait, RGET); }
static void atomic(void (*wait)(void)) { outstanding(wait, ATOMIC); }

static const struct {
  const char *name;
  void (*once)(void (*wait)(void));
  void (*const *wait)(void);
} modes[] = {
    {"recv", receive, recv_wait},
    {"irecv", receive_later, irecv_wait},
    {"wrong_order", wrong_order, wrong_order_wait},
    {"ssend", send, ssend_wait},
    {"barrier", together, barrier_wait},
    {"allreduce", together, allreduce_wait},
    {"alltoall", together, alltoall_wait},
    {"bcast", together, bcast_wait},
    {"reduce", together, reduce_wait},
    {"ibarrier", begin_later, ibarrier_wait},
    {"create", create, create_wait},
    {"free", give_back, free_wait},
    {"fence", fence, fence_wait},
    {"post", post, post_wait},
    {"wait", expose, wait_wait},
    {"lock", contend, lock_wait},
    {"get", get, get_wait},
    {"rget", rget, rget_wait},
    {"atomic", atomic, atomic_wait},
};
#define MODES (int)(sizeof modes / sizeof modes[0])

static int find(const char *name) {
  for (int i = 0; i < MODES; i++)
    if (strcmp(modes[i].name, name) == 0) return i;
  fprintf(stderr, "unknown mode %s\n", name);
  exit(2);
}

/* What rank 1 waited. */
static void tell(const char *name, int round) {
  double waiter[TIMES];
  if (me == 1) {
    MPI_Send(times, TIMES, MPI_DOUBLE, 0, 3, WORLD);
    return;
  }
  MPI_Recv(waiter, TIMES, MPI_DOUBLE, 1, 3, WORLD, MPI_STATUS_IGNORE);
  double end = earlier(waiter[LEFT], times[RELEASED]);
  printf("expected %s %d %.6f\n", name, round, part(waiter[ENTERED], end));
  fflush(stdout);
}

int main(int argc, char **argv) {
  MPI_Group world;
  double *mine;
  if (argc < 3) find("");
  MPI_Init(&argc, &argv);
  delay = atof(argv[1]);
  MPI_Comm_rank(WORLD, &me);
  int partner = 1 - me;
  MPI_Comm_group(WORLD, &world);
  MPI_Group_incl(world, 1, &partner, &peer);
  MPI_Win_allocate(8, 8, MPI_INFO_NULL, WORLD, &mine, &win);
  for (int i = 2; i < argc; i++) {
    int mode = find(argv[i]);
    for (int round = 0; round < ROUNDS; round++) {
      MPI_Barrier(WORLD);
      modes[mode].once(modes[mode].wait[round]);
      MPI_Barrier(WORLD);
      tell(argv[i], round);
    }
  }
  MPI_Win_free(&win);
  MPI_Group_free(&peer);
  MPI_Group_free(&world);
  MPI_Finalize();
  return 0;
}
