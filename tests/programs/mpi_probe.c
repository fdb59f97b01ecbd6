/* A program that is not linked with MPI and looks whether it is there, as
 * libraries do that are made for programs with and without it.
 *
 *   gcc -O2 -g -fPIE -pie -o mpi_probe mpi_probe.c
 *   ./mpi_probe
 *
 * Prints "MPI: absent" and "no MPI to ask", and exits with 0.
 */
#include <stdio.h>

extern int MPI_Initialized(int *) __attribute__((weak));
extern int MPI_Comm_rank(void *, int *) __attribute__((weak));
extern int MPI_Init(int *, char ***) __attribute__((weak));

/* A reference in data, besides those in code. */
int (*volatile start)(int *, char ***) = MPI_Init;

int main(void) {
  int started = 0;
  printf("MPI: %s\n", MPI_Init || start ? "present" : "absent");
  if (MPI_Initialized && MPI_Comm_rank) {
    MPI_Initialized(&started);
    printf("MPI was asked: %d\n", started);
  } else {
    puts("no MPI to ask");
  }
  return 0;
}
