/* Prints what the loader answers where the answer depends on who asks, and what it says about failures.
 *
 *   cc -O1 -g -rdynamic -Wl,-rpath,'$ORIGIN/apart' -o loader_semantics loader_semantics.c
 *
 * In apart/ is a library loader_apart.so, made from loader_apart.c.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int probe_me(void) { return 1; }
int who(void) { return 1; }
int tool_lookups __attribute__((weak));

static const char *in(void *at) {
  Dl_info info;
  if (!at)
    return "nothing";
  if (!dladdr(at, &info))
    return "somewhere";
  const char *name = strrchr(info.dli_fname, '/');
  return name ? name + 1 : info.dli_fname;
}

int main(void) {
  /* The library is found by the search path of this program. */
  void *apart = dlopen("loader_apart.so", RTLD_NOW);
  printf("opened %d %s\n", apart != 0, apart ? "" : dlerror());
  int (*next_of)(void) = apart ? (int (*)(void))dlsym(apart, "next_of") : 0;
  printf("next of the library %d\n", next_of ? next_of() : -1);
  printf("next of the program %s\n", in(dlsym(RTLD_NEXT, "who")));
  printf("default %s\n", in(dlsym(RTLD_DEFAULT, "who")));
  printf("of the library %s\n", in(dlsym(apart, "who")));
  dlerror();
  printf("absent %s", in(dlsym(apart, "MPI_No_such_function")));
  const char *error = dlerror();
  printf(" %s\n", error && strstr(error, "undefined symbol: MPI_No_such_function") ? "told" : "untold");
  dlsym(apart, "who");
  printf("no error left %d\n", dlerror() == 0);
  void *real = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  printf("dlsym of the C library %s\n", in(dlsym(real, "dlsym")));
  dlsym(RTLD_DEFAULT, "probe_me");
  dlsym(apart, "probe_me");
  printf("lookups %d\n", &tool_lookups ? tool_lookups : 0);
  return 0;
}
