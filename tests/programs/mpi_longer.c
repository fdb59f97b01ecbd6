/* Two processes compute between barriers, five times; rank 1 computes longer, for a reason that its counters show. Work is
 * counted in operations.
 *
 *   mpicc -O1 -g -o mpi_longer mpi_longer.c
 *   mpirun -np 2 ./mpi_longer MODE OPERATIONS
 *
 *   work     rank 1 does twice as many operations
 *   off      rank 1 shares its core with a child process that does nothing but spin
 *   faults   rank 1 touches 2000 new pages in each round
 *   sleeps   rank 1 sleeps 50 times 1 ms in each round
 *   moves    rank 1 moves to the other core and back 10 times in each round
 *   queue    rank 0 sends 7 messages in each round, which rank 1 receives only after a barrier
 *   die      as work, and rank 1 kills itself in the fourth round
 *
 * In all modes each process stays on a core of its own, if there are two.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 5, PAGES = 2000, SLEEPS = 50, MOVES = 10, MESSAGES = 7 };

static volatile double sink;
static const char *mode;
static int cores[2];

static int is(const char *name) { return !strcmp(mode, name); }

static void compute(long operations) {
  double x = 1;
  for (long i = 0; i < operations; i++) x = x * 1.0000001 + 1e-9;
  sink = x;
}

/* Moves the calling thread to one of two cores that it may use. */
static void move_to(int which) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cores[which], &set);
  sched_setaffinity(0, sizeof set, &set);
}

static void longer(long operations) {
  if (is("work") || is("die")) compute(operations);
  if (is("faults")) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, PAGES * page, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++) memory[i * page] = 1;
    munmap(memory, PAGES * page);
  }
  if (is("sleeps")) {
    struct timespec millisecond = {0, 1000000};
    for (int i = 0; i < SLEEPS; i++) nanosleep(&millisecond, NULL);
  }
  if (is("moves")) {
    for (int i = 0; i < MOVES; i++) {
      move_to(0);
      move_to(1);
    }
  }
}

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  mode = argv[1];
  long operations = atol(argv[2]);
  cpu_set_t all;
  sched_getaffinity(0, sizeof all, &all);
  int count = sysconf(_SC_NPROCESSORS_CONF), found = 0;
  for (int core = 0; core < count && found < 2; core++)
    if (CPU_ISSET(core, &all)) cores[found++] = core;
  if (found == 2) move_to(rank % 2);
  pid_t child = 0;
  if (is("off") && rank == 1 && !(child = fork())) {
    alarm(20);
    for (;;) {
    }
  }
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Barrier(MPI_COMM_WORLD);
    compute(operations);
    if (rank == 1) longer(operations);
    if (is("die") && rank == 1 && round == 3) raise(SIGKILL);
    if (is("queue") && rank == 0)
      for (int i = 0; i < MESSAGES; i++) MPI_Send(&i, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (is("queue") && rank == 1)
      for (int i = 0, got; i < MESSAGES; i++) MPI_Recv(&got, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (child > 0) kill(child, SIGKILL);
  MPI_Finalize();
}
