/*
 * A statically linked program: no preloaded library can reach it.
 *
 *   gcc -O2 -g -static -o hello_static hello_static.c
 *   ./hello_static
 *
 * Prints "hello, statically", exit code 0.
 */
#include <stdio.h>

int main(void) {
  puts("hello, statically");
  return 0;
}
