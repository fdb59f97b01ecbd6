/* Loops over calls of MPI that spin until another rank lets them through: see spinning.h. Each mode is a run of its own.
 * With the argument `balanced` no rank waits: each uses a lock of its own, or all have equal work. Where the target must
 * help, single calls of a loop wait while rank 0 is outside of MPI; the rank that holds the lock is to blame all the same.
 * mpicc -g -O1 spinning_mpi.c -o spinning_mpi; mpirun -np 4 ./spinning_mpi ticket_lock */
#include <mpi.h>

#include "spinning.h"

enum { LOCK = 1 };
/* Words of the window. */
enum { TICKET, SERVED, FULL, CONSUMED = FULL + 4, WORD, TASKS, MAXIMUM, WORDS = 64 };
#define SLOTS 4
#define WORLD MPI_COMM_WORLD
static MPI_Win window;
static long *memory;

static void barrier(int event) { BARRIER(event, MPI_Barrier(WORLD)); }
static void finish(int root) {
  barrier(250);
  spins_end();
  if (balanced()) return;
  knows_efficiency();
  root_cause(root);
}
static int home(void) { return balanced() ? me : 0; }
static void hold(double ms) { rest(balanced() ? 10 : ms); }
static void work(double ms) {
  if (balanced()) work_evenly(40);
  else rest(ms);
}
/* One-sided calls that are complete on return. In a macro, calls are in the line of the loop. */
#define ADD(value, result, rank, word) (MPI_Fetch_and_op(&(long){value}, &(result), MPI_LONG, rank, word, MPI_SUM, window), MPI_Win_flush(rank, window))
#define READ(result, rank, word) (MPI_Fetch_and_op(NULL, &(result), MPI_LONG, rank, word, MPI_NO_OP, window), MPI_Win_flush(rank, window))
#define GET(result, rank, word) (MPI_Get(&(result), 1, MPI_LONG, rank, word, 1, MPI_LONG, window), MPI_Win_flush(rank, window))
#define SWAP(old, new, result, rank, word) (MPI_Compare_and_swap(&(long){new}, &(long){old}, &(result), MPI_LONG, rank, word, window), MPI_Win_flush(rank, window))
/* Stores that are complete on return. MPI_REPLACE is atomic. */
#define STORE(value, rank, word) (MPI_Accumulate(&(long){value}, 1, MPI_LONG, rank, word, 1, MPI_LONG, MPI_REPLACE, window), MPI_Win_flush(rank, window))

/* A lock that serves tickets in order. One rank holds it longest. */
static void ticket_lock(void) {
  for (int round = 0; round < 6; round++) {
    long ticket, served = -1, old;
    ADD(1, ticket, home(), TICKET);
    TIMED(do { READ(served, home(), SERVED); sched_yield(); } while (served != ticket));
    spun(LOCK);
    hold(me == processes / 2 ? 40 : 10);
    release_now(LOCK);
    ADD(1, old, home(), SERVED);
  }
  finish(processes / 2);
}

/* The same, but those further back in the queue sleep longer before they look again. Rank 1 holds it longest. */
static void ticket_back_off(void) {
  for (int round = 0; round < 6; round++) {
    long ticket, served = -1, old;
    ADD(1, ticket, home(), TICKET);
    TIMED(for (;;) { READ(served, home(), SERVED); if (served == ticket) break; usleep(400 * (unsigned)(ticket - served)); });
    spun(LOCK);
    hold(me == 1 ? 40 : 10);
    release_now(LOCK);
    ADD(1, old, home(), SERVED);
  }
  finish(1);
}

/* Rank 0 fills a ring of slots of its own, which rank 1 reads; each reads the other's word until it may go on. Rank 0 is slow
 * at first, then rank 1. Where the target must help, any return of the other lets them look, so all returns count. */
static void ring_by_fetch(void) {
  int items = 16;
  for (int item = 0; item < items; item++) {
    int late = item < items / 2 ? 0 : 1;
    long word = 0;
    if (me == 0) {
      work(late == 0 ? 30 : 5);
      release_now(LOCK);
      TIMED(for (;;) { READ(word, 1, CONSUMED); if (word > item - SLOTS) break; sched_yield(); });
      spun(LOCK);
      release_now(LOCK);
      STORE(item + 1, 0, FULL + item % SLOTS);
    } else {
      if (balanced()) work(0);
      TIMED(for (;;) { READ(word, 0, FULL + item % SLOTS); if (word == item + 1) break; sched_yield(); });
      spun(LOCK);
      if (!balanced()) rest(late == 1 ? 30 : 5);
      release_now(LOCK);
      STORE(item + 1, 1, CONSUMED);
    }
  }
  barrier(250);
  spins_end();
  if (!balanced()) knows_efficiency();
}

/* Ranks after 0 get a word of rank 0 until rank 0 has changed it. */
static void word_by_get(void) {
  for (int round = 0; round < 8; round++) {
    work(me ? 0 : 30);
    if (me == 0) {
      mark(round);
      STORE(round + 1, 0, WORD);
    } else {
      long word;
      TIMED(for (;;) { GET(word, 0, WORD); if (word > round) break; usleep(50); });
      waited("spin", 0, round);
    }
    barrier(100 + round);
  }
  finish(0);
}

/* Rank 0 receives from all others and computes for 2 ms between two tests: it has enough to do until the last rank sends, and
 * then nothing. Only after that does it wait. */
static void testsome_between(void) {
  for (int round = 0; round < 6; round++) {
    if (me == 0) {
      MPI_Request request[16];
      long in[16];
      int count = processes - 1, left = count, some, which[16];
      for (int rank = 1; rank <= count; rank++) MPI_Irecv(&in[rank], 1, MPI_LONG, rank, 1, WORLD, &request[rank - 1]);
      for (int part = 0; part < (balanced() ? 2 : 10); part++) {
        compute(2);
        MPI_Testsome(count, request, &some, which, MPI_STATUSES_IGNORE);
        if (some != MPI_UNDEFINED) left -= some;
      }
      if (balanced()) work(0);
      TIMED(while (left) { MPI_Testsome(count, request, &some, which, MPI_STATUSES_IGNORE); if (some != MPI_UNDEFINED) left -= some; sched_yield(); });
      waited_for_others(call, "polling", round);
    } else {
      work(me == processes - 1 ? 60 : 10);
      mark(round);
      MPI_Send(&(long){me}, 1, MPI_LONG, 0, 1, WORLD);
    }
    barrier(100 + round);
  }
  finish(processes - 1);
}

/* Rank 0 computes and looks for requests in between; the others ask it now and then and do not wait for an answer. */
static void server(void) {
  int found, left = 12 * (processes - 1);
  long in;
  if (me == 0) {
    while (left) {
      compute(20);
      for (;;) {
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, 1, WORLD, &found, &status);
        if (!found) break;
        MPI_Recv(&in, 1, MPI_LONG, status.MPI_SOURCE, 1, WORLD, MPI_STATUS_IGNORE);
        left--;
      }
    }
  } else {
    for (int i = 0; i < 12; i++) {
      rest(40);
      MPI_Send(&(long){i}, 1, MPI_LONG, 0, 1, WORLD);
    }
  }
  barrier(250);
}

/* Ranks after 0 take tasks from a counter of rank 0, which is in a barrier and serves them. No rank waits for a task. */
static void task_counter(void) {
  long task = 0;
  while (me && task < 90) {
    ADD(1, task, 0, TASKS);
    if (task < 90) rest(8);
  }
  barrier(250);
}

/* Ranks after 0 raise a word of rank 0 to their own values. They try again when another rank was faster, but do not wait. */
static void maximum(void) {
  for (int round = 0; me && round < 12; round++) {
    for (int i = 0; i < 30; i++) {
      long own = 1000 * round + 10 * i + me, old, seen;
      READ(old, 0, MAXIMUM);
      for (;;) {
        if (old >= own) break;
        SWAP(old, own, seen, 0, MAXIMUM);
        if (seen == old) break;
        old = seen;
      }
    }
    work_evenly(50);
  }
  barrier(250);
}

/* A lock with a queue in shared memory, in which ranks spin on plain loads. No call is made meanwhile, so no trace of calls
 * can tell that they wait, nor why they reach the barrier when they do. */
typedef struct {
  _Atomic int next, locked, tail;
  int padding[29];
} node_t;
static void mcs_by_loads(void) {
  MPI_Win shared;
  node_t *own, *node[PROCESSES];
  TOGETHER("wait_at_create", 240, MPI_Win_allocate_shared(sizeof *own, 1, MPI_INFO_NULL, WORLD, &own, &shared));
  for (int rank = 0; rank < processes; rank++) {
    MPI_Aint bytes;
    int unit;
    MPI_Win_shared_query(shared, rank, &bytes, &unit, &node[rank]);
  }
  own->tail = 0;
  MPI_Win_lock_all(0, shared);
  barrier(241);
  for (int round = 0; round < 5; round++) {
    own->next = 0;
    own->locked = 1;
    int before = __atomic_exchange_n((int *)&node[0]->tail, me + 1, __ATOMIC_SEQ_CST), self = me + 1;
    if (before) {
      node[before - 1]->next = me + 1;
      while (own->locked) sched_yield();
    }
    rest(15);
    if (own->next || !__atomic_compare_exchange_n((int *)&node[0]->tail, &self, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
      while (!own->next) sched_yield();
      node[own->next - 1]->locked = 0;
    }
    MPI_Win_sync(shared);
  }
  barrier(250);
  root_cause(-1);
  MPI_Win_unlock_all(shared);
  TOGETHER("wait_at_free", 249, MPI_Win_free(&shared));
}

/* Rank 0 works and stores a flag in shared memory; rank 1 loads it until it is set and reaches the barrier last. Rank 2
 * waits there for rank 1. That rank 1 waited for rank 0 is in no call. */
static void plain_store(void) {
  MPI_Win shared;
  volatile long *flag;
  long *own;
  MPI_Aint bytes;
  int unit;
  TOGETHER("wait_at_create", 240, MPI_Win_allocate_shared(me ? 8 : 512, 8, MPI_INFO_NULL, WORLD, &own, &shared));
  MPI_Win_shared_query(shared, 0, &bytes, &unit, (void *)&flag);
  MPI_Win_lock_all(0, shared);
  if (me == 0) *flag = 0;
  barrier(241);
  for (int round = 0; round < 6; round++) {
    if (me == 0) {
      rest(50);
      *flag = round + 1;
    }
    if (me == 1) {
      while (*flag != round + 1) sched_yield();
      rest(3);
    }
    barrier(round);
  }
  root_cause(-1);
  MPI_Win_unlock_all(shared);
  TOGETHER("wait_at_free", 249, MPI_Win_free(&shared));
}

int main(int count, char **names) {
  static const mode_t_ modes[] = {
      MODE(ticket_lock), MODE(ticket_back_off), MODE(ring_by_fetch), MODE(word_by_get),  MODE(testsome_between),
      MODE(server),      MODE(task_counter),    MODE(maximum),       MODE(mcs_by_loads), MODE(plain_store),
  };
  MPI_Init(&count, &names);
  int rank, size;
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &size);
  truth_begin(rank, size);
  spinning_begin();
  TOGETHER("wait_at_create", 10, MPI_Win_allocate(WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, WORLD, &memory, &window));
  memset(memory, 0, WORDS * sizeof(long));
  barrier(11);
  MPI_Win_lock_all(0, window);
  RUN_MODES(count, names, modes, barrier);
  MPI_Win_unlock_all(window);
  TOGETHER("wait_at_free", 12, MPI_Win_free(&window));
  truth_end();
  MPI_Finalize();
}
