/* Opens a plug-in whose references are resolved among its own libraries first, and runs it. The second argument says
 * whether they are resolved at once or when they are used.
 *
 *   cc -O1 -g -o loader_deep loader_deep.c
 *   ./loader_deep ./loader_plugin.so now|lazy
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  int when = argc > 2 && strcmp(argv[2], "lazy") == 0 ? RTLD_LAZY : RTLD_NOW;
  void *plugin = argc > 1 ? dlopen(argv[1], when | RTLD_DEEPBIND) : 0;
  void (*run)(void) = plugin ? (void (*)(void))dlsym(plugin, "run") : 0;
  if (!run) {
    printf("%s\n", dlerror());
    return 1;
  }
  run();
  return 0;
}
