/* Communicates, says what it has done, and ends in one of many ways.
 *
 *   mpicc -O2 -g -o mpi_die mpi_die.c
 *   mpirun -n 2 ./mpi_die MODE ITERATIONS PREFIX
 *
 * Each rank writes PREFIX.<rank>: lines `count pe=R FUNCTION=CALLS bytes=BYTES`
 * of calls that it has completed.
 *
 * MODE
 *   normal      MPI_Finalize
 *   kill-one    rank 1 sends itself SIGKILL, others are in a barrier
 *   kill-all    every rank sends itself SIGKILL
 *   segfault    rank 1 writes to address 0, others are in a barrier
 *   abort       rank 1 calls abort(), others are in a barrier
 *   MPI_Abort   rank 0 calls MPI_Abort with 7, others are in a barrier
 *   abort-all   every rank calls MPI_Abort with 7
 *   _exit       rank 1 calls _exit(5), others are in a barrier
 *   exit        rank 1 calls exit(6), not MPI_Finalize, others are in a barrier
 *   fatal       rank 1 sends to a rank that is not there, others in a barrier
 *   hang        rank 0 computes for ever, others in a barrier: kill it
 *   busy        iterates for ever, 1 ms apart: kill it
 *
 * In mode busy the file is rewritten after every iteration, and at a kill the
 * rank may be further than it says by one iteration. Rank 0 says "ready" once
 * the files of all ranks are written (hang and busy).
 */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORDS 8

static int me, ranks, next, before;
static long *memory;
static MPI_Win window;
static long iterations; /* completed */
static long barriers;   /* completed */
static int counts_file;

static void open_counts(const char *prefix) {
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", prefix, me);
  counts_file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (counts_file < 0) MPI_Abort(MPI_COMM_WORLD, 2);
}

/* Every rewrite is at least as long as the one before. */
static void write_counts(void) {
  char text[1024];
  const long n = iterations, bytes = WORDS * sizeof(long);
  int length = snprintf(
      text, sizeof text,
      "count pe=%d MPI_Init=1 bytes=0\n"
      "count pe=%d MPI_Win_allocate=1 bytes=0\n"
      "count pe=%d MPI_Win_lock_all=1 bytes=0\n"
      "count pe=%d MPI_Irecv=%ld bytes=0\n"
      "count pe=%d MPI_Isend=%ld bytes=%ld\n"
      "count pe=%d MPI_Waitall=%ld bytes=%ld\n"
      "count pe=%d MPI_Put=%ld bytes=%ld\n"
      "count pe=%d MPI_Win_flush=%ld bytes=0\n"
      "count pe=%d MPI_Allreduce=%ld bytes=%ld\n"
      "count pe=%d MPI_Barrier=%ld bytes=0\n",
      me, me, me, me, n, me, n, n * bytes, me, n, n * bytes, me, n, n * 8, me,
      n, me, n, n * 16, me, barriers);
  if (pwrite(counts_file, text, (size_t)length, 0) != length) _exit(9);
}

static void iterate(void) {
  long out[WORDS], in[WORDS], mine = me, sum = 0;
  MPI_Request requests[2];
  for (int i = 0; i < WORDS; i++) out[i] = me * 1000 + iterations + i;
  MPI_Irecv(in, WORDS, MPI_LONG, before, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, WORDS, MPI_LONG, next, 3, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Put(out, 1, MPI_LONG, next, 0, 1, MPI_LONG, window);
  MPI_Win_flush(next, window);
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (in[1] != before * 1000 + iterations + 1) MPI_Abort(MPI_COMM_WORLD, 8);
  if (sum != (long)ranks * (ranks - 1) / 2) MPI_Abort(MPI_COMM_WORLD, 8);
  iterations++;
}

static void barrier(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  barriers++;
}

static void sleep_ms(long ms) {
  const struct timespec t = {.tv_nsec = ms * 1000 * 1000};
  nanosleep(&t, NULL);
}

static void wait_for_ever(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  pause();
}

static void say_ready(void) {
  if (me != 0) return;
  puts("ready");
  fflush(stdout);
}

static void end(const char *mode) {
  const char *one[] = {"kill-one", "segfault", "abort", "_exit", "exit", "fatal"};
  for (int i = 0; i < 6; i++)
    if (strcmp(mode, one[i]) == 0 && me != 1) wait_for_ever();
  if (strcmp(mode, "MPI_Abort") == 0 && me != 0) wait_for_ever();
  if (strcmp(mode, "hang") == 0 && me != 0) wait_for_ever();
  /* Until all files are written, and others are where they will stay. */
  if (strcmp(mode, "normal") != 0) sleep_ms(100);
  if (strcmp(mode, "normal") == 0) {
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
  } else if (strncmp(mode, "kill", 4) == 0) {
    raise(SIGKILL);
  } else if (strcmp(mode, "segfault") == 0) {
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
  } else if (strcmp(mode, "abort") == 0) {
    abort();
  } else if (strcmp(mode, "MPI_Abort") == 0 || strcmp(mode, "abort-all") == 0) {
    MPI_Abort(MPI_COMM_WORLD, 7);
  } else if (strcmp(mode, "_exit") == 0) {
    _exit(5);
  } else if (strcmp(mode, "exit") == 0) {
    exit(6);
  } else if (strcmp(mode, "fatal") == 0) {
    long value = 1;
    MPI_Send(&value, 1, MPI_LONG, ranks + 97, 0, MPI_COMM_WORLD);
  } else if (strcmp(mode, "hang") == 0) {
    say_ready();
    for (volatile unsigned long i = 0;; i++) continue;
  } else if (strcmp(mode, "busy") == 0) {
    say_ready();
    for (;;) {
      iterate();
      write_counts();
      sleep_ms(1);
    }
  }
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  long wanted = strtol(argv[2], NULL, 10);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  next = (me + 1) % ranks;
  before = (me + ranks - 1) % ranks;
  MPI_Win_allocate(WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &memory, &window);
  MPI_Win_lock_all(0, window);
  open_counts(argv[3]);
  barrier();
  while (iterations < wanted) iterate();
  barrier();
  write_counts();
  end(argv[1]);
  return 0;
}
