/* A small OpenSHMEM on top of MPI: one window for the symmetric heap, functions that call MPI.
 *
 *   mpicc -O1 -g -shared -fPIC -o libshmem_over_mpi.so shmem_over_mpi.c
 *
 * shmem_putmem and shmem_long_p make one MPI_Put and one MPI_Win_flush each, shmem_barrier_all one MPI_Barrier,
 * shmem_long_test one MPI_Iprobe.
 */
#include <mpi.h>
#include <stddef.h>

#define HEAP (1 << 20)

static MPI_Win window;
static char *heap;
static size_t used;
static int rank, size;

void shmem_init(void) {
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win_allocate(HEAP, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &heap, &window);
  MPI_Win_lock_all(0, window);
  MPI_Barrier(MPI_COMM_WORLD);
}

int shmem_my_pe(void) { return rank; }
int shmem_n_pes(void) { return size; }

void shmem_barrier_all(void) {
  MPI_Win_sync(window);
  MPI_Barrier(MPI_COMM_WORLD);
}

void *shmem_malloc(size_t bytes) {
  void *place = heap + used;
  used += (bytes + 63) / 64 * 64;
  shmem_barrier_all();
  return used <= HEAP ? place : NULL;
}

void shmem_putmem(void *to, const void *from, size_t bytes, int pe) {
  MPI_Put(from, (int)bytes, MPI_BYTE, pe, (char *)to - heap, (int)bytes, MPI_BYTE, window);
  MPI_Win_flush(pe, window);
}

void shmem_long_p(long *to, long value, int pe) { shmem_putmem(to, &value, sizeof value, pe); }

void shmem_fence(void) { MPI_Win_sync(window); }
void shmem_quiet(void) { MPI_Win_sync(window); }

int shmem_long_test(long *word, int how, long value) {
  int flag;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  MPI_Win_sync(window);
  return how == 1 ? *(volatile long *)word != value : *(volatile long *)word == value;
}

void shmem_finalize(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Finalize();
}
