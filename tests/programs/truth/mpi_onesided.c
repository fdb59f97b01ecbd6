/* Waits in one-sided communication of MPI, with 2 ranks or more, most with 4: see truth.h.
 * mpicc -g -O1 mpi_onesided.c -o mpi_onesided -lpthread; mpirun -np 4 ./mpi_onesided late_post ... */
#include <mpi.h>
#include <pthread.h>

#include "truth.h"

#define WORLD MPI_COMM_WORLD
/* `window` is allocated by MPI and in no epoch between modes; `attached` is dynamic and locked by all. */
static MPI_Win window, attached;
static MPI_Aint addresses[PROCESSES];
static double *allocated, outside[64], local[4096];

static void barrier(int event) { BARRIER(event, MPI_Barrier(WORLD)); }
static void visit(void) {
  int flag;
  MPI_Iprobe(MPI_ANY_SOURCE, 9999, WORLD, &flag, MPI_STATUS_IGNORE);
}
static void target_computes(void) {
  mark(2);
  rest(100);
  mark(1);
}

/* Rank 0 opens an epoch with all others, of which the last posts late; rank 0 completes late. */
static void late_post(void) {
  MPI_Group all, group;
  MPI_Comm_group(WORLD, &all);
  if (me == 0) {
    int others[PROCESSES];
    for (int rank = 1; rank < processes; rank++) others[rank - 1] = rank;
    MPI_Group_incl(all, processes - 1, others, &group);
    TIMED(MPI_Win_start(group, 0, window));
    waited("late_post", processes - 1, 1);
    for (int rank = 1; rank < processes; rank++) MPI_Put(local, 8, MPI_DOUBLE, rank, 0, 8, MPI_DOUBLE, window);
    rest(60);
    mark(2);
    TIMED(MPI_Win_complete(window));
    waited("late_post", processes - 1, 1);
  } else {
    int origin = 0;
    MPI_Group_incl(all, 1, &origin, &group);
    if (me == processes - 1) rest(150);
    mark(1);
    MPI_Win_post(group, 0, window);
    TIMED(MPI_Win_wait(window));
    waited("early_wait", 0, 2);
  }
  MPI_Group_free(&group);
  MPI_Group_free(&all);
}

/* Rank 1 puts to all others under lock_all and flushes rank 0, then all; ranks 0 and 3 compute. A runtime may want the
 * consent of all to the lock, in any of these calls. */
static void flush_under_lock_all(void) {
  if (me != 1) {
    mark(2);
    rest(me == 0 ? 60 : me == 3 ? 140 : 1);
    mark(1);
    return;
  }
  await(0, 2);
  await(3, 2);
  TIMED(MPI_Win_lock_all(0, window));
  waited_for_others(call, "wait_for_progress", 1);
  for (int rank = 0; rank < processes; rank++)
    if (rank != 1) MPI_Put(local, 8, MPI_DOUBLE, rank, 0, 8, MPI_DOUBLE, window);
  TIMED(MPI_Win_flush(0, window));
  waited_for_others(call, "wait_for_progress", 1);
  TIMED(MPI_Win_flush_all(window));
  waited_for_others(call, "wait_for_progress", 1);
  MPI_Win_unlock_all(window);
}

/* Rank 1 gets from rank 0 under a lock while rank 0 computes. */
static void get_under_lock(void) {
  if (me == 0) return target_computes();
  if (me != 1) return;
  await(0, 2);
  TIMED(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window));
  waited("wait_for_progress", 0, 1);
  TIMED(MPI_Get(local, 8, MPI_DOUBLE, 0, 0, 8, MPI_DOUBLE, window));
  waited("wait_for_progress", 0, 1);
  TIMED(MPI_Win_flush(0, window));
  waited("wait_for_progress", 0, 1);
  MPI_Win_unlock(0, window);
}

/* Rank 1 gets from the dynamic window of rank 0, which computes: some bytes, or none. */
static void get_dynamic(void) {
  if (me == 0) return target_computes();
  if (me != 1) return;
  await(0, 2);
  MPI_Get(local, 8, MPI_DOUBLE, 0, addresses[0], 8, MPI_DOUBLE, attached);
  TIMED(MPI_Win_flush(0, attached));
  waited("wait_for_progress", 0, 1);
}
static void get_nothing(void) {
  if (me == 0) return target_computes();
  if (me != 1) return;
  await(0, 2);
  rest(20);
  MPI_Get(local, 0, MPI_DOUBLE, 0, addresses[0], 0, MPI_DOUBLE, attached);
  TIMED(MPI_Win_flush(0, attached));
  waited("wait_for_progress", 0, 1);
}
static void accumulate(void) {
  if (me == 0) return target_computes();
  if (me != 1) return;
  await(0, 2);
  MPI_Accumulate(local, 8, MPI_DOUBLE, 0, addresses[0], 8, MPI_DOUBLE, MPI_SUM, attached);
  TIMED(MPI_Win_flush(0, attached));
  waited("wait_for_progress", 0, 1);
}

/* Rank 1 starts gets from all others and waits for all of them; rank 3 computes longest. */
static void requests(void) {
  if (me != 1) {
    mark(2);
    rest(me == 3 ? 140 : me == 0 ? 50 : 1);
    mark(1);
    return;
  }
  MPI_Request request[3];
  await(0, 2);
  await(3, 2);
  TIMED(MPI_Win_lock_all(0, window));
  waited_for_others(call, "wait_for_progress", 1);
  TIMED(MPI_Rget(local, 8, MPI_DOUBLE, 0, 0, 8, MPI_DOUBLE, window, &request[0]));
  waited_for_others(call, "wait_for_progress", 1);
  TIMED(MPI_Rget(local + 64, 8, MPI_DOUBLE, 2, 0, 8, MPI_DOUBLE, window, &request[1]));
  waited_for_others(call, "wait_for_progress", 1);
  TIMED(MPI_Rget(local + 128, 8, MPI_DOUBLE, 3, 0, 8, MPI_DOUBLE, window, &request[2]));
  waited_for_others(call, "wait_for_progress", 1);
  TIMED(MPI_Waitall(3, request, MPI_STATUSES_IGNORE));
  waited_for_others(call, "wait_for_progress", 1);
  MPI_Win_unlock_all(window);
}

/* Ranks queue up for an exclusive lock; each holds it for a known time. */
static void lock_queue(void) {
  if (me > 0) {
    await(me - 1, 1);
    usleep(4000);
  }
  mark(1);
  TIMED(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
  call_t lock = call;
  MPI_Put(local, 8, MPI_DOUBLE, 0, 0, 8, MPI_DOUBLE, window);
  TIMED(MPI_Win_flush(0, window));
  call_t flush = call;
  rest(me ? 30 : 80);
  mark(2);
  MPI_Win_unlock(0, window);
  barrier(3);
  waited_for_holders(lock, flush.end, 2);
  waited_for_holders(flush, flush.end, 2);
}

/* A counter of rank 0, which computes and visits the library every 50 ms. */
static void counter(void) {
  if (me == 0) {
    for (int i = 0; i < 4; i++) {
      rest(50);
      mark(1 + i);
      visit();
    }
    mark(5);
    return;
  }
  long one = 1, result;
  for (int i = 0; i < 2; i++) {
    MPI_Fetch_and_op(&one, &result, MPI_LONG, 0, addresses[0] + 128, MPI_SUM, attached);
    TIMED(MPI_Win_flush(0, attached));
    waited_for_visit("wait_for_progress", 0, 1, 5);
    rest(5);
  }
}

/* A thread of rank 0 makes progress while rank 0 computes: nobody waits, unless the thread loses its core. */
static volatile int stop;
static void *progress(void *nothing) {
  while (!stop) {
    if (marked(1, 3) && !marked(0, 4)) mark(4);
    visit();
    sched_yield();
  }
  return nothing;
}
static void progress_thread(void) {
  if (me == 0) {
    pthread_t thread;
    stop = 0;
    pthread_create(&thread, 0, progress, 0);
    rest(120);
    stop = 1;
    pthread_join(thread, 0);
  } else if (me == 1) {
    rest(10);
    MPI_Get(local, 8, MPI_DOUBLE, 0, addresses[0], 8, MPI_DOUBLE, attached);
    mark(3);
    TIMED(MPI_Win_flush(0, attached));
    waited("wait_for_progress", 0, 4);
  }
}

/* The first request of an epoch waits for its lock. */
static void first_request(void) {
  if (me == 0) return target_computes();
  if (me != 1) return;
  await(0, 2);
  MPI_Request request;
  MPI_Win_lock_all(0, window);
  TIMED(MPI_Rget(local, 8, MPI_DOUBLE, 0, 0, 8, MPI_DOUBLE, window, &request));
  waited("wait_for_progress", 0, 1);
  TIMED(MPI_Wait(&request, MPI_STATUS_IGNORE));
  waited("wait_for_progress", 0, 1);
  MPI_Win_unlock_all(window);
}

/* Rank 0 writes a large file while rank 1 waits for it in a flush. */
static void target_writes_file(void) {
  enum { BYTES = 200 << 20 };
  if (me == 0) {
    MPI_File file;
    char name[200], *bytes = malloc(BYTES);
    memset(bytes, 1, BYTES);
    snprintf(name, sizeof name, "%s.file", getenv("TRUTH_OUT"));
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    mark(2);
    MPI_File_write(file, bytes, BYTES, MPI_CHAR, MPI_STATUS_IGNORE);
    mark(1);
    MPI_File_close(&file);
    free(bytes);
    mark(3);
  } else if (me == 1) {
    await(0, 2);
    rest(5);
    MPI_Get(local, 8, MPI_DOUBLE, 0, addresses[0], 8, MPI_DOUBLE, attached);
    TIMED(MPI_Win_flush(0, attached));
    waited_for_visit("wait_for_progress", 0, 1, 3);
  }
}

/* Rank 1 waits for the progress of rank 0 three times, and the others for rank 1. */
static void victim_of_victim(void) {
  if (me == 0) {
    for (int i = 0; i < 3; i++) {
      rest(80);
      mark(1 + i);
      visit();
    }
    mark(4);
  }
  for (int i = 0; me == 1 && i < 3; i++) {
    MPI_Get(local, 1, MPI_DOUBLE, 0, addresses[0], 1, MPI_DOUBLE, attached);
    TIMED(MPI_Win_flush(0, attached));
    waited_for_visit("wait_for_progress", 0, 1, 4);
  }
  barrier(5);
}

/* Fence epochs; the last rank is late. */
static void late_fence(void) {
  if (me == processes - 1) rest(60);
  mark(1);
  TIMED(MPI_Win_fence(0, window));
  waited_for_last("wait_at_fence", 1);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
}

/* Rank 1 polls memory that it shares with rank 0, then frees the window late. */
static void shared_window(void) {
  MPI_Win shared;
  double *own, *flag;
  MPI_Aint bytes;
  int unit;
  MPI_Win_allocate_shared(512, 8, MPI_INFO_NULL, WORLD, &own, &shared);
  MPI_Win_lock_all(0, shared);
  MPI_Win_shared_query(shared, 0, &bytes, &unit, &flag);
  if (me == 0) *(volatile double *)flag = 0;
  barrier(1);
  meet(3);
  if (me == 0) {
    rest(60);
    mark(4);
    *(volatile double *)flag = 1;
    MPI_Win_sync(shared);
  } else {
    TIMED(do { MPI_Win_sync(shared); sched_yield(); } while (*(volatile double *)flag != 1));
    waited_unseen("polling", 0, 4); /* a store, which MPI does not see */
  }
  barrier(5);
  MPI_Win_unlock_all(shared);
  if (me == 1) rest(60);
  mark(7);
  TIMED(MPI_Win_free(&shared));
  waited_for_last("wait_at_free", 7);
}

/* All do the same. A rank may still wait for its neighbour, which has lost its core. */
static void balanced(void) {
  int next = (me + 1) % processes;
  unsigned others = ((1u << processes) - 1) & ~(1u << me);
  for (int i = 0; i < 9; i++) {
    rest(5);
    barrier(6 * i);
    mark(6 * i + 1);
    mark(6 * i + 2);
    TIMED(MPI_Win_lock_all(0, window));
    waited_while_away("wait_for_progress", others, 6 * i + 1);
    MPI_Get(local, 8, MPI_DOUBLE, next, 0, 8, MPI_DOUBLE, window);
    TIMED(MPI_Win_unlock_all(window));
    waited_while_away("wait_for_progress", others, 6 * i + 1);
    barrier(6 * i + 3);
  }
}

int main(int count, char **names) {
  static const mode_t_ modes[] = {
      MODE(late_post),     MODE(flush_under_lock_all), MODE(get_under_lock),     MODE(get_dynamic),
      MODE(get_nothing),   MODE(accumulate),           MODE(requests),           MODE(lock_queue),
      MODE(counter),       MODE(progress_thread),      MODE(first_request),      MODE(target_writes_file),
      MODE(late_fence),    MODE(victim_of_victim),     MODE(shared_window),      MODE(balanced),
  };
  int provided, threads = 0;
  for (int i = 1; i < count; i++) threads |= !strcmp(names[i], "progress_thread");
  MPI_Init_thread(&count, &names, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  int rank, size;
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &size);
  truth_begin(rank, size);
  TOGETHER("wait_at_create", 10, MPI_Win_allocate(1 << 16, 1, MPI_INFO_NULL, WORLD, &allocated, &window));
  memset(allocated, 0, 1 << 16);
  TOGETHER("wait_at_create", 11, MPI_Win_create_dynamic(MPI_INFO_NULL, WORLD, &attached));
  MPI_Win_attach(attached, outside, sizeof outside);
  MPI_Aint own;
  MPI_Get_address(outside, &own);
  TOGETHER("nxn_wait", 12, MPI_Allgather(&own, 1, MPI_AINT, addresses, 1, MPI_AINT, WORLD));
  barrier(4);
  MPI_Win_lock_all(0, attached);
  /* Locks that are taken with the first operation are had from here on. */
  for (int i = 0; i < size; i++) MPI_Get(local, 1, MPI_DOUBLE, i, addresses[i], 1, MPI_DOUBLE, attached);
  MPI_Win_flush_all(attached);
  barrier(0);
  RUN_MODES(count, names, modes, barrier);
  MPI_Win_unlock_all(attached);
  MPI_Win_detach(attached, outside);
  barrier(2);
  TOGETHER("wait_at_free", 13, MPI_Win_free(&attached));
  TOGETHER("wait_at_free", 14, MPI_Win_free(&window));
  truth_end();
  MPI_Finalize();
}
