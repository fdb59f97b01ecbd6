/*
 * Counts the OpenSHMEM calls a program makes, and their bytes, so that a trace
 * of the program can be compared with what the program did.
 *
 *   CALL(shmem_quiet, 0)                                calls and counts
 *   CALL(shmem_double_get, 8 * n, dst, src, n, pe)      counts 8 * n bytes too
 *   count_print_and_finalize()                          prints, then finalizes
 *
 * One line per function and PE, sorted by PE and then by name:
 *
 *   count pe=0 shmem_double_get=12 bytes=9600
 *
 * PE 0 prints the lines of all PEs, so their order never changes. The calls
 * that this takes (a barrier, and at PE 0 one shmem_getmem per other PE) and
 * the final shmem_finalize are in the counts as well.
 *
 * Bytes of a call:
 *   put, get, p, g, strided and non-blocking forms: bytes transferred
 *   atomics: operand bytes sent plus result bytes received, so add and set 1,
 *     inc 0, fetch and fetch_inc 1, swap and fetch_<op> 2, compare_swap 3
 *     times the size of the type
 *   broadcast, collect, alltoall, reductions: the length argument in bytes
 *   memory: bytes asked for
 *   everything else: 0
 */
#ifndef COUNT_H
#define COUNT_H

#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_SLOTS 2048
#define COUNT_TEXT (128 * 1024)

#define COUNT(function, nbytes) count_add(#function, (long)(nbytes))
#define CALL(function, nbytes, ...) \
  (COUNT(function, nbytes), function(__VA_ARGS__))

struct count {
  const char *name;
  long calls;
  long bytes;
};

static struct count count_table[COUNT_SLOTS];
static char count_text[COUNT_TEXT]; /* symmetric: PE 0 reads it */

static struct count *count_find(const char *name) {
  unsigned hash = 5381;
  for (const char *c = name; *c; c++) hash = hash * 33 + (unsigned char)*c;
  struct count *entry = &count_table[hash % COUNT_SLOTS];
  while (entry->name && strcmp(entry->name, name) != 0) {
    if (++entry == count_table + COUNT_SLOTS) entry = count_table;
  }
  entry->name = name;
  return entry;
}

static inline void count_many(const char *name, long calls, long bytes) {
  struct count *entry = count_find(name);
  entry->calls += calls;
  entry->bytes += bytes;
}

static inline void count_add(const char *name, long bytes) {
  count_many(name, 1, bytes);
}

static int count_by_name(const void *a, const void *b) {
  const struct count *x = a, *y = b;
  if (!x->name || !y->name) return !x->name - !y->name;
  return strcmp(x->name, y->name);
}

/* Writes the lines of this PE. Sorting ends counting. */
static size_t count_format(char *text, size_t size, int pe) {
  size_t used = 0;
  qsort(count_table, COUNT_SLOTS, sizeof(struct count), count_by_name);
  text[0] = '\0';
  for (int i = 0; i < COUNT_SLOTS && count_table[i].name; i++) {
    int n = snprintf(text + used, size - used, "count pe=%d %s=%ld bytes=%ld\n",
                     pe, count_table[i].name, count_table[i].calls,
                     count_table[i].bytes);
    if (n < 0 || (size_t)n >= size - used) {
      fprintf(stderr, "count.h: text buffer too small\n");
      abort();
    }
    used += (size_t)n;
  }
  return used;
}

static inline void count_print_and_finalize(int me, int npes) {
  COUNT(shmem_barrier_all, 0);
  if (me == 0) count_many("shmem_getmem", npes - 1, (npes - 1L) * COUNT_TEXT);
  COUNT(shmem_barrier_all, 0);
  COUNT(shmem_finalize, 0);
  count_format(count_text, sizeof count_text, me);

  shmem_barrier_all();
  if (me == 0) {
    char *text = malloc(COUNT_TEXT);
    if (!text) abort();
    fputs(count_text, stdout);
    for (int pe = 1; pe < npes; pe++) {
      shmem_getmem(text, count_text, COUNT_TEXT, pe);
      fputs(text, stdout);
    }
    free(text);
    fflush(stdout);
  }
  shmem_barrier_all();
  shmem_finalize();
}

#endif
