/* Ends an OpenSHMEM program in ways that the standard allows, but in which not all PEs call shmem_finalize at the same
 * time, or at all. What the last PE does is the first argument:
 *
 *   return           returns from main; the other PEs call shmem_finalize
 *   exit             calls exit(4)
 *   late SECONDS     calls shmem_finalize that much later than the others
 *   early SECONDS    returns from main; the others call shmem_finalize that much later
 *   all              all PEs return from main
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "all";
  unsigned seconds = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
  shmem_init();
  int me = shmem_my_pe(), pes = shmem_n_pes(), last = me == pes - 1;
  long *cells = shmem_calloc(pes, sizeof *cells);
  for (int i = 0; i < 20; i++) {
    shmem_long_p(&cells[me], i, (me + 1) % pes);
    shmem_barrier_all();
  }
  printf("PE %d has %ld\n", me, cells[(me + pes - 1) % pes]);
  fflush(stdout);
  if (!strcmp(mode, "all") || last && (!strcmp(mode, "return") || !strcmp(mode, "early")))
    return 0;
  if (last && !strcmp(mode, "exit"))
    exit(4);
  if (last ? !strcmp(mode, "late") : !strcmp(mode, "early"))
    sleep(seconds);
  shmem_finalize();
  return 0;
}
