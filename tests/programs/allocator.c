/*
 * A program with a malloc of its own that, once OpenSHMEM is initialised, calls
 * shmem_my_pe at every 16th allocation. A tool whose hooks allocate is entered
 * again from within its own hook.
 *
 *   oshcc -O2 -g -o allocator allocator.c
 *   oshrun -np 2 ./allocator
 *
 * PE 0 prints "allocator ok", exit code 0. How many allocations there are is
 * not printed: it depends on the runtime.
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 2000
#define EVERY 16

/* The C library's own, which this malloc stands in front of. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void __libc_free(void *memory);

static volatile int running; /* between shmem_init and shmem_finalize */
static volatile int wrong;
static unsigned long allocations;
static int me;

static void allocated(void) {
  unsigned long n = __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
  if (running && n % EVERY == 0 && shmem_my_pe() != me) wrong = 1;
}

void *malloc(size_t size) {
  allocated();
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  allocated();
  return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
  allocated();
  return __libc_realloc(old, size);
}

void free(void *memory) { __libc_free(memory); }

static void *volatile keep;

static void allocate_a_little(int i) {
  keep = malloc((size_t)(i % 100 + 1));
  free(keep);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe();
  running = 1;
  int npes = shmem_n_pes(), next = (me + 1) % npes;
  long *data = shmem_calloc(1, sizeof *data);
  shmem_barrier_all(); /* Open MPI zeroes after its own barrier */
  for (int i = 0; i < ROUNDS; i++) {
    allocate_a_little(i);
    shmem_long_p(data, i, next);
    shmem_quiet();
    if (shmem_long_g(data, next) != i) wrong = 1;
  }
  shmem_barrier_all();
  if (*data != ROUNDS - 1) wrong = 1;
  shmem_barrier_all();
  shmem_free(data);
  running = 0;
  int bad = wrong || allocations < ROUNDS;
  if (bad) fprintf(stderr, "allocator: PE %d: wrong\n", me);
  else if (me == 0) puts("allocator ok");
  fflush(stdout);
  shmem_finalize();
  return bad;
}
