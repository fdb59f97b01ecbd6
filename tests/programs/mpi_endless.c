/* Makes calls without end, as far as budgets are concerned: THREADS threads, each CALLS barriers of a process with
 * itself, and then a barrier of all processes. No thread makes its second call before all have made their first, so that
 * a budget which has no room for all threads is not used up by the first of them.
 *
 *   mpicc -O1 -g -pthread -o mpi_endless mpi_endless.c
 *   mpirun -np 2 ./mpi_endless THREADS CALLS
 *
 * While all threads are still there each process prints how much memory it has that it can write to, but for stacks
 * and what is shared with others: anonymous, its heap, and files of a recording.
 *
 *   memory 0 12345678
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int calls;
static pthread_barrier_t done;

static void *work(void *comm) {
  MPI_Barrier(*(MPI_Comm *)comm);
  pthread_barrier_wait(&done);
  for (int call = 1; call < calls; call++) MPI_Barrier(*(MPI_Comm *)comm);
  pthread_barrier_wait(&done);
  pthread_barrier_wait(&done);
  return NULL;
}

static long memory(void) {
  char line[4096];
  long sum = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps)) {
    unsigned long begin, end;
    char rights[8], path[3072] = "";
    sscanf(line, "%lx-%lx %7s %*s %*s %*s %3071[^\n]", &begin, &end, rights, path);
    int ours = !path[0] || !strcmp(path, "[heap]") || strstr(path, "/open/");
    if (rights[1] == 'w' && ours) sum += end - begin;
  }
  if (maps) fclose(maps);
  return sum;
}

int main(int argc, char **argv) {
  int rank, level, threads = argc > 1 ? atoi(argv[1]) : 4;
  calls = argc > 2 ? atoi(argv[2]) : 100000;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm *comms = malloc(threads * sizeof *comms);
  pthread_t *them = malloc(threads * sizeof *them);
  pthread_barrier_init(&done, NULL, threads + 1);
  for (int thread = 0; thread < threads; thread++) {
    MPI_Comm_dup(MPI_COMM_SELF, &comms[thread]);
    pthread_create(&them[thread], NULL, work, &comms[thread]);
  }
  pthread_barrier_wait(&done);
  pthread_barrier_wait(&done);
  printf("memory %d %ld\n", rank, memory());
  fflush(stdout);
  pthread_barrier_wait(&done);
  for (int thread = 0; thread < threads; thread++) {
    pthread_join(them[thread], NULL);
    MPI_Comm_free(&comms[thread]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
