/* PCAF for Dwell: see pcaf.h. SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "pcaf.h"
#include <stdint.h>
#if __has_include(<ISO_Fortran_binding.h>)
#include <ISO_Fortran_binding.h>
#endif

typedef uintptr_t word;

#define ABSENT __attribute__((weak))
#define PROCEDURE __attribute__((noinline))
/* Where on the stack the return address lies; on AArch64, where a function chooses that place, the stack pointer at its
   entry. */
#if defined(__aarch64__)
#define STACK __builtin_dwarf_cfa()
#else
#define STACK ((const char *)__builtin_frame_address(0) + sizeof(void *))
#endif
#define SITE __builtin_return_address(0)

/* In what `dwell run` loads; null elsewhere. */
ABSENT void dwell_coarray_begin(const word *words, const void *site, const void *stack);
ABSENT void dwell_coarray_once(const word *words, const void *site, const void *stack);
ABSENT void dwell_coarray_end(int code, int outcome);

enum { READ = 0, WRITE = 1 };

/* Operation, image counted from 1, name; address, bytes of an element, elements, and bytes from one to the next. */
#define TRANSFER(code, image)                                                                                          \
    const word words[7] = {(code), (word)(image) + 1, 0, 0, (word)(size ? *size : 1), (word)(nelem > 0 ? nelem : 0), 0}

#define BEGIN(code, image)                                                                                             \
    if (dwell_coarray_begin) {                                                                                         \
        TRANSFER(code, image);                                                                                         \
        dwell_coarray_begin(words, SITE, STACK);                                                                       \
    }

#define ONCE(code, image)                                                                                              \
    if (dwell_coarray_once) {                                                                                          \
        TRANSFER(code, image);                                                                                         \
        dwell_coarray_once(words, SITE, STACK);                                                                        \
    }

static void end(int code)
{
    if (dwell_coarray_end)
        dwell_coarray_end(code, 1);
}

PROCEDURE void pcaf_rma_write_begin(int dest, int nelem, const int *size) { BEGIN(WRITE, dest) }

PROCEDURE void pcaf_rma_write_end(int dest)
{
    (void)dest;
    end(WRITE);
}

PROCEDURE void pcaf_rma_write(int dest, int nelem, const int *size) { ONCE(WRITE, dest) }

PROCEDURE void pcaf_rma_read_begin(int src, int nelem, const int *size) { BEGIN(READ, src) }

PROCEDURE void pcaf_rma_read_end(int src)
{
    (void)src;
    end(READ);
}

PROCEDURE void pcaf_rma_read(int src, int nelem, const int *size) { ONCE(READ, src) }

/* Name of the one critical section of a program: that which `dwell build sources` uses for `call start_critical()`. */
#define SECTION 117271137

#define SYNCHRONISE(which, images, element, count, stride)                                                             \
    if (dwell_coarray_begin) {                                                                                         \
        const int is_critical = (which) == PCAF_START_CRITICAL || (which) == PCAF_END_CRITICAL;                        \
        const word words[7] = {(which), is_critical, is_critical ? SECTION : 0, (word)(images),                        \
                               (element), (word)(count), (word)(stride)};                                              \
        dwell_coarray_begin(words, SITE, STACK);                                                                       \
    }

PROCEDURE void pcaf_sync_begin(enum pcaf_sync which, const int *images, int count)
{
    SYNCHRONISE(which, images, sizeof(int), count > 0 ? count : 0, sizeof(int))
}

PROCEDURE void pcaf_sync_end(enum pcaf_sync which) { end(which); }

#ifdef CFI_VERSION
/* The wrappers of Fortran, which pcaf.f90 declares. They are written in C so that a call in the report is that of the
 * program; pcaf.f90 has the statements of Fortran that they execute. */
ABSENT void pcaf_execute(int which, int unit, const CFI_cdesc_t *images);

#define WRAPPED(which, unit, list)                                                                                     \
    const CFI_cdesc_t *images = (list);                                                                                \
    SYNCHRONISE(which, images ? images->base_addr : 0, images ? images->elem_len : 0,                                  \
                images ? images->dim[0].extent : 0, images ? images->dim[0].sm : 0)                                    \
    pcaf_execute(which, unit, images);                                                                                 \
    end(which);

PROCEDURE void pcaf_f_sync_all(void) { WRAPPED(PCAF_SYNC_ALL, 0, (const CFI_cdesc_t *)0) }

PROCEDURE void pcaf_f_sync_all_wait(const CFI_cdesc_t *wait) { WRAPPED(PCAF_SYNC_IMAGES, 0, wait) }

PROCEDURE void pcaf_f_sync_team(const CFI_cdesc_t *team) { WRAPPED(PCAF_SYNC_IMAGES, 0, team) }

PROCEDURE void pcaf_f_sync_team_wait(const CFI_cdesc_t *team, const CFI_cdesc_t *wait)
{
    (void)team;
    WRAPPED(PCAF_SYNC_IMAGES, 0, wait)
}

PROCEDURE void pcaf_f_sync_file(int unit) { WRAPPED(PCAF_SYNC_FILE, unit, (const CFI_cdesc_t *)0) }

PROCEDURE void pcaf_f_sync_memory(void) { WRAPPED(PCAF_SYNC_MEMORY, 0, (const CFI_cdesc_t *)0) }

PROCEDURE void pcaf_f_start_critical(void) { WRAPPED(PCAF_START_CRITICAL, 0, (const CFI_cdesc_t *)0) }

PROCEDURE void pcaf_f_end_critical(void) { WRAPPED(PCAF_END_CRITICAL, 0, (const CFI_cdesc_t *)0) }
#endif
