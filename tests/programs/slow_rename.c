/* A library to preload: in the process whose rank is in SLOW_RANK, the first rename of an event file takes SLOW_SECONDS.
 * So does a file system that hangs for one process when a recording ends. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_slow(void) {
  const char *slow = getenv("SLOW_RANK"), *rank = getenv("OMPI_COMM_WORLD_RANK");
  if (!rank)
    rank = getenv("PMI_RANK");
  return slow && rank && !strcmp(slow, rank);
}

int rename(const char *from, const char *to) {
  static int seen;
  const char *seconds = getenv("SLOW_SECONDS");
  if (seconds && strstr(to, ".evt") && is_slow() && !seen++)
    sleep((unsigned)atoi(seconds));
  int (*real)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
  return real(from, to);
}
