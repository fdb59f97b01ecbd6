/* Seven puts and three barriers of an OpenSHMEM that is built on MPI: shmem_over_mpi.c.
 *
 *   mpicc -O1 -g -o over_mpi over_mpi.c -L. -lshmem_over_mpi
 */
#include <stddef.h>
#include <stdio.h>

void shmem_init(void);
void shmem_finalize(void);
int shmem_my_pe(void);
int shmem_n_pes(void);
void *shmem_malloc(size_t);
void shmem_barrier_all(void);
void shmem_putmem(void *, const void *, size_t, int);

int main(void) {
  shmem_init();
  int me = shmem_my_pe(), next = (me + 1) % shmem_n_pes();
  long *place = shmem_malloc(sizeof *place);
  for (long i = 0; i < 7; i++)
    shmem_putmem(place, &i, sizeof i, next);
  for (int i = 0; i < 3; i++)
    shmem_barrier_all();
  printf("PE %d has %ld\n", me, *place);
  fflush(stdout);
  shmem_finalize();
  return 0;
}
