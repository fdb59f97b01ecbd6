/*
 * Counts its own barriers in a file that survives its death, to be compared with what was recorded.
 *
 *   mpicc counted.c -o counted
 *   mpirun -np 2 dwell run ./counted FOLDER BARRIERS MICROSECONDS [EXIT_CODE]
 *
 * FOLDER/RANK.count holds the number of barriers that the process has left, as a native 64-bit integer. Before each
 * barrier the process sleeps for MICROSECONDS. With -DSHMEM the runtime is OpenSHMEM.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef SHMEM
#include <shmem.h>
#define START() shmem_init()
#define RANK() shmem_my_pe()
#define BARRIER() shmem_barrier_all()
#define END() shmem_finalize()
#else
#include <mpi.h>
static int rank_of_world(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
#define START() MPI_Init(NULL, NULL)
#define RANK() rank_of_world()
#define BARRIER() MPI_Barrier(MPI_COMM_WORLD)
#define END() MPI_Finalize()
#endif

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  START();
  int rank = RANK();
  char path[4096];
  snprintf(path, sizeof path, "%s/%d.count", argv[1], rank);
  int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || ftruncate(file, sizeof(uint64_t))) return 3;
  volatile uint64_t *count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (count == MAP_FAILED) return 3;
  close(file);
  for (long i = 0; i < atol(argv[2]); i++) {
    usleep(atoi(argv[3]));
    BARRIER();
    ++*count;
  }
  if (rank == 0) printf("%s barriers\n", argv[2]);
  END();
  return argc > 4 ? atoi(argv[4]) : 0;
}
