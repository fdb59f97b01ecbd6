/*
 * Makes a known number of calls and then ends in a chosen way, so that what is
 * recovered of its trace can be compared with what it did.
 *
 *   oshcc -O2 -g -o die die.c
 *   oshrun -np 2 ./die MODE ITERATIONS PREFIX
 *
 * Each PE does ITERATIONS times: shmem_long_put of 8 longs to the next PE,
 * shmem_long_get of 4 longs from it, shmem_barrier_all, and one more barrier
 * before and after all of them. Then, just before its end, it writes with one write(2) into PREFIX.<pe> what it has completed:
 *
 *   count pe=0 shmem_init=1 bytes=0
 *   count pe=0 shmem_long_put=100 bytes=6400
 *   ...
 *
 * MODE           what then happens                             oshrun's exit code
 *   normal       shmem_free, shmem_finalize, return 0          0
 *   kill-one     PE 1 sends itself SIGKILL, others in barrier  137
 *   kill-all     every PE sends itself SIGKILL                 137
 *   segfault     every PE writes to address 0                  139
 *   abort        every PE calls abort()                        134
 *   global_exit  PE 0 calls shmem_global_exit(7)               7
 *   exit_by_all  every PE calls shmem_global_exit(7)           7
 *   _exit        every PE calls _exit(5)                       5
 *   exit         every PE calls exit(6), not shmem_finalize    6
 *   hang         PE 0 computes for ever, others in barrier     kill it
 *   busy         iterates for ever, 1 ms apart                 kill it
 *
 * Where only one PE ends, the others are in one more shmem_barrier_all, which
 * they never complete and which is not in their counts. In mode busy the file
 * is rewritten after every iteration, and at a kill the PE may be up to three
 * calls further than it says. PE 0 says "ready" on stdout once the files of all
 * PEs are written (hang and busy), so that a test knows when to kill.
 */
#include <fcntl.h>
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PUT 8
#define GET 4

static int me, npes, next;
static long *data;
static long iterations;    /* completed */
static long extra_barriers; /* completed, besides those of the iterations */
static int counts_file;

static void usage(const char *program) {
  fprintf(stderr, "usage: %s MODE ITERATIONS PREFIX\n", program);
  exit(2);
}

static void open_counts(const char *prefix) {
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", prefix, me);
  counts_file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (counts_file < 0) {
    perror(path);
    shmem_global_exit(2);
  }
}

/* Completed calls; every rewrite is at least as long as the one before. */
static void write_counts(void) {
  char text[512];
  int n = snprintf(text, sizeof text,
                   "count pe=%d shmem_init=1 bytes=0\n"
                   "count pe=%d shmem_my_pe=1 bytes=0\n"
                   "count pe=%d shmem_n_pes=1 bytes=0\n"
                   "count pe=%d shmem_calloc=1 bytes=%d\n"
                   "count pe=%d shmem_long_put=%ld bytes=%ld\n"
                   "count pe=%d shmem_long_get=%ld bytes=%ld\n"
                   "count pe=%d shmem_barrier_all=%ld bytes=0\n",
                   me, me, me, me, PUT * 8, me, iterations, iterations * PUT * 8,
                   me, iterations, iterations * GET * 8, me,
                   iterations + extra_barriers);
  if (pwrite(counts_file, text, (size_t)n, 0) != n) _exit(9);
}

static void iterate(void) {
  long out[PUT], in[GET];
  for (int i = 0; i < PUT; i++) out[i] = me * 1000 + iterations + i;
  shmem_long_put(data, out, PUT, next);
  shmem_long_get(in, data + PUT - GET, GET, next);
  shmem_barrier_all();
  iterations++;
  for (int i = 0; i < GET; i++) {
    if (in[i] == me * 1000 + iterations - 1 + PUT - GET + i) continue;
    fprintf(stderr, "die: PE %d: wrong value %ld\n", me, in[i]);
    shmem_global_exit(8);
  }
}

static void say_ready(void) {
  if (me != 0) return;
  puts("ready");
  fflush(stdout);
}

static void end_normally(void) {
  shmem_free(data);
  shmem_finalize();
}

static void end_in_segfault(void) {
  volatile int *volatile nowhere = NULL;
  *nowhere = 1;
}

static void wait_for_ever(void) {
  shmem_barrier_all();
  pause();
}

static void compute_for_ever(void) {
  for (volatile unsigned long i = 0;; i++) continue;
}

/* Waits until all files are written, without a call that leaves an event. */
static void give_others_time(void) {
  const struct timespec t = {.tv_nsec = 200 * 1000 * 1000};
  nanosleep(&t, NULL);
}

static void iterate_for_ever(void) {
  const struct timespec t = {.tv_nsec = 1000 * 1000};
  for (;;) {
    iterate();
    write_counts();
    nanosleep(&t, NULL);
  }
}

static void end(const char *mode) {
  if (strcmp(mode, "normal") == 0) {
    end_normally();
  } else if (strcmp(mode, "kill-one") == 0) {
    if (me != 1) wait_for_ever();
    give_others_time();
    raise(SIGKILL);
  } else if (strcmp(mode, "kill-all") == 0) {
    give_others_time();
    raise(SIGKILL);
  } else if (strcmp(mode, "segfault") == 0) {
    give_others_time();
    end_in_segfault();
  } else if (strcmp(mode, "abort") == 0) {
    give_others_time();
    abort();
  } else if (strcmp(mode, "global_exit") == 0) {
    if (me != 0) wait_for_ever();
    give_others_time();
    shmem_global_exit(7);
  } else if (strcmp(mode, "exit_by_all") == 0) {
    give_others_time();
    shmem_global_exit(7);
  } else if (strcmp(mode, "_exit") == 0) {
    give_others_time();
    _exit(5);
  } else if (strcmp(mode, "exit") == 0) {
    give_others_time();
    exit(6);
  } else if (strcmp(mode, "hang") == 0) {
    if (me != 0) wait_for_ever();
    give_others_time();
    say_ready();
    compute_for_ever();
  } else if (strcmp(mode, "busy") == 0) {
    give_others_time();
    say_ready();
    iterate_for_ever();
  }
}

static int known(const char *mode) {
  static const char *const modes[] = {
      "normal", "kill-one", "kill-all", "segfault", "abort",
      "global_exit", "exit_by_all", "_exit", "exit", "hang", "busy"};
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    if (strcmp(mode, modes[i]) == 0) return 1;
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 4 || !known(argv[1])) usage(argv[0]);
  long wanted = strtol(argv[2], NULL, 10);
  shmem_init();
  me = shmem_my_pe();
  npes = shmem_n_pes();
  next = (me + 1) % npes;
  data = shmem_calloc(PUT, 8);
  open_counts(argv[3]);
  shmem_barrier_all(); /* Open MPI zeroes after the barrier in shmem_calloc */
  extra_barriers++;
  while (iterations < wanted) iterate();
  shmem_barrier_all();
  extra_barriers++;
  if (strcmp(argv[1], "normal") == 0 && me == 0) {
    printf("die: %ld iterations\n", iterations);
    fflush(stdout);
  }
  write_counts();
  end(argv[1]);
  return 0;
}
