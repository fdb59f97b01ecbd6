/* Waits in messages of MPI, with 4 ranks: see truth.h.
 * mpicc -g -O1 mpi_messages.c -o mpi_messages; mpirun -np 4 ./mpi_messages any_source ... */
#include <mpi.h>

#include "truth.h"

#define WORLD MPI_COMM_WORLD
#define LARGE (8 << 20)
static double local[4096];
static char *out, *in;
static MPI_Status status;

static void barrier(int event) { BARRIER(event, MPI_Barrier(WORLD)); }

/* `rank` sends a small message to rank 0 after `ms`. */
static void send_late(int rank, double ms) {
  if (me != rank) return;
  rest(ms);
  mark(1);
  MPI_Send(local, 1, MPI_DOUBLE, 0, 1, WORLD);
}

static void any_source(void) {
  send_late(2, 60);
  if (me) return;
  TIMED(MPI_Recv(local, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 1, WORLD, &status));
  waited("late_sender", 2, 1);
}
static void probe(void) {
  send_late(3, 60);
  if (me) return;
  TIMED(MPI_Probe(3, 1, WORLD, &status));
  waited("late_sender", 3, 1);
  MPI_Recv(local, 1, MPI_DOUBLE, 3, 1, WORLD, &status);
}
static void matched_probe(void) {
  send_late(3, 60);
  if (me) return;
  MPI_Message message;
  TIMED(MPI_Mprobe(3, 1, WORLD, &message, &status));
  waited("late_sender", 3, 1);
  MPI_Mrecv(local, 1, MPI_DOUBLE, &message, &status);
}
/* A ring; rank 1 is late, so rank 2 waits. */
static void sendrecv(void) {
  if (me == 1) rest(60);
  mark(1);
  TIMED(MPI_Sendrecv(local, 1, MPI_DOUBLE, (me + 1) % processes, 3, local + 8, 1, MPI_DOUBLE, (me + processes - 1) % processes, 3, WORLD, &status));
  waited("late_sender", (me + processes - 1) % processes, 1);
}
/* The first of three messages comes from rank 2, the last from rank 3. */
static void wait_any_and_all(void) {
  MPI_Request request[3];
  int index;
  if (me) return send_late(me, me == 2 ? 40 : me == 1 ? 70 : 110);
  for (int rank = 1; rank < 4; rank++) MPI_Irecv(local + rank, 1, MPI_DOUBLE, rank, 1, WORLD, &request[rank - 1]);
  TIMED(MPI_Waitany(3, request, &index, &status));
  waited("late_sender", 2, 1);
  TIMED(MPI_Waitall(3, request, MPI_STATUSES_IGNORE));
  waited("late_sender", 3, 1);
}
static void wait_some(void) {
  MPI_Request request[3];
  int indices[3], done;
  if (me) return send_late(me, 50 * me);
  for (int rank = 1; rank < 4; rank++) MPI_Irecv(local + rank, 1, MPI_DOUBLE, rank, 1, WORLD, &request[rank - 1]);
  for (int got = 0; got < 3; got += done) {
    TIMED(MPI_Waitsome(3, request, &done, indices, MPI_STATUSES_IGNORE));
    waited("late_sender", indices[0] + 1, 1);
  }
}
/* Rank 0 receives from rank 1, which is late, though the message of rank 2 is there. */
static void wrong_order(void) {
  send_late(1, 60);
  if (me == 2) MPI_Send(local, 1, MPI_DOUBLE, 0, 9, WORLD);
  if (me) return;
  TIMED(MPI_Recv(local, 1, MPI_DOUBLE, 1, 1, WORLD, &status));
  waited("late_sender", 1, 1);
  MPI_Recv(local, 1, MPI_DOUBLE, 2, 9, WORLD, &status);
}
static void persistent(void) {
  MPI_Request request;
  if (me > 1) return;
  if (me == 0) MPI_Recv_init(local, 1, MPI_DOUBLE, 1, 10, WORLD, &request);
  if (me == 1) MPI_Send_init(local, 1, MPI_DOUBLE, 0, 10, WORLD, &request);
  for (int i = 0; i < 2; i++) {
    if (me == 1) rest(50);
    mark(1 + i);
    MPI_Start(&request);
    TIMED(MPI_Wait(&request, &status));
    if (me == 0) waited("late_sender", 1, 1 + i);
  }
  MPI_Request_free(&request);
}
static void late_issend(void) {
  if (me == 0) {
    TIMED(MPI_Recv(local, 1, MPI_DOUBLE, 1, 1, WORLD, &status));
    waited("late_sender", 1, 1);
  } else if (me == 1) {
    MPI_Request request;
    rest(60);
    mark(1);
    MPI_Issend(local, 1, MPI_DOUBLE, 0, 1, WORLD, &request);
    MPI_Wait(&request, &status);
  }
}
/* One function on several call paths, one of them recursive. */
static __attribute__((noinline)) void receive(int event) {
  if (me == 0) {
    TIMED(MPI_Recv(local, 1, MPI_DOUBLE, 1, 1, WORLD, &status));
    waited("late_sender", 1, event);
  } else if (me == 1) {
    rest(40);
    mark(event);
    MPI_Send(local, 1, MPI_DOUBLE, 0, 1, WORLD);
  }
}
static __attribute__((noinline)) void descend(int depth, int event) {
  if (depth) descend(depth - 1, event);
  else receive(event);
}
static void nested(void) {
  receive(1);
  descend(3, 2);
  receive(3);
}

/* Rank 1 sends to rank 0, which receives late. */
static void receive_late(int bytes) {
  rest(80);
  mark(1);
  MPI_Recv(in, bytes, MPI_CHAR, 1, 5, WORLD, &status);
}
static void large_send(void) {
  if (me == 0) return receive_late(LARGE);
  if (me != 1) return;
  TIMED(MPI_Send(out, LARGE, MPI_CHAR, 0, 5, WORLD));
  waited("late_receiver", 0, 1);
}
static void large_isend(void) {
  MPI_Request request;
  if (me == 0) return receive_late(LARGE);
  if (me != 1) return;
  MPI_Isend(out, LARGE, MPI_CHAR, 0, 5, WORLD, &request);
  TIMED(MPI_Wait(&request, &status));
  waited("late_receiver", 0, 1);
}
static void synchronous_send(void) {
  if (me == 0) return receive_late(1);
  if (me != 1) return;
  TIMED(MPI_Ssend(out, 1, MPI_CHAR, 0, 5, WORLD));
  waited("late_receiver", 0, 1);
}
/* Both are there, then the sender computes: the receiver waits until the sender enters MPI again. */
static void rendezvous(void) {
  MPI_Request request;
  if (me == 0) {
    MPI_Irecv(in, LARGE, MPI_CHAR, 1, 7, WORLD, &request);
    mark(1);
    await(1, 2);
    TIMED(MPI_Wait(&request, &status));
    waited("wait_for_progress", 1, 3);
  } else if (me == 1) {
    await(0, 1);
    MPI_Isend(out, LARGE, MPI_CHAR, 0, 7, WORLD, &request);
    mark(2);
    rest(100);
    mark(3);
    MPI_Wait(&request, &status);
  }
}
/* A halo exchange; rank 2 is late, its neighbours wait. */
static void halo(void) {
  enum { BYTES = 1 << 20 };
  MPI_Request request[4];
  int left = (me + processes - 1) % processes, right = (me + 1) % processes;
  if (me == 2) rest(100);
  mark(1);
  MPI_Irecv(in, BYTES, MPI_CHAR, left, 1, WORLD, request);
  MPI_Irecv(in + BYTES, BYTES, MPI_CHAR, right, 2, WORLD, request + 1);
  MPI_Isend(out, BYTES, MPI_CHAR, right, 1, WORLD, request + 2);
  MPI_Isend(out + BYTES, BYTES, MPI_CHAR, left, 2, WORLD, request + 3);
  TIMED(MPI_Waitall(4, request, MPI_STATUSES_IGNORE));
  waited_for_some(call, "late_sender", 1u << left | 1u << right, 1);
}

/* Loops that ask until a message is there. */
/* All exchange large messages with their neighbours at the same time, after all have posted their receives. */
static void balanced(void) {
  int left = (me + processes - 1) % processes, right = (me + 1) % processes;
  for (int i = 0; i < 9; i++) {
    MPI_Request request[2];
    rest(20);
    MPI_Irecv(in, LARGE / 8, MPI_CHAR, left, 4, WORLD, request);
    barrier(6 * i);
    mark(6 * i + 2);
    MPI_Isend(out, LARGE / 8, MPI_CHAR, right, 4, WORLD, request + 1);
    TIMED(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    waited("late_sender", left, 6 * i + 2);
    barrier(6 * i + 3);
  }
}
static void poll_test(void) {
  send_late(1, 50);
  if (me) return;
  MPI_Request request;
  int done = 0;
  MPI_Irecv(local, 1, MPI_DOUBLE, 1, 1, WORLD, &request);
  TIMED(while (!done) { MPI_Test(&request, &done, &status); sched_yield(); });
  waited("polling", 1, 1);
}
static void poll_testall(void) {
  MPI_Request request[3];
  int done = 0;
  if (me) return send_late(me, 30 * me);
  for (int rank = 1; rank < 4; rank++) MPI_Irecv(local + rank, 1, MPI_DOUBLE, rank, 1, WORLD, &request[rank - 1]);
  TIMED(while (!done) { MPI_Testall(3, request, &done, MPI_STATUSES_IGNORE); usleep(1000); });
  waited("polling", 3, 1);
}
static void poll_iprobe(void) {
  send_late(1, 80);
  if (me) return;
  int done = 0;
  TIMED(while (!done) { MPI_Iprobe(1, 1, WORLD, &done, &status); usleep(1000); });
  waited("polling", 1, 1);
  MPI_Recv(local, 1, MPI_DOUBLE, 1, 1, WORLD, &status);
}
static void poll_two_tests(void) {
  int one = 0, two = 0;
  MPI_Request request[2];
  if (me == 1 || me == 2) send_late(me, 40 * me);
  if (me) return;
  MPI_Irecv(local, 1, MPI_DOUBLE, 1, 1, WORLD, request);
  MPI_Irecv(local + 1, 1, MPI_DOUBLE, 2, 1, WORLD, request + 1);
  TIMED(while (!one || !two) { if (!one) MPI_Test(request, &one, &status); if (!two) MPI_Test(request + 1, &two, &status); usleep(1000); });
  waited("polling", 2, 1);
}
/* Non-blocking consensus; rank 0 is late to receive. The last rank waits for that, the others for the last to begin the
 * barrier. */
static void consensus(void) {
  MPI_Request send, all;
  int done = 0, inside = 0, flag;
  MPI_Issend(local, 1, MPI_DOUBLE, (me + 1) % processes, 50, WORLD, &send);
  if (me == 0) rest(60);
  mark(1);
  TIMED(while (!done) { MPI_Iprobe(MPI_ANY_SOURCE, 50, WORLD, &flag, &status); if (flag) MPI_Recv(local + 64, 1, MPI_DOUBLE, status.MPI_SOURCE, 50, WORLD, &status); if (inside) MPI_Test(&all, &done, &status); else { MPI_Test(&send, &flag, &status); if (flag) { mark(2); MPI_Ibarrier(WORLD, &all); inside = 1; } } sched_yield(); });
  if (me == processes - 1) waited("polling", 0, 1);
  else if (me) waited_for_last("polling", 2);
}

#if MPI_VERSION >= 4
/* Rank 1 has three of four partitions ready early and the last late. */
static void partitioned(void) {
  MPI_Request request;
  if (me == 0) {
    MPI_Precv_init(local, 4, 16, MPI_DOUBLE, 1, 5, WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    TIMED(MPI_Wait(&request, MPI_STATUS_IGNORE));
    waited("late_sender", 1, 1);
    MPI_Request_free(&request);
  } else if (me == 1) {
    MPI_Psend_init(local, 4, 16, MPI_DOUBLE, 0, 5, WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    for (int i = 0; i < 3; i++) MPI_Pready(i, request);
    rest(100);
    mark(1);
    MPI_Pready(3, request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }
}
#else
static void partitioned(void) {}
#endif

int main(int count, char **names) {
  static const mode_t_ modes[] = {
      MODE(any_source),  MODE(probe),        MODE(matched_probe),  MODE(sendrecv),    MODE(wait_any_and_all),
      MODE(wait_some),   MODE(wrong_order),  MODE(persistent),     MODE(late_issend), MODE(nested),
      MODE(large_send),  MODE(large_isend),  MODE(synchronous_send), MODE(rendezvous), MODE(halo),
      MODE(poll_test),   MODE(poll_testall), MODE(poll_iprobe),    MODE(poll_two_tests), MODE(consensus),
      MODE(partitioned), MODE(balanced),
  };
  MPI_Init(&count, &names);
  int rank, size;
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &size);
  truth_begin(rank, size);
  out = calloc(2, LARGE);
  in = calloc(2, LARGE);
  memset(in, 1, LARGE);
  barrier(0);
  RUN_MODES(count, names, modes, barrier);
  truth_end();
  MPI_Finalize();
}
