/* Many threads at once, each of which makes two calls of MPI, and the last one 20,000. Then the program ends, or every
 * rank sends itself SIGKILL.
 *
 *   mpicc -O1 -g -pthread -o mpi_many mpi_many.c
 *   mpirun -n 2 ./mpi_many THREADS end|kill
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_barrier_t all;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

static void probe(long calls) {
  for (long i = 0; i < calls; i++) {
    int flag;
    pthread_mutex_lock(&one);
    MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&one);
    /* Another call in between, so that each has a record. */
    pthread_mutex_lock(&one);
    MPI_Barrier(MPI_COMM_SELF);
    pthread_mutex_unlock(&one);
  }
}

static void *thread(void *calls) {
  probe((long)calls);
  pthread_barrier_wait(&all);
  pthread_barrier_wait(&all);
  return 0;
}

int main(int argc, char **argv) {
  int provided;
  long threads = argc > 1 ? atol(argv[1]) : 100;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  pthread_t *ids = calloc(threads, sizeof *ids);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  pthread_barrier_init(&all, 0, threads + 1);
  for (long i = 0; i < threads; i++)
    if (pthread_create(&ids[i], &small, thread, (void *)(i + 1 < threads ? 1L : 10000L))) return 3;
  pthread_barrier_wait(&all);
  MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 2 && strcmp(argv[2], "kill") == 0) raise(SIGKILL);
  pthread_barrier_wait(&all);
  for (long i = 0; i < threads; i++)
    pthread_join(ids[i], 0);
  puts("done");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
