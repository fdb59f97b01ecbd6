/* Completion in OpenSHMEM, with 2 PEs: atomics without a result and puts return at once and are waited for in a quiet. See
 * complete.h. oshcc -g -O1 complete_shmem.c -o complete_shmem; oshrun -np 2 ./complete_shmem add put ... */
#include <shmem.h>

#include "complete.h"

#define LARGE (4 << 20)
static long *word, fixed, value = 3;
static char *large;

static void barrier(int event) { BARRIER(event, shmem_barrier_all()); }

/* One line for the operation and one for the quiet. */
#define OPERATION(name, statement) \
  static void name(void) { \
    for (int round = 0; round < ROUNDS; round++) { \
      if (is_origin(round)) { \
        TIMED(statement); \
        waited_for_target(round); \
        quiet(round); \
      } \
      barrier(100 + round); \
    } \
  }
static void quiet(int round) {
  TIMED(shmem_quiet());
  waited_for_target(round);
}

OPERATION(add, shmem_long_atomic_add(word, 1, 0))
OPERATION(set, shmem_long_atomic_set(word, 1, 0))
OPERATION(and, shmem_ulong_atomic_and((unsigned long *)word, 1, 0))
OPERATION(or, shmem_ulong_atomic_or((unsigned long *)word, 1, 0))
OPERATION(xor, shmem_ulong_atomic_xor((unsigned long *)word, 1, 0))
OPERATION(increment, shmem_long_atomic_inc(word, 0))
OPERATION(put, shmem_long_put(word, &value, 1, 0))
OPERATION(static_add, shmem_long_atomic_add(&fixed, 1, 0))
OPERATION(large_put, shmem_putmem(large, large, LARGE, 0))
OPERATION(fetch_add, (void)shmem_long_atomic_fetch_add(word, 1, 0))

int main(int count, char **names) {
  const mode_t_ modes[] = {
      MODE(add), MODE(set), MODE(and), MODE(or), MODE(xor), MODE(increment), MODE(put), MODE(static_add),
      MODE(large_put), MODE(fetch_add),
  };
  shmem_init();
  truth_begin(shmem_my_pe(), shmem_n_pes());
  word = shmem_calloc(1, sizeof *word);
  large = shmem_calloc(1, LARGE);
  barrier(0);
  RUN_MODES(count, names, modes, barrier);
  truth_end();
  shmem_finalize();
  return 0;
}
