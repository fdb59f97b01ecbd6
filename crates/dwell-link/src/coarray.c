/* Made by Dwell: procedures that `dwell build sources` inserts calls of. They are weak, so that each object may have them,
 * and call libdwell.so by weak references: a program that does not run under `dwell run` makes one comparison a call.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <ISO_Fortran_binding.h>
#include <stdbool.h>
#include <stdint.h>

typedef uintptr_t word;

#define ABSENT __attribute__((weak))
#define PROCEDURE __attribute__((weak, noinline))
/* Where on the stack the return address lies; on AArch64, where a function chooses that place, the stack pointer at its
   entry. */
#if defined(__aarch64__)
#define STACK __builtin_dwarf_cfa()
#else
#define STACK ((const char *)__builtin_frame_address(0) + sizeof(void *))
#endif
#define SITE __builtin_return_address(0)

ABSENT void dwell_coarray_begin(const word *words, const void *site, const void *stack);
ABSENT void dwell_coarray_also(const word *words);
ABSENT void dwell_coarray_once(const word *words, const void *site, const void *stack);
ABSENT void dwell_coarray_end(int code, int outcome);
ABSENT void dwell_coarray_team(const void *variable);

/* Operation, image, name; address, bytes of an element, elements, and bytes from one to the next. */
#define WORDS(code, image, name, section)                                                                              \
    const word words[7] = {(word)(code), (word)(image), (word)(name), address(section), element(section),              \
                           elements(section), stride(section)}

static word address(const CFI_cdesc_t *section) { return section ? (word)section->base_addr : 0; }

static word element(const CFI_cdesc_t *section) { return section ? section->elem_len : 0; }

static word elements(const CFI_cdesc_t *section)
{
    word count = section ? 1 : 0;
    for (int at = 0; section && at < section->rank; at++)
        count *= section->dim[at].extent > 0 ? (word)section->dim[at].extent : 0;
    return count;
}

static word stride(const CFI_cdesc_t *section)
{
    return section && section->rank > 0 ? (word)section->dim[0].sm : element(section);
}

PROCEDURE void dwell_co_begin(int code, int image, int name, const CFI_cdesc_t *section)
{
    if (!dwell_coarray_begin)
        return;
    WORDS(code, image, name, section);
    dwell_coarray_begin(words, SITE, STACK);
}

PROCEDURE void dwell_co_enter(int code, int image, int name)
{
    if (!dwell_coarray_begin)
        return;
    WORDS(code, image, name, (const CFI_cdesc_t *)0);
    dwell_coarray_begin(words, SITE, STACK);
}

PROCEDURE void dwell_co_also(int code, int image, const CFI_cdesc_t *section)
{
    if (!dwell_coarray_also)
        return;
    WORDS(code, image, 0, section);
    dwell_coarray_also(words);
}

PROCEDURE void dwell_co_once(int code, int image, const CFI_cdesc_t *section)
{
    if (!dwell_coarray_once)
        return;
    WORDS(code, image, 0, section);
    dwell_coarray_once(words, SITE, STACK);
}

PROCEDURE void dwell_co_end(int code, int outcome)
{
    if (dwell_coarray_end)
        dwell_coarray_end(code, outcome);
}

PROCEDURE bool dwell_co_seen(bool condition)
{
    if (dwell_coarray_end)
        dwell_coarray_end(-1, 1);
    return condition;
}

PROCEDURE bool dwell_co_saw(bool condition, int code, int image, const CFI_cdesc_t *section)
{
    if (dwell_coarray_once) {
        WORDS(code, image, 0, section);
        dwell_coarray_once(words, SITE, STACK);
    }
    return condition;
}

PROCEDURE void dwell_co_team(const CFI_cdesc_t *team)
{
    if (dwell_coarray_team && team)
        dwell_coarray_team(team->base_addr);
}
