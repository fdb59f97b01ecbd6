/* A library that asks for the next function of a name after itself, for loader_semantics.c.
 *
 *   cc -O1 -g -shared -fPIC -o apart/loader_apart.so loader_apart.c
 */
#define _GNU_SOURCE
#include <dlfcn.h>

int who(void) { return 2; }

/* None is after this library; the program and libraries before it do not count. */
int next_of(void) { return dlsym(RTLD_NEXT, "who") != 0; }
