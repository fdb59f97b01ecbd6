/*
 * A program that is linked dynamically with the C library musl, into which no library for glibc can be loaded.
 *
 *   musl-gcc -O2 -o hello_musl hello_musl.c
 *   ./hello_musl
 *
 * Prints "hello, musl", exit code 3.
 */
#include <stdio.h>

int main(void) {
  puts("hello, musl");
  return 3;
}
