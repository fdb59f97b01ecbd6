/* Made by Dwell: hooks for GASNet-EX, whose calls are macros. To be included before a program:

     cc $(dwell build flags gasnet) ...

   Each macro is kept in an inline function and defined anew: where libdwell.so is loaded, a call is recorded,
   otherwise it is what it was, after one comparison. Nothing here has state; the recorder is in libdwell.so, and
   references to it are weak. */

#ifndef DWELL_GASNET_H
#define DWELL_GASNET_H

/* A file that is compiled with the flags of the program but does not use GASNet stays as it is. */
#if defined(GASNET_SEQ) || defined(GASNET_PAR) || defined(GASNET_PARSYNC)
#if defined(__has_include)
#if __has_include(<gasnetex.h>)
#define DWELL_HAS_GASNET 1
#endif
#endif
#endif

#ifdef DWELL_HAS_GASNET

#include <gasnetex.h>
#include <gasnet_vis.h>
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uintptr_t dwell_word;

/* What the recorder needs of GASNet. The functions belong to the file of the program that starts GASNet. */
struct dwell_gasnet {
  uint32_t rank, size;
  gex_TM_t team;
  const char *version;
  /* Largest message, in bytes. */
  size_t largest;
  /* Receives the recorder's messages, and registers a handler for them. The latter returns 0 on success. */
  gex_AM_Fn_t receive;
  int (*open)(unsigned index, gex_AM_Fn_t handler);
  int (*send)(uint32_t rank, unsigned index, const void *data, size_t bytes, uint32_t from, uint32_t step);
  void (*poll)(void);
  /* Begins a barrier of all processes, or goes on with one. Returns 1 when it is over. */
  int (*meet)(dwell_word *event);
  /* Rank in the job of the process that sent what a handler received; UINT32_MAX if GASNet does not say. */
  uint32_t (*source)(gex_Token_t token);
  uint32_t (*members)(gex_TM_t team, uint32_t *own);
  uint32_t (*member)(gex_TM_t team, uint32_t rank);
  /* Rank in the job of one of the processes that share memory with this one; UINT32_MAX if there are not so many. */
  uint32_t (*near)(uint32_t index);
};

#define DWELL_WEAK __attribute__((weak))
DWELL_WEAK int dwell_gasnet_begin(void *entry, dwell_word *words, const void *site, const void *stack,
                                  dwell_word *state);
DWELL_WEAK void dwell_gasnet_end(void *entry, dwell_word *words, dwell_word *state);
DWELL_WEAK void dwell_gasnet_before_start(dwell_word *state);
DWELL_WEAK void dwell_gasnet_start(void *entry, const struct dwell_gasnet *gasnet, dwell_word *state);
DWELL_WEAK void dwell_gasnet_finish(void *entry, const void *site, const void *stack);
DWELL_WEAK void dwell_gasnet_message(uint32_t from, uint32_t step, const void *data, size_t bytes);
/* Returns the function to register in place of a handler, and a number by which its index is told afterwards. */
DWELL_WEAK gex_AM_Fn_t dwell_gasnet_handler(gex_AM_Fn_t real, unsigned form, unsigned arguments, unsigned *number);
/* Tells to whom a message goes that is prepared, by its descriptor, and asks for that when it is committed. */
DWELL_WEAK void dwell_gasnet_prepared(const void *descriptor, const void *tm, uint32_t rank);
DWELL_WEAK uint32_t dwell_gasnet_committed(const void *descriptor, dwell_word *tm);
DWELL_WEAK void dwell_gasnet_index(unsigned number, unsigned index);
/* Gives the index that the recorder uses to a handler of the program. Returns 0 if it uses another one. */
DWELL_WEAK int dwell_gasnet_yield(unsigned index, gex_AM_Fn_t real, unsigned form, unsigned arguments);
/* Tells which indices the program wants, so that the recorder moves to another one. */
DWELL_WEAK void dwell_gasnet_move(const unsigned char *wanted);

/* Room for what is known before a call and needed after it. */
#define DWELL_STATE 32
/* Where on the stack the return address lies; on AArch64, where a function chooses that place, the stack pointer at its
   entry. */
#if defined(__aarch64__)
#define DWELL_STACK __builtin_dwarf_cfa()
#else
#define DWELL_STACK ((const char *)__builtin_frame_address(0) + sizeof(void *))
#endif
#define DWELL_TEXT_OF(name) #name
#define DWELL_TEXT(name) DWELL_TEXT_OF(name)
#define DWELL_SITE __builtin_return_address(0)
#define DWELL_SLOW static __attribute__((noinline, unused))
#define DWELL_FAST static inline __attribute__((always_inline, unused))

DWELL_FAST dwell_word dwell_vector(size_t count, gex_Memvec_t const list[]) {
  dwell_word sum = 0;
  for (size_t at = 0; at < count; at++) sum += list[at].gex_len;
  return sum;
}

/* Kinds of operations: gets, puts, atomic operations. The bits of GASNet differ between versions. */
DWELL_FAST dwell_word dwell_kinds(gex_EC_t mask) {
  return (mask & GEX_EC_GET ? 1 : 0) | (mask & GEX_EC_PUT & ~GEX_EC_LC ? 2 : 0) | (mask & GEX_EC_RMW ? 4 : 0);
}
/* Whether messages for a handler have a payload (2) or not (1), likewise. */
DWELL_FAST unsigned dwell_form(gex_Flags_t flags) {
  return flags & (GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_LONG) ? 2 : flags & GEX_FLAG_AM_SHORT ? 1 : 0;
}

DWELL_FAST dwell_word dwell_strided(size_t element, size_t const counts[], size_t levels) {
  dwell_word product = element;
  for (size_t at = 0; at < levels; at++) product *= counts[at];
  return product;
}

