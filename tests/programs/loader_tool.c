/* A tool that is preloaded and intercepts malloc, through RTLD_NEXT, and dlsym, of which it counts the calls for one name.
 *
 *   cc -O1 -g -shared -fPIC -o loader_tool.so loader_tool.c
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

int tool_lookups;
long tool_allocations;

void *malloc(size_t size) {
  static void *(*next)(size_t);
  if (!next)
    next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
  tool_allocations++;
  return next(size);
}

void *tool_next(void) { return dlsym(RTLD_NEXT, "free"); }

#ifdef COUNTS_LOOKUPS
#ifdef __aarch64__
#define VERSION "GLIBC_2.17"
#else
#define VERSION "GLIBC_2.2.5"
#endif
void *dlsym(void *handle, const char *name) {
  static void *(*next)(void *, const char *);
  if (!next)
    next = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", VERSION);
  if (strcmp(name, "probe_me") == 0)
    tool_lookups++;
  return next(handle, name);
}
#endif
