/*
 * A program for gcc's AddressSanitizer. Each rank sends its number to the next one, then all meet in a barrier. With
 * the argument `overflow`, rank 0 then reads behind the end of a block, which AddressSanitizer reports and ends the
 * process for.
 *
 *   mpicc -O1 -g -fsanitize=address -o mpi_sanitized mpi_sanitized.c
 *   ASAN_OPTIONS=detect_leaks=0:exitcode=9 mpirun -n 2 ./mpi_sanitized [overflow]
 *
 * Prints "rank R got N" on each rank. The exit code is 0, and 9 with `overflow`.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  int rank, size, got = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int *block = calloc(8, sizeof *block);
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, (rank + size - 1) % size, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("rank %d got %d\n", rank, got);
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 1 && strcmp(argv[1], "overflow") == 0 && rank == 0) {
    volatile int behind = 8;
    printf("%d\n", block[behind]);
  }
  free(block);
  MPI_Finalize();
  return 0;
}
