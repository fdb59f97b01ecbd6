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
 *   isend          MPI_Wait for a large         receives
 *                  MPI_Isend
 *   probe          MPI_Probe                    sends
 *   mprobe         MPI_Mprobe                   sends
 *   partitioned    MPI_Wait for an              calls MPI_Pready for the last partition (MPI 4)
 *                  MPI_Precv_init
 *   barrier        MPI_Barrier                  enters it too
 *   allreduce      MPI_Allreduce                enters it too
 *   alltoall       MPI_Alltoall                 enters it too
 *   set_view       MPI_File_set_view            enters it too
 *   bcast          MPI_Bcast, root 0            enters it
 *   reduce         MPI_Reduce, root 1           enters it
 *   scan           MPI_Scan                     enters it too
 *   ibarrier       MPI_Wait for an MPI_Ibarrier begins it too
 *   create         MPI_Win_allocate             enters it too
 *   free           MPI_Win_free                 enters it too
 *   fence          MPI_Win_fence                enters it too
 *   early_fence    MPI_Win_fence                enters it too, after a put into its window
 *   post           start, put and complete      posts its window
 *   wait           MPI_Win_wait                 completes its epoch, long after its last operation
 *   lock           lock, get and unlock         gives the lock back
 *   get            MPI_Win_flush after MPI_Get  enters a barrier, if the transport needs it
 *   rget           MPI_Wait for an MPI_Rget     enters a barrier, if the transport needs it
 *   first_rget     MPI_Rget, the first          enters a barrier, if the library waits there for its lock
 *                  operation on rank 0
 *   atomic         MPI_Win_flush after          enters a barrier, if the transport needs it
 *                  MPI_Fetch_and_op
 *
 * With three ranks, rank 1 waits for rank 2, which is late:
 *   neighbours     MPI_Neighbor_alltoall on a grid, in which rank 2 is its only neighbour; rank 0 comes last
 *   graph          MPI_Wait for an MPI_Ineighbor_allgather on a graph, in which only rank 2 sends to it; rank 0 comes last
 *   other_barrier  MPI_Barrier on an intercommunicator of rank 1 and ranks 0 and 2, as the following
 *   other_sum      MPI_Allreduce
 *   other_bcast    MPI_Bcast, whose root is rank 2
 *   other_reduce   MPI_Reduce, whose root is rank 1
 *   other_later    MPI_Wait for an MPI_Iallreduce
 *
 * What is printed, and how the delay is made, says delays.h.
 */
#include <mpi.h>

#include "delays.h"

#define WORLD MPI_COMM_WORLD

static int one = 1, two[2], other[2];
static double word, *memory;
static char large[1 << 22];
static MPI_Message message;
static MPI_Win win, made;
static MPI_Request request;
static MPI_Group peer;
static MPI_Comm grid, graph, other_group;
static MPI_File file;

#define lock() MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win)

#define ONE 1, MPI_DOUBLE /* of what windows hold */

/* Roots on the intercommunicator: rank 2 is the second of its group, rank 1 is alone in its group. */
static int from_two(void) { return me == 1 ? 1 : me == 2 ? MPI_ROOT : MPI_PROC_NULL; }
static int to_one(void) { return me == 1 ? MPI_ROOT : 0; }

WAIT(recv, MPI_Recv(&one, 1, MPI_INT, 0, 1, WORLD, MPI_STATUS_IGNORE))
WAIT(irecv, MPI_Wait(&request, MPI_STATUS_IGNORE))
WAIT(wrong_order, MPI_Recv(&one, 1, MPI_INT, 0, 1, WORLD, MPI_STATUS_IGNORE))
WAIT(ssend, MPI_Ssend(&one, 1, MPI_INT, 0, 1, WORLD))
WAIT(isend, MPI_Wait(&request, MPI_STATUS_IGNORE))
WAIT(probe, MPI_Probe(0, 1, WORLD, MPI_STATUS_IGNORE))
WAIT(mprobe, MPI_Mprobe(0, 1, WORLD, &message, MPI_STATUS_IGNORE))
WAIT(partitioned, MPI_Wait(&request, MPI_STATUS_IGNORE))
WAIT(barrier, MPI_Barrier(WORLD))
WAIT(allreduce, MPI_Allreduce(&one, two, 1, MPI_INT, MPI_SUM, WORLD))
WAIT(alltoall, MPI_Alltoall(other, 1, MPI_INT, two, 1, MPI_INT, WORLD))
WAIT(set_view, MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL))
WAIT(bcast, MPI_Bcast(&one, 1, MPI_INT, 0, WORLD))
WAIT(reduce, MPI_Reduce(&one, two, 1, MPI_INT, MPI_SUM, 1, WORLD))
WAIT(scan, MPI_Scan(&one, two, 1, MPI_INT, MPI_SUM, WORLD))
WAIT(ibarrier, MPI_Wait(&request, MPI_STATUS_IGNORE))
WAIT(create, MPI_Win_allocate(8, 8, MPI_INFO_NULL, WORLD, &memory, &made))
WAIT(free, MPI_Win_free(&made))
WAIT(fence, MPI_Win_fence(0, win))
WAIT(early_fence, MPI_Win_fence(0, win))
WAIT(post, (MPI_Win_start(peer, 0, win), MPI_Put(&word, ONE, 0, 0, ONE, win), MPI_Win_complete(win)))
WAIT(wait, MPI_Win_wait(win))
WAIT(lock, (lock(), MPI_Get(&word, ONE, 0, 0, ONE, win), MPI_Win_unlock(0, win)))
WAIT(get, MPI_Win_flush(0, win))
WAIT(rget, MPI_Wait(&request, MPI_STATUS_IGNORE))
WAIT(first_rget, MPI_Rget(&word, ONE, 0, 0, ONE, win, &request))
WAIT(atomic, MPI_Win_flush(0, win))
WAIT(neighbours, MPI_Neighbor_alltoall(other, 1, MPI_INT, two, 1, MPI_INT, grid))
WAIT(graph, MPI_Wait(&request, MPI_STATUS_IGNORE))
WAIT(other_barrier, MPI_Barrier(other_group))
WAIT(other_sum, MPI_Allreduce(&one, two, 1, MPI_INT, MPI_SUM, other_group))
WAIT(other_bcast, MPI_Bcast(&one, 1, MPI_INT, from_two(), other_group))
WAIT(other_reduce, MPI_Reduce(&one, two, 1, MPI_INT, MPI_SUM, to_one(), other_group))
WAIT(other_later, MPI_Wait(&request, MPI_STATUS_IGNORE))

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

static void send_large(void (*wait)(void)) {
  if (me == 1) MPI_Isend(large, sizeof large, MPI_CHAR, 0, 1, WORLD, &request);
  if (alone(wait)) MPI_Recv(large, sizeof large, MPI_CHAR, 1, 1, WORLD, MPI_STATUS_IGNORE);
}

static void probe(void (*wait)(void)) {
  receive(wait);
  if (me == 1) MPI_Recv(&one, 1, MPI_INT, 0, 1, WORLD, MPI_STATUS_IGNORE);
}

static void mprobe(void (*wait)(void)) {
  receive(wait);
  if (me == 1) MPI_Mrecv(&one, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

#if MPI_VERSION >= 4
static void partitioned(void (*wait)(void)) {
  if (me == 1) MPI_Precv_init(two, 2, 1, MPI_INT, 0, 1, WORLD, MPI_INFO_NULL, &request);
  else MPI_Psend_init(other, 2, 1, MPI_INT, 1, 1, WORLD, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  if (me == 0) MPI_Pready(1, request);
  if (alone(wait)) {
    MPI_Pready(0, request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&request);
}
#endif

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

static void early_fence(void (*wait)(void)) {
  MPI_Win_fence(0, win);
  if (alone(wait)) {
    MPI_Put(&word, ONE, 1, 0, ONE, win);
    wait();
  }
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
  if (me == 1) {
    await(0, AWAY);
    if (what == GET) MPI_Get(&word, ONE, 0, 0, ONE, win);
    if (what == RGET) MPI_Rget(&word, ONE, 0, 0, ONE, win, &request);
    if (what == ATOMIC) MPI_Fetch_and_op(&word, &word, MPI_DOUBLE, 0, 0, MPI_SUM, win);
  }
  alone(wait);
  MPI_Barrier(WORLD);
  MPI_Win_unlock_all(win);
}

static void first_rget(void (*wait)(void)) {
  MPI_Win_lock_all(0, win); /* some libraries wait for rank 0 here */
  MPI_Barrier(WORLD);
  alone(wait);
  if (me == 1) MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(WORLD);
  MPI_Win_unlock_all(win);
}

static void get(void (*wait)(void)) { outstanding(wait, GET); }
static void rget(void (*wait)(void)) { outstanding(wait, RGET); }
static void atomic(void (*wait)(void)) { outstanding(wait, ATOMIC); }

/* Rank 1 needs rank 2 only, which comes after the delay; rank 0 comes after another. */
static void chain(void (*wait)(void), int later) {
  if (me == 1 && later) MPI_Ineighbor_allgather(&one, 1, MPI_INT, two, 1, MPI_INT, graph, &request);
  if (me == 1) return be_on_time(wait);
  if (me == 0) mark(AWAY);
  await(me == 2 ? 1 : 2, me == 2 ? ENTERED : RELEASED);
  compute(delay);
  mark(RELEASED);
  if (later) MPI_Ineighbor_allgather(&one, 1, MPI_INT, two, 1, MPI_INT, graph, &request);
  wait();
}

static void on_grid(void (*wait)(void)) { chain(wait, 0); }
static void on_graph(void (*wait)(void)) { chain(wait, 1); }

/* Rank 2 comes last; rank 0 is on time, and calls from a place of its own. */
static void two_groups(void (*wait)(void), void (*also)(void)) {
  if (me == 1) return be_on_time(wait);
  if (me == 0) {
    mark(AWAY);
    return also();
  }
  await(1, ENTERED);
  compute(delay);
  mark(RELEASED);
  wait();
}

static void also_barrier(void) { MPI_Barrier(other_group); }
static void also_sum(void) { MPI_Allreduce(&one, two, 1, MPI_INT, MPI_SUM, other_group); }
static void also_bcast(void) { MPI_Bcast(&one, 1, MPI_INT, from_two(), other_group); }
static void also_reduce(void) { MPI_Reduce(&one, two, 1, MPI_INT, MPI_SUM, to_one(), other_group); }

static void other_barrier(void (*wait)(void)) { two_groups(wait, also_barrier); }
static void other_sum(void (*wait)(void)) { two_groups(wait, also_sum); }
static void other_bcast(void (*wait)(void)) { two_groups(wait, also_bcast); }
static void other_reduce(void (*wait)(void)) { two_groups(wait, also_reduce); }

static void other_later(void (*wait)(void)) {
  if (me == 2) {
    await(1, ENTERED);
    compute(delay);
    mark(RELEASED);
  }
  MPI_Iallreduce(&one, two, 1, MPI_INT, MPI_SUM, other_group, &request);
  if (me == 0) mark(AWAY);
  if (me == 1) be_on_time(wait);
  else MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void view_together(void (*wait)(void)) {
  int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE;
  MPI_File_open(WORLD, "mpi_delays.dat", mode, MPI_INFO_NULL, &file);
  together(wait);
  MPI_File_close(&file);
}

static const struct mode modes[] = {
    {"recv", 2, receive, recv_wait},
    {"irecv", 2, receive_later, irecv_wait},
    {"wrong_order", 2, wrong_order, wrong_order_wait},
    {"ssend", 2, send, ssend_wait},
    {"isend", 2, send_large, isend_wait},
    {"probe", 2, probe, probe_wait},
    {"mprobe", 2, mprobe, mprobe_wait},
#if MPI_VERSION >= 4
    {"partitioned", 2, partitioned, partitioned_wait},
#endif
    {"barrier", 2, together, barrier_wait},
    {"allreduce", 2, together, allreduce_wait},
    {"alltoall", 2, together, alltoall_wait},
    {"set_view", 2, view_together, set_view_wait},
    {"bcast", 2, together, bcast_wait},
    {"reduce", 2, together, reduce_wait},
    {"scan", 2, together, scan_wait},
    {"ibarrier", 2, begin_later, ibarrier_wait},
    {"create", 2, create, create_wait},
    {"free", 2, give_back, free_wait},
    {"fence", 2, fence, fence_wait},
    {"early_fence", 2, early_fence, early_fence_wait},
    {"post", 2, post, post_wait},
    {"wait", 2, expose, wait_wait},
    {"lock", 2, contend, lock_wait},
    {"get", 2, get, get_wait},
    {"rget", 2, rget, rget_wait},
    {"first_rget", 2, first_rget, first_rget_wait},
    {"atomic", 2, atomic, atomic_wait},
    {"neighbours", 3, on_grid, neighbours_wait},
    {"graph", 3, on_graph, graph_wait},
    {"other_barrier", 3, other_barrier, other_barrier_wait},
    {"other_sum", 3, other_sum, other_sum_wait},
    {"other_bcast", 3, other_bcast, other_bcast_wait},
    {"other_reduce", 3, other_reduce, other_reduce_wait},
    {"other_later", 3, other_later, other_later_wait},
    {NULL},
};

static void barrier(void) { MPI_Barrier(WORLD); }

/* What three ranks meet on. */
static void topologies(int rank) {
  MPI_Comm part;
  int length = 3, ends = 0, weight = 1;
  /* In a row: 1, 2, 0. */
  MPI_Comm_split(WORLD, 0, (rank + 2) % 3, &part);
  MPI_Cart_create(part, 1, &length, &ends, 0, &grid);
  MPI_Comm_free(&part);
  /* 0 sends to 2, 2 to 1. */
  int source = (rank + 1) % 3, target = (rank + 2) % 3;
  MPI_Dist_graph_create_adjacent(WORLD, rank != 0, &source, &weight, rank != 1, &target, &weight, MPI_INFO_NULL, 0,
                                 &graph);
  MPI_Comm_split(WORLD, rank == 1, rank, &part);
  MPI_Intercomm_create(part, 0, WORLD, rank == 1 ? 0 : 1, 1, &other_group);
  MPI_Comm_free(&part);
}

int main(int argc, char **argv) {
  MPI_Group world;
  double *mine;
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &size);
  int partner = (rank + 1) % 2;
  if (size == 3) topologies(rank);
  MPI_Comm_group(WORLD, &world);
  MPI_Group_incl(world, 1, &partner, &peer);
  MPI_Win_allocate(8, 8, MPI_INFO_NULL, WORLD, &mine, &win);
  run(argv, rank, size, modes, barrier);
  MPI_Win_free(&win);
  if (size == 3) {
    MPI_Comm_free(&grid);
    MPI_Comm_free(&graph);
    MPI_Comm_free(&other_group);
  }
  MPI_Group_free(&peer);
  MPI_Group_free(&world);
  MPI_Finalize();
  return 0;
}
