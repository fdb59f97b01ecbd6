/*
 * A program that looks whether an OpenSHMEM runtime is there, and is not linked
 * with one: many libraries do this to stay usable without.
 *
 *   gcc -O2 -g -fPIE -pie -o probe probe.c -ldl
 *   ./probe
 *
 * Prints, and exits with 0:
 *
 *   weak shmem_init: absent
 *   dlsym shmem_init: absent
 *   dlsym pshmem_init: absent
 *   runtime: absent
 *
 * A preloaded library that defines shmem_init makes the first two lines say
 * "present"; nothing the library does at run time can change that, because the
 * dynamic linker answers both. The third and fourth line must stay as they
 * are: the program takes a runtime for present only if the pshmem_ name is
 * there too. With "./probe trust" it goes by shmem_init alone, as a less
 * careful program would, and calls shmem_my_pe through it without having
 * initialised; then one more line tells what came back:
 *
 *   shmem_my_pe: not called          (no runtime: dlsym found nothing)
 *   shmem_my_pe: -1                  (hook without runtime: some harmless value)
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

extern void shmem_init(void) __attribute__((weak));

static const char *presence(int present) { return present ? "present" : "absent"; }

static void trust(int present) {
  int (*my_pe)(void) = NULL;
  *(void **)&my_pe = present ? dlsym(RTLD_DEFAULT, "shmem_my_pe") : NULL;
  if (my_pe) printf("shmem_my_pe: %d\n", my_pe());
  else puts("shmem_my_pe: not called");
}

int main(int argc, char **argv) {
  int by_weak = shmem_init != NULL;
  int by_name = dlsym(RTLD_DEFAULT, "shmem_init") != NULL;
  int by_twin = dlsym(RTLD_DEFAULT, "pshmem_init") != NULL;
  printf("weak shmem_init: %s\n", presence(by_weak));
  printf("dlsym shmem_init: %s\n", presence(by_name));
  printf("dlsym pshmem_init: %s\n", presence(by_twin));
  printf("runtime: %s\n", presence(by_twin));
  if (argc > 1 && strcmp(argv[1], "trust") == 0) trust(by_name);
  return 0;
}
