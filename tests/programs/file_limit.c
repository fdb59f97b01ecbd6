/* Lowers the limit of the size of its files once the runtime has started, and makes calls that concern the process alone.
 *
 *   mpicc -O2 -g -o file_limit file_limit.c
 *   mpirun -n 2 ./file_limit BYTES CALLS
 *
 *   oshcc -O2 -g -DSHMEM -o file_limit file_limit.c
 *   oshrun -np 2 ./file_limit BYTES CALLS
 *
 * Whoever writes beyond the limit gets SIGXFSZ, which ends the process. Rank 0 prints the number of calls.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#ifdef SHMEM
#include <shmem.h>
static long word;
#define START(argc, argv) shmem_init()
#define RANK(rank) rank = shmem_my_pe()
#define CALL() shmem_long_p(&word, 1, shmem_my_pe())
#define END() shmem_finalize()
#else
#include <mpi.h>
#define START(argc, argv) MPI_Init(&argc, &argv)
#define RANK(rank) MPI_Comm_rank(MPI_COMM_WORLD, &rank)
#define CALL() MPI_Barrier(MPI_COMM_SELF)
#define END() MPI_Finalize()
#endif

int main(int argc, char **argv) {
  int rank;
  START(argc, argv);
  RANK(rank);
  struct rlimit limit = {strtoul(argv[1], NULL, 10), strtoul(argv[1], NULL, 10)};
  setrlimit(RLIMIT_FSIZE, &limit);
  long calls = atol(argv[2]);
  for (long i = 0; i < calls; i++) CALL();
  /* The signal is as it was: it is neither blocked nor pending. */
  sigset_t set;
  sigpending(&set);
  int changed = sigismember(&set, SIGXFSZ);
  sigprocmask(SIG_BLOCK, NULL, &set);
  changed |= sigismember(&set, SIGXFSZ);
  if (rank == 0) {
    printf("%ld calls%s\n", calls, changed ? ", and another signal mask" : "");
    fflush(stdout);
  }
  END();
  return 0;
}
