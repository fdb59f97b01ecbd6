/*
 * Calls every function that Open MPI's OpenSHMEM 1.4 exports: all types of all
 * families, with and without context, the deprecated names, the shmemx
 * extensions and the old SGI names. Every result is checked, and every call
 * counted with its bytes (the lines are described in examples/common/count.h).
 *
 *   oshcc -O2 -g -o families families.c
 *   oshrun -np 4 ./families [init|init_thread|start_pes|cswap32]
 *
 * Prints "families ok" and the counts, exit code 0; or what was wrong, on
 * stderr, and exit code 1. Needs 2 to 8 PEs.
 *
 * Compare-and-swap on 4 bytes is called only with "cswap32", and then nothing
 * else, because Open MPI 4.1.4 overwrites its own stack in it and aborts. Run
 * that one with "oshrun -mca atomic basic", where other atomics do not work.
 *
 * Not called: shmem_global_exit, which die.c calls.
 */
#include <complex.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../../examples/common/count.h"

#define MAX_PES 8
#define SLOTS 32

static int me, npes, next, prev;
static shmem_ctx_t ctx;
static int failures;

/* Symmetric memory that the families share; zeroed by `fresh`. */
static char *target, *source, *work;
#define REGION 4096

static long sync_words[2][SHMEM_SYNC_SIZE];
static int turn; /* pSync arrays take turns */

static void check(int good, const char *what, int line) {
  if (good) return;
  fprintf(stderr, "families: PE %d: line %d: wrong: %s\n", me, line, what);
  failures++;
}
#define CHECK(condition, what) check((condition) != 0, what, __LINE__)

static void barrier(void) { CALL(shmem_barrier_all, 0); }

static long *psync(void) {
  turn = !turn;
  return sync_words[turn];
}

/* Zeroes the target everywhere, and lets no one write before that. */
static void fresh(void) {
  barrier();
  memset(target, 0, REGION);
  barrier();
}

/* What PE `pe` puts into its slot `i`: small enough for a char. */
#define VALUE(T, pe, i) ((T)(((pe) % 4) * 30 + (i) % 30 + 1))

#define RMA_TYPES(X)                                                           \
  X(float, float) X(double, double) X(longdouble, long double)                 \
  X(char, char) X(schar, signed char) X(short, short) X(int, int)              \
  X(long, long) X(longlong, long long) X(uchar, unsigned char)                 \
  X(ushort, unsigned short) X(uint, unsigned int) X(ulong, unsigned long)      \
  X(ulonglong, unsigned long long) X(int8, int8_t) X(int16, int16_t)           \
  X(int32, int32_t) X(int64, int64_t) X(uint8, uint8_t) X(uint16, uint16_t)    \
  X(uint32, uint32_t) X(uint64, uint64_t) X(size, size_t) X(ptrdiff, ptrdiff_t)

#define AMO_TYPES(X)                                                           \
  X(int, int) X(long, long) X(longlong, long long) X(uint, unsigned int)       \
  X(ulong, unsigned long) X(ulonglong, unsigned long long)

#define AMO_EXTENDED_TYPES(X) AMO_TYPES(X) X(float, float) X(double, double)

#define AMO_BITWISE_TYPES(X)                                                   \
  AMO_TYPES(X) X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t)         \
  X(uint64, uint64_t)

#define WAIT_TYPES(X)                                                          \
  X(short, short) X(int, int) X(long, long) X(longlong, long long)             \
  X(ushort, unsigned short) X(uint, unsigned int) X(ulong, unsigned long)      \
  X(ulonglong, unsigned long long) X(int32, int32_t) X(int64, int64_t)         \
  X(uint32, uint32_t) X(uint64, uint64_t) X(size, size_t) X(ptrdiff, ptrdiff_t)

/* ------------------------------------------------------------------------ */
/* put and get                                                              */

#define CHECK_RANGE(T, array, first, stride, n, pe, what)                      \
  for (int i_ = 0; i_ < (n); i_++)                                             \
  CHECK((array)[(first) + i_ * (stride)] == VALUE(T, pe, (first) + i_), what)

#define TYPED_RMA(name, T)                                                     \
  static void put_##name(void) {                                               \
    T *t = (T *)target, *s = (T *)source;                                      \
    fresh();                                                                   \
    for (int i = 0; i < SLOTS; i++) s[i] = VALUE(T, me, i);                    \
    CALL(shmem_##name##_p, sizeof(T), &t[0], s[0], next);                      \
    CALL(shmem_ctx_##name##_p, sizeof(T), ctx, &t[1], s[1], next);             \
    CALL(shmem_##name##_put, 2 * sizeof(T), &t[2], &s[2], 2, next);            \
    CALL(shmem_ctx_##name##_put, 2 * sizeof(T), ctx, &t[4], &s[4], 2, next);   \
    CALL(shmem_##name##_put_nbi, 3 * sizeof(T), &t[6], &s[6], 3, next);        \
    CALL(shmem_ctx_##name##_put_nbi, 3 * sizeof(T), ctx, &t[9], &s[9], 3,      \
         next);                                                                \
    CALL(shmem_##name##_iput, 3 * sizeof(T), &t[12], &s[12], 2, 1, 3, next);   \
    CALL(shmem_ctx_##name##_iput, 3 * sizeof(T), ctx, &t[20], &s[20], 2, 1, 3, \
         next);                                                                \
    CALL(shmem_quiet, 0);                                                      \
    CALL(shmem_ctx_quiet, 0, ctx);                                             \
    barrier();                                                                 \
    CHECK_RANGE(T, t, 0, 1, 12, prev, #name " p and put");                     \
    CHECK_RANGE(T, t, 12, 2, 3, prev, #name " iput");                          \
    CHECK_RANGE(T, t, 20, 2, 3, prev, #name " ctx iput");                      \
    CHECK(t[13] == 0 && t[15] == 0 && t[19] == 0, #name " iput gaps");         \
  }                                                                            \
  static void get_##name(void) {                                               \
    T *s = (T *)source, t[SLOTS] = {0};                                        \
    barrier();                                                                 \
    t[0] = CALL(shmem_##name##_g, sizeof(T), &s[0], next);                     \
    t[1] = CALL(shmem_ctx_##name##_g, sizeof(T), ctx, &s[1], next);            \
    CALL(shmem_##name##_get, 2 * sizeof(T), &t[2], &s[2], 2, next);            \
    CALL(shmem_ctx_##name##_get, 2 * sizeof(T), ctx, &t[4], &s[4], 2, next);   \
    CALL(shmem_##name##_get_nbi, 3 * sizeof(T), &t[6], &s[6], 3, next);        \
    CALL(shmem_ctx_##name##_get_nbi, 3 * sizeof(T), ctx, &t[9], &s[9], 3,      \
         next);                                                                \
    CALL(shmem_##name##_iget, 3 * sizeof(T), &t[12], &s[12], 2, 1, 3, next);   \
    CALL(shmem_ctx_##name##_iget, 3 * sizeof(T), ctx, &t[20], &s[20], 2, 1, 3, \
         next);                                                                \
    CALL(shmem_quiet, 0);                                                      \
    CALL(shmem_ctx_quiet, 0, ctx);                                             \
    CHECK_RANGE(T, t, 0, 1, 12, next, #name " g and get");                     \
    CHECK_RANGE(T, t, 12, 2, 3, next, #name " iget");                          \
    CHECK_RANGE(T, t, 20, 2, 3, next, #name " ctx iget");                      \
  }
RMA_TYPES(TYPED_RMA)

static void typed_rma(void) {
#define RUN(name, T) put_##name(); get_##name();
  RMA_TYPES(RUN)
#undef RUN
}

/* The bytes of PE `pe` in sized transfers. */
static unsigned char byte_of(int pe, int i) {
  return (unsigned char)(pe * 61 + i * 7 + 3);
}

static void fill_bytes(void) {
  for (int i = 0; i < REGION; i++) ((unsigned char *)source)[i] = byte_of(me, i);
}

/* Is array[0..n) what PE `pe` has at source[from..from + n)? */
static int same_bytes(const char *array, int pe, int from, int n) {
  for (int i = 0; i < n; i++)
    if ((unsigned char)array[i] != byte_of(pe, from + i)) return 0;
  return 1;
}

#define SIZED_RMA(BITS)                                                        \
  static void sized_##BITS(void) {                                             \
    enum { B = BITS / 8 };                                                     \
    char *t = target, *s = source;                                             \
    fresh();                                                                   \
    fill_bytes();                                                              \
    CALL(shmem_put##BITS, 2 * B, t, s, 2, next);                               \
    CALL(shmem_ctx_put##BITS, 2 * B, ctx, t + 2 * B, s + 2 * B, 2, next);      \
    CALL(shmem_put##BITS##_nbi, 2 * B, t + 4 * B, s + 4 * B, 2, next);         \
    CALL(shmem_ctx_put##BITS##_nbi, 2 * B, ctx, t + 6 * B, s + 6 * B, 2,       \
         next);                                                                \
    CALL(shmem_iput##BITS, 2 * B, t + 8 * B, s + 8 * B, 2, 1, 2, next);        \
    CALL(shmem_ctx_iput##BITS, 2 * B, ctx, t + 12 * B, s + 12 * B, 1, 2, 2,    \
         next);                                                                \
    CALL(shmem_quiet, 0);                                                      \
    CALL(shmem_ctx_quiet, 0, ctx);                                             \
    barrier();                                                                 \
    CHECK(same_bytes(t, prev, 0, 8 * B), "put" #BITS);                         \
    CHECK(same_bytes(t + 8 * B, prev, 8 * B, B) &&                             \
              same_bytes(t + 10 * B, prev, 9 * B, B), "iput" #BITS);           \
    CHECK(same_bytes(t + 12 * B, prev, 12 * B, B) &&                           \
              same_bytes(t + 13 * B, prev, 14 * B, B), "ctx_iput" #BITS);      \
    barrier();                                                                 \
    memset(t, 0, REGION);                                                      \
    CALL(shmem_get##BITS, 2 * B, t, s, 2, next);                               \
    CALL(shmem_ctx_get##BITS, 2 * B, ctx, t + 2 * B, s + 2 * B, 2, next);      \
    CALL(shmem_get##BITS##_nbi, 2 * B, t + 4 * B, s + 4 * B, 2, next);         \
    CALL(shmem_ctx_get##BITS##_nbi, 2 * B, ctx, t + 6 * B, s + 6 * B, 2,       \
         next);                                                                \
    CALL(shmem_iget##BITS, 2 * B, t + 8 * B, s + 8 * B, 2, 1, 2, next);        \
    CALL(shmem_ctx_iget##BITS, 2 * B, ctx, t + 12 * B, s + 12 * B, 1, 2, 2,    \
         next);                                                                \
    CALL(shmem_quiet, 0);                                                      \
    CALL(shmem_ctx_quiet, 0, ctx);                                             \
    CHECK(same_bytes(t, next, 0, 8 * B), "get" #BITS);                         \
    CHECK(same_bytes(t + 8 * B, next, 8 * B, B) &&                             \
              same_bytes(t + 10 * B, next, 9 * B, B), "iget" #BITS);           \
    CHECK(same_bytes(t + 12 * B, next, 12 * B, B) &&                           \
              same_bytes(t + 13 * B, next, 14 * B, B), "ctx_iget" #BITS);      \
  }
SIZED_RMA(8)
SIZED_RMA(16)
SIZED_RMA(32)
SIZED_RMA(64)
SIZED_RMA(128)

static void mem_rma(void) {
  char *t = target, *s = source;
  fresh();
  fill_bytes();
  CALL(shmem_putmem, 10, t, s, 10, next);
  CALL(shmem_ctx_putmem, 20, ctx, t + 10, s + 10, 20, next);
  CALL(shmem_putmem_nbi, 30, t + 30, s + 30, 30, next);
  CALL(shmem_ctx_putmem_nbi, 40, ctx, t + 60, s + 60, 40, next);
  CALL(shmem_fence, 0);
  CALL(shmem_ctx_fence, 0, ctx);
  CALL(shmem_putmem, 0, t, s, 0, next); /* nothing to move */
  CALL(shmem_quiet, 0);
  CALL(shmem_ctx_quiet, 0, ctx);
  barrier();
  CHECK(same_bytes(t, prev, 0, 100), "putmem");
  barrier();
  memset(t, 0, REGION);
  CALL(shmem_getmem, 10, t, s, 10, next);
  CALL(shmem_ctx_getmem, 20, ctx, t + 10, s + 10, 20, next);
  CALL(shmem_getmem_nbi, 30, t + 30, s + 30, 30, next);
  CALL(shmem_ctx_getmem_nbi, 40, ctx, t + 60, s + 60, 40, next);
  CALL(shmem_quiet, 0);
  CALL(shmem_ctx_quiet, 0, ctx);
  CHECK(same_bytes(t, next, 0, 100), "getmem");
}

static void sized_rma(void) {
  sized_8();
  sized_16();
  sized_32();
  sized_64();
  sized_128();
  mem_rma();
}

/* ------------------------------------------------------------------------ */
/* atomics: every slot has one origin only, so all results are known        */

#define AMO(name, T)                                                           \
  static void amo_##name(void) {                                               \
    T *t = (T *)target;                                                        \
    const long z = sizeof(T);                                                  \
    fresh();                                                                   \
    CALL(shmem_##name##_atomic_add, z, &t[0], 5, next);                        \
    CALL(shmem_ctx_##name##_atomic_add, z, ctx, &t[1], 6, next);               \
    CALL(shmem_##name##_atomic_inc, 0, &t[2], next);                           \
    CALL(shmem_ctx_##name##_atomic_inc, 0, ctx, &t[3], next);                  \
    CALL(shmem_quiet, 0);                                                      \
    CALL(shmem_ctx_quiet, 0, ctx);                                             \
    CHECK(CALL(shmem_##name##_atomic_fetch_add, 2 * z, &t[0], 2, next) == 5,   \
          #name " fetch_add");                                                 \
    CHECK(CALL(shmem_ctx_##name##_atomic_fetch_add, 2 * z, ctx, &t[1], 3,      \
               next) == 6, #name " ctx fetch_add");                            \
    CHECK(CALL(shmem_##name##_atomic_fetch_inc, z, &t[2], next) == 1,          \
          #name " fetch_inc");                                                 \
    CHECK(CALL(shmem_ctx_##name##_atomic_fetch_inc, z, ctx, &t[3], next) == 1, \
          #name " ctx fetch_inc");                                             \
    barrier();                                                                 \
    CHECK(t[0] == 7 && t[1] == 9 && t[2] == 2 && t[3] == 2, #name " atomics"); \
  }                                                                            \
  static void cswap_##name(void) {                                             \
    T *t = (T *)target;                                                        \
    const long z = sizeof(T);                                                  \
    fresh();                                                                   \
    CHECK(CALL(shmem_##name##_atomic_compare_swap, 3 * z, &t[0], 0, 9,         \
               next) == 0, #name " compare_swap");                             \
    CHECK(CALL(shmem_ctx_##name##_atomic_compare_swap, 3 * z, ctx, &t[1], 7,   \
               8, next) == 0, #name " ctx compare_swap");                      \
    barrier();                                                                 \
    CHECK(t[0] == 9 && t[1] == 0, #name " compare_swap");                      \
  }
AMO_TYPES(AMO)

#define AMO_EXTENDED(name, T)                                                  \
  static void amo_extended_##name(void) {                                      \
    T *t = (T *)target;                                                        \
    const long z = sizeof(T);                                                  \
    fresh();                                                                   \
    CALL(shmem_##name##_atomic_set, z, &t[0], 5, next);                        \
    CALL(shmem_ctx_##name##_atomic_set, z, ctx, &t[1], 6, next);               \
    CALL(shmem_quiet, 0);                                                      \
    CALL(shmem_ctx_quiet, 0, ctx);                                             \
    CHECK(CALL(shmem_##name##_atomic_swap, 2 * z, &t[0], 7, next) == 5,        \
          #name " swap");                                                      \
    CHECK(CALL(shmem_ctx_##name##_atomic_swap, 2 * z, ctx, &t[1], 8, next) ==  \
          6, #name " ctx swap");                                               \
    CHECK(CALL(shmem_##name##_atomic_fetch, z, &t[0], next) == 7,              \
          #name " fetch");                                                     \
    CHECK(CALL(shmem_ctx_##name##_atomic_fetch, z, ctx, &t[1], next) == 8,     \
          #name " ctx fetch");                                                 \
    barrier();                                                                 \
    CHECK(t[0] == 7 && t[1] == 8, #name " set and swap");                      \
  }
AMO_EXTENDED_TYPES(AMO_EXTENDED)

/*
 * One bitwise operation on slots i to i + 3, which hold 12. The fetching forms
 * get 12 as operand too, because Open MPI 4.1.4 over shared memory combines the
 * old value with itself instead of with the operand.
 */
#define BITWISE(name, op, OP, i)                                               \
  CALL(shmem_##name##_atomic_##op, z, &t[i], 10, next);                        \
  CALL(shmem_ctx_##name##_atomic_##op, z, ctx, &t[i + 1], 10, next);           \
  CHECK(CALL(shmem_##name##_atomic_fetch_##op, 2 * z, &t[i + 2], 12, next) ==  \
        12, #name " fetch_" #op);                                              \
  CHECK(CALL(shmem_ctx_##name##_atomic_fetch_##op, 2 * z, ctx, &t[i + 3], 12,  \
             next) == 12, #name " ctx fetch_" #op);                            \
  right[i] = right[i + 1] = 12 OP 10;                                          \
  right[i + 2] = right[i + 3] = 12 OP 12

#define AMO_BITWISE(name, T)                                                   \
  static void amo_bitwise_##name(void) {                                       \
    T *t = (T *)target, right[12];                                             \
    const long z = sizeof(T);                                                  \
    barrier();                                                                 \
    for (int i = 0; i < 12; i++) t[i] = 12;                                    \
    barrier();                                                                 \
    BITWISE(name, and, &, 0);                                                  \
    BITWISE(name, or, |, 4);                                                   \
    BITWISE(name, xor, ^, 8);                                                  \
    CALL(shmem_quiet, 0);                                                      \
    CALL(shmem_ctx_quiet, 0, ctx);                                             \
    barrier();                                                                 \
    CHECK(memcmp(t, right, sizeof right) == 0, #name " bitwise");              \
  }
AMO_BITWISE_TYPES(AMO_BITWISE)

/* The names of OpenSHMEM 1.3 and before; shmemx has them for int32, int64. */
#define OLD_AMO(prefix, name, T)                                               \
  static void old_amo_##prefix##_##name(void) {                                \
    T *t = (T *)target;                                                        \
    const long z = sizeof(T);                                                  \
    fresh();                                                                   \
    CALL(prefix##_##name##_set, z, &t[0], 4, next);                            \
    CALL(prefix##_##name##_add, z, &t[1], 5, next);                            \
    CALL(prefix##_##name##_inc, 0, &t[2], next);                               \
    CALL(shmem_quiet, 0);                                                      \
    CHECK(CALL(prefix##_##name##_swap, 2 * z, &t[0], 7, next) == 4, "swap");   \
    CHECK(CALL(prefix##_##name##_fadd, 2 * z, &t[1], 2, next) == 5, "fadd");   \
    CHECK(CALL(prefix##_##name##_finc, z, &t[2], next) == 1, "finc");          \
    CHECK(CALL(prefix##_##name##_fetch, z, &t[2], next) == 2, "fetch");        \
    barrier();                                                                 \
    CHECK(t[0] == 7 && t[1] == 7 && t[2] == 2, #name " old atomics");          \
  }                                                                            \
  static void old_cswap_##prefix##_##name(void) {                              \
    T *t = (T *)target;                                                        \
    fresh();                                                                   \
    CHECK(CALL(prefix##_##name##_cswap, 3 * sizeof(T), &t[0], 0, 9, next) ==   \
          0, #name " cswap");                                                  \
    barrier();                                                                 \
    CHECK(t[0] == 9, #name " cswap");                                          \
  }
OLD_AMO(shmem, int, int)
OLD_AMO(shmem, long, long)
OLD_AMO(shmem, longlong, long long)
OLD_AMO(shmemx, int32, int32_t)
OLD_AMO(shmemx, int64, int64_t)

#define OLD_AMO_FLOATING(name, T)                                              \
  static void old_amo_##name(void) {                                           \
    T *t = (T *)target;                                                        \
    const long z = sizeof(T);                                                  \
    fresh();                                                                   \
    CALL(shmem_##name##_set, z, &t[0], 4, next);                               \
    CALL(shmem_quiet, 0);                                                      \
    CHECK(CALL(shmem_##name##_swap, 2 * z, &t[0], 7, next) == 4, "swap");      \
    CHECK(CALL(shmem_##name##_fetch, z, &t[0], next) == 7, "fetch");           \
    barrier();                                                                 \
  }
OLD_AMO_FLOATING(float, float)
OLD_AMO_FLOATING(double, double)

/* shmemx bitwise, without contexts. */
#define X_BITWISE(name, op, OP, i)                                             \
  CALL(shmemx_##name##_atomic_##op, z, &t[i], 10, next);                       \
  CHECK(CALL(shmemx_##name##_atomic_fetch_##op, 2 * z, &t[i + 1], 12, next) == \
        12, #name " fetch_" #op);                                              \
  right[i] = 12 OP 10;                                                         \
  right[i + 1] = 12 OP 12

#define X_AMO_BITWISE(name, T)                                                 \
  static void x_bitwise_##name(void) {                                         \
    T *t = (T *)target, right[6];                                              \
    const long z = sizeof(T);                                                  \
    barrier();                                                                 \
    for (int i = 0; i < 6; i++) t[i] = 12;                                     \
    barrier();                                                                 \
    X_BITWISE(name, and, &, 0);                                                \
    X_BITWISE(name, or, |, 2);                                                 \
    X_BITWISE(name, xor, ^, 4);                                                \
    CALL(shmem_quiet, 0);                                                      \
    barrier();                                                                 \
    CHECK(memcmp(t, right, sizeof right) == 0, #name " shmemx bitwise");       \
  }
X_AMO_BITWISE(int32, int32_t)
X_AMO_BITWISE(int64, int64_t)
X_AMO_BITWISE(uint32, uint32_t)
X_AMO_BITWISE(uint64, uint64_t)

static void atomics(void) {
#define RUN(name, T) amo_##name();
  AMO_TYPES(RUN)
#undef RUN
#define RUN(name, T) amo_extended_##name();
  AMO_EXTENDED_TYPES(RUN)
#undef RUN
#define RUN(name, T) amo_bitwise_##name();
  AMO_BITWISE_TYPES(RUN)
#undef RUN
  old_amo_shmem_int();
  old_amo_shmem_long();
  old_amo_shmem_longlong();
  old_amo_float();
  old_amo_double();
  cswap_long();
  cswap_ulong();
  cswap_longlong();
  cswap_ulonglong();
  old_cswap_shmem_long();
  old_cswap_shmem_longlong();
}

static void cswap32(void) {
  cswap_int();
  cswap_uint();
  old_cswap_shmem_int();
  old_cswap_shmemx_int32();
}

/* ------------------------------------------------------------------------ */
/* waiting                                                                  */

#define WAIT(name, T)                                                          \
  static void wait_##name(void) {                                              \
    T *t = (T *)target;                                                        \
    fresh();                                                                   \
    CHECK(CALL(shmem_##name##_test, 0, &t[0], SHMEM_CMP_EQ, 1) == 0, "test");  \
    barrier();                                                                 \
    CALL(shmem_##name##_p, sizeof(T), &t[0], 1, next);                         \
    CALL(shmem_quiet, 0);                                                      \
    CALL(shmem_##name##_wait_until, 0, &t[0], SHMEM_CMP_GE, 1);                \
    CHECK(t[0] == 1, #name " wait_until");                                     \
    CHECK(CALL(shmem_##name##_test, 0, &t[0], SHMEM_CMP_NE, 0) != 0, "test");  \
  }
WAIT_TYPES(WAIT)

#define OLD_WAIT(function, put, T)                                             \
  static void old_##function(void) {                                           \
    T *t = (T *)target;                                                        \
    fresh();                                                                   \
    CALL(put, sizeof(T), &t[0], 3, next);                                      \
    CALL(shmem_quiet, 0);                                                      \
    CALL(function, 0, &t[0], 0);                                               \
    CHECK(t[0] == 3, #function);                                               \
  }
OLD_WAIT(shmem_short_wait, shmem_short_p, short)
OLD_WAIT(shmem_int_wait, shmem_int_p, int)
OLD_WAIT(shmem_long_wait, shmem_long_p, long)
OLD_WAIT(shmem_longlong_wait, shmem_longlong_p, long long)
OLD_WAIT(shmem_wait, shmem_long_p, long)
OLD_WAIT(shmemx_int32_wait, shmemx_int32_p, int32_t)
OLD_WAIT(shmemx_int64_wait, shmemx_int64_p, int64_t)

static void waits(void) {
#define RUN(name, T) wait_##name();
  WAIT_TYPES(RUN)
#undef RUN
  old_shmem_short_wait();
  old_shmem_int_wait();
  old_shmem_long_wait();
  old_shmem_longlong_wait();
  old_shmem_wait();
}

/* ------------------------------------------------------------------------ */
/* reductions: PE p contributes p + 1 and p + 2                             */

#define REDUCE(prefix, name, T, op, identity, COMBINE)                         \
  static void prefix##_##name##_##op(void) {                                   \
    T *t = (T *)target, *s = (T *)source, right[2] = {identity, identity};     \
    fresh();                                                                   \
    for (int i = 0; i < 2; i++) {                                              \
      s[i] = (T)(me + i + 1);                                                  \
      for (int pe = 0; pe < npes; pe++) {                                      \
        T v = (T)(pe + i + 1);                                                 \
        right[i] = COMBINE(right[i], v);                                       \
      }                                                                        \
    }                                                                          \
    CALL(prefix##_##name##_##op##_to_all, 2 * sizeof(T), t, s, 2, 0, 0, npes,  \
         (T *)work, psync());                                                  \
    CHECK(t[0] == right[0] && t[1] == right[1], #prefix "_" #name "_" #op);    \
  }

#define AND(a, b) ((a) & (b))
#define OR(a, b) ((a) | (b))
#define XOR(a, b) ((a) ^ (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define SUM(a, b) ((a) + (b))
#define PROD(a, b) ((a) * (b))

#define REDUCE_BITS(X, p, name, T)                                             \
  X(p, name, T, and, -1, AND) X(p, name, T, or, 0, OR) X(p, name, T, xor, 0, XOR)
#define REDUCE_ORDER(X, p, name, T)                                            \
  X(p, name, T, max, 0, MAX) X(p, name, T, min, 127, MIN)
#define REDUCE_SUMS(X, p, name, T)                                             \
  X(p, name, T, sum, 0, SUM) X(p, name, T, prod, 1, PROD)

#define REDUCE_INTEGER(X, p, name, T)                                          \
  REDUCE_BITS(X, p, name, T) REDUCE_ORDER(X, p, name, T)                       \
  REDUCE_SUMS(X, p, name, T)
#define REDUCE_REAL(X, p, name, T)                                             \
  REDUCE_ORDER(X, p, name, T) REDUCE_SUMS(X, p, name, T)

#define REDUCTIONS(X)                                                          \
  REDUCE_INTEGER(X, shmem, short, short)                                       \
  REDUCE_INTEGER(X, shmem, int, int)                                           \
  REDUCE_INTEGER(X, shmem, long, long)                                         \
  REDUCE_INTEGER(X, shmem, longlong, long long)                                \
  REDUCE_REAL(X, shmem, float, float)                                          \
  REDUCE_REAL(X, shmem, double, double)                                        \
  REDUCE_REAL(X, shmem, longdouble, long double)                               \
  REDUCE_SUMS(X, shmem, complexf, float complex)                               \
  REDUCE_SUMS(X, shmem, complexd, double complex)
#define X_REDUCTIONS(X)                                                        \
  REDUCE_INTEGER(X, shmemx, int16, int16_t)                                    \
  REDUCE_INTEGER(X, shmemx, int32, int32_t)                                    \
  REDUCE_INTEGER(X, shmemx, int64, int64_t)

REDUCTIONS(REDUCE)
X_REDUCTIONS(REDUCE)

#define RUN_REDUCTION(prefix, name, T, op, identity, COMBINE)                  \
  prefix##_##name##_##op();

static void reductions(void) { REDUCTIONS(RUN_REDUCTION) }

/* ------------------------------------------------------------------------ */
/* the other collectives                                                    */

#define WORD(pe, i) ((pe) * 100 + (i) + 1)

#define COLLECTIVES(BITS, T)                                                   \
  static void broadcast_##BITS(void) {                                         \
    T *t = (T *)target, *s = (T *)source;                                      \
    fresh();                                                                   \
    for (int i = 0; i < 4; i++) s[i] = WORD(me, i);                            \
    CALL(shmem_broadcast##BITS, 4 * sizeof(T), t, s, 4, 1, 0, 0, npes,         \
         psync());                                                             \
    for (int i = 0; i < 4; i++)                                                \
      CHECK(t[i] == (me == 1 ? 0 : WORD(1, i)), "broadcast" #BITS);            \
  }                                                                            \
  static void collect_##BITS(void) {                                           \
    T *t = (T *)target, *s = (T *)source;                                      \
    int n = me + 1, at = 0; /* PE p has p + 1 words */                         \
    fresh();                                                                   \
    for (int i = 0; i < n; i++) s[i] = WORD(me, i);                            \
    CALL(shmem_collect##BITS, n * (long)sizeof(T), t, s, n, 0, 0, npes,        \
         psync());                                                             \
    for (int pe = 0; pe < npes; pe++)                                          \
      for (int i = 0; i <= pe; i++)                                            \
        CHECK(t[at++] == WORD(pe, i), "collect" #BITS);                        \
  }                                                                            \
  static void fcollect_##BITS(void) {                                          \
    T *t = (T *)target, *s = (T *)source;                                      \
    fresh();                                                                   \
    for (int i = 0; i < 3; i++) s[i] = WORD(me, i);                            \
    CALL(shmem_fcollect##BITS, 3 * sizeof(T), t, s, 3, 0, 0, npes, psync());   \
    for (int i = 0; i < 3 * npes; i++)                                         \
      CHECK(t[i] == WORD(i / 3, i % 3), "fcollect" #BITS);                     \
  }                                                                            \
  static void alltoall_##BITS(void) {                                          \
    T *t = (T *)target, *s = (T *)source;                                      \
    fresh();                                                                   \
    for (int i = 0; i < 2 * npes; i++) s[i] = WORD(me, i);                     \
    CALL(shmem_alltoall##BITS, 2 * sizeof(T), t, s, 2, 0, 0, npes, psync());   \
    for (int i = 0; i < 2 * npes; i++)                                         \
      CHECK(t[i] == WORD(i / 2, 2 * me + i % 2), "alltoall" #BITS);            \
  }                                                                            \
  static void alltoalls_##BITS(void) {                                         \
    T *t = (T *)target, *s = (T *)source;                                      \
    fresh();                                                                   \
    for (int i = 0; i < 3 * npes; i++) s[i] = WORD(me, i);                     \
    CALL(shmem_alltoalls##BITS, sizeof(T), t, s, 2, 3, 1, 0, 0, npes,          \
         psync());                                                             \
    for (int pe = 0; pe < npes; pe++)                                          \
      CHECK(t[2 * pe] == WORD(pe, 3 * me), "alltoalls" #BITS);                 \
  }
COLLECTIVES(32, int32_t)
COLLECTIVES(64, int64_t)

static void collectives(void) {
  broadcast_32();
  broadcast_64();
  collect_32();
  collect_64();
  fcollect_32();
  fcollect_64();
  alltoall_32();
  alltoall_64();
  alltoalls_32();
  alltoalls_64();
  CALL(shmem_barrier, 0, 0, 0, npes, psync());
  CALL(shmem_sync, 0, 0, 0, npes, psync());
  CALL(shmem_sync_all, 0);
}

/* ------------------------------------------------------------------------ */
/* locks, memory, queries, cache, shmemx, SGI                               */

static long lock_word;
static long guarded;

static void locks(void) {
  barrier();
  CALL(shmem_set_lock, 0, &lock_word);
  long value = CALL(shmem_long_g, 8, &guarded, 0);
  CALL(shmem_long_p, 8, &guarded, value + 1, 0);
  CALL(shmem_quiet, 0);
  CALL(shmem_clear_lock, 0, &lock_word);
  barrier();
  CHECK(CALL(shmem_long_g, 8, &guarded, 0) == npes, "set_lock");
  barrier();
  if (me == 0) { /* taken, so PE 1 cannot have it; then free, and it can */
    CHECK(CALL(shmem_test_lock, 0, &lock_word) == 0, "test_lock of a free lock");
    barrier();
    barrier();
    CALL(shmem_clear_lock, 0, &lock_word);
  } else {
    barrier();
    if (me == 1)
      CHECK(CALL(shmem_test_lock, 0, &lock_word) != 0, "test_lock of a held lock");
    barrier();
  }
  barrier();
}

static void memory(void) {
  long *a = CALL(shmem_malloc, 800, 800);
  long *b = CALL(shmem_calloc, 800, 100, 8);
  char *c = CALL(shmem_align, 100, 4096, 100);
  CHECK(a && b && c, "malloc, calloc, align");
  CHECK((uintptr_t)c % 4096 == 0, "align");
  for (int i = 0; i < 100; i++) CHECK(b[i] == 0, "calloc");
  for (int i = 0; i < 100; i++) a[i] = i;
  a = CALL(shmem_realloc, 1600, a, 1600);
  for (int i = 0; i < 100; i++) CHECK(a[i] == i, "realloc");
  CHECK(CALL(shmem_ptr, 0, a, me) == a, "ptr of the own memory");
  long *there = CALL(shmem_ptr, 0, a, next);
  CHECK(!there || there[5] == 5, "ptr of the next PE's memory");
  barrier();
  CALL(shmem_free, 0, a);
  CALL(shmem_free, 0, b);
  CALL(shmem_free, 0, c);
  char *h = CALL(shmemx_malloc_with_hint, 128, 128, 0);
  CHECK(h != NULL, "malloc_with_hint");
  CALL(shmem_free, 0, h);
}

static void queries(void) {
  int major = 0, minor = 0, level = -1;
  char name[SHMEM_MAX_NAME_LEN] = "";
  CALL(shmem_info_get_version, 0, &major, &minor);
  CALL(shmem_info_get_name, 0, name);
  CALL(shmem_query_thread, 0, &level);
  CHECK(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION, "version");
  CHECK(strcmp(name, SHMEM_VENDOR_STRING) == 0, "name");
  CHECK(level >= SHMEM_THREAD_SINGLE && level <= SHMEM_THREAD_MULTIPLE, "level");
  CHECK(CALL(shmem_pe_accessible, 0, next) == 1, "pe_accessible");
  CHECK(CALL(shmem_pe_accessible, 0, npes) == 0, "pe_accessible beyond");
  CHECK(CALL(shmem_addr_accessible, 0, target, next) == 1, "addr_accessible");
  CHECK(CALL(shmem_my_pe, 0) == me && CALL(shmem_n_pes, 0) == npes, "my_pe");
}

static void cache(void) {
  CALL(shmem_set_cache_inv, 0);
  CALL(shmem_set_cache_line_inv, 0, target);
  CALL(shmem_clear_cache_inv, 0);
  CALL(shmem_clear_cache_line_inv, 0, target);
  CALL(shmem_udcflush, 0);
  CALL(shmem_udcflush_line, 0, target);
}

#define X_PG(name, T)                                                          \
  static void x_pg_##name(void) {                                              \
    T *t = (T *)target;                                                        \
    fresh();                                                                   \
    CALL(shmemx_##name##_p, sizeof(T), &t[0], (T)(me + 40), next);             \
    CALL(shmem_quiet, 0);                                                      \
    barrier();                                                                 \
    CHECK(t[0] == prev + 40, "shmemx_" #name "_p");                            \
    CHECK(CALL(shmemx_##name##_g, sizeof(T), &t[0], next) == me + 40,          \
          "shmemx_" #name "_g");                                               \
  }
X_PG(int16, int16_t)
X_PG(int32, int32_t)
X_PG(int64, int64_t)

#define X_WAIT_UNTIL(name, T)                                                  \
  static void x_wait_until_##name(void) {                                      \
    T *t = (T *)target;                                                        \
    fresh();                                                                   \
    CALL(shmemx_##name##_p, sizeof(T), &t[0], 2, next);                        \
    CALL(shmem_quiet, 0);                                                      \
    CALL(shmemx_##name##_wait_until, 0, &t[0], SHMEM_CMP_EQ, 2);               \
    CHECK(t[0] == 2, "shmemx_" #name "_wait_until");                           \
  }
X_WAIT_UNTIL(int32, int32_t)
X_WAIT_UNTIL(int64, int64_t)

static long arrived; /* how many PEs' words have come */

static void x_alltoall(void) {
  long *t = (long *)target, *s = (long *)source;
  fresh();
  arrived = 0;
  for (int i = 0; i < npes; i++) s[i] = WORD(me, i);
  barrier();
  CALL(shmemx_alltoall_global_nb, 8, t, s, 8, &arrived);
  CALL(shmem_long_wait_until, 0, &arrived, SHMEM_CMP_EQ, npes);
  for (int pe = 0; pe < npes; pe++)
    CHECK(t[pe] == WORD(pe, me), "alltoall_global_nb");
  barrier();
}

static void extensions(void) {
  x_alltoall();
  x_pg_int16();
  x_pg_int32();
  x_pg_int64();
  old_amo_shmemx_int32();
  old_amo_shmemx_int64();
  old_cswap_shmemx_int64();
  x_bitwise_int32();
  x_bitwise_int64();
  x_bitwise_uint32();
  x_bitwise_uint64();
  X_REDUCTIONS(RUN_REDUCTION)
  old_shmemx_int32_wait();
  old_shmemx_int64_wait();
  x_wait_until_int32();
  x_wait_until_int64();
}

static void sgi_names(void) {
  CHECK(CALL(_my_pe, 0) == me && CALL(my_pe, 0) == me, "_my_pe");
  CHECK(CALL(_num_pes, 0) == npes && CALL(num_pes, 0) == npes, "_num_pes");
  char *a = CALL(shmalloc, 64, 64);
  char *b = CALL(shmemalign, 64, 256, 64);
  CHECK(a && b && (uintptr_t)b % 256 == 0, "shmalloc and shmemalign");
  strcpy(a, "kept");
  a = CALL(shrealloc, 4096, a, 4096);
  CHECK(strcmp(a, "kept") == 0, "shrealloc");
  CALL(shfree, 0, a);
  CALL(shfree, 0, b);
}

/* ------------------------------------------------------------------------ */

static void initialise(const char *how) {
  if (strcmp(how, "init_thread") == 0) {
    int provided = -1;
    CALL(shmem_init_thread, 0, SHMEM_THREAD_MULTIPLE, &provided);
    CHECK(provided >= SHMEM_THREAD_SINGLE, "init_thread");
  } else if (strcmp(how, "start_pes") == 0) {
    CALL(start_pes, 0, 0);
  } else {
    CALL(shmem_init, 0);
  }
  me = CALL(shmem_my_pe, 0);
  npes = CALL(shmem_n_pes, 0);
  next = (me + 1) % npes;
  prev = (me + npes - 1) % npes;
  for (int s = 0; s < 2; s++)
    for (int i = 0; i < SHMEM_SYNC_SIZE; i++) sync_words[s][i] = SHMEM_SYNC_VALUE;
}

static void everything(void) {
  typed_rma();
  sized_rma();
  atomics();
  waits();
  reductions();
  collectives();
  locks();
  memory();
  queries();
  cache();
  extensions();
  sgi_names();
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "init";
  initialise(mode);
  if (npes < 2 || npes > MAX_PES) {
    fprintf(stderr, "families: needs 2 to %d PEs\n", MAX_PES);
    shmem_global_exit(2);
  }
  target = CALL(shmem_calloc, REGION, 1, REGION);
  source = CALL(shmem_calloc, REGION, 1, REGION);
  work = CALL(shmem_malloc, REGION, REGION);
  CHECK(CALL(shmem_ctx_create, 0, SHMEM_CTX_SERIALIZED, &ctx) == 0, "ctx_create");

  if (strcmp(mode, "cswap32") == 0) cswap32();
  else everything();

  barrier();
  CALL(shmem_ctx_destroy, 0, ctx);
  CALL(shmem_free, 0, work);
  CALL(shmem_free, 0, source);
  CALL(shmem_free, 0, target);
  if (failures) shmem_global_exit(1);
  if (me == 0) puts("families ok");
  count_print_and_finalize(me, npes);
  return 0;
}
