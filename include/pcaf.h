/* PCAF: the interface by which compilers, translators and runtimes of Co-Array Fortran report what a program does, as
 * B. Mohr, L. DeRose and J. Vetter defined it ("A Performance Measurement Infrastructure for Co-Array Fortran", Euro-Par
 * 2005, Figure 3). Here it reports to Dwell.
 *
 *   pcaf_rma_write_begin(left, 512, &size);
 *   ... the remote write ...
 *   pcaf_rma_write_end(left);
 *
 * Compile pcaf.c with the program, and pcaf.f90 if it is written in Fortran; nothing else is linked. Where the program
 * does not run under `dwell run`, each of these is one comparison. SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef PCAF_H
#define PCAF_H

#ifdef __cplusplus
extern "C" {
#endif

/* Before and after a remote write of `nelem` elements to the image `dest`, which is counted from 0. `size` is the address
 * of the number of bytes of an element; the interface has none, so it may be null, and elements are counted as bytes. */
void pcaf_rma_write_begin(int dest, int nelem, const int *size);
void pcaf_rma_write_end(int dest);
/* A remote write whose beginning and end cannot be told from those of other work. Its time is not known. */
void pcaf_rma_write(int dest, int nelem, const int *size);

/* The same for remote reads from the image `src`. */
void pcaf_rma_read_begin(int src, int nelem, const int *size);
void pcaf_rma_read_end(int src);
void pcaf_rma_read(int src, int nelem, const int *size);

/* The interface has wrappers that synchronise themselves, which is for Fortran: see pcaf.f90. A runtime written in C says
 * when a synchronisation begins and ends instead. */
enum pcaf_sync {
    PCAF_SYNC_ALL = 2,
    /* With some images only: those of a team, or those of the list `wait`. */
    PCAF_SYNC_IMAGES = 3,
    PCAF_SYNC_MEMORY = 5,
    PCAF_START_CRITICAL = 8,
    PCAF_END_CRITICAL = 9,
    PCAF_SYNC_FILE = 28
};
/* `images` are `count` numbers of images, counted from 1, for PCAF_SYNC_IMAGES; null and 0 for all others. */
void pcaf_sync_begin(enum pcaf_sync which, const int *images, int count);
void pcaf_sync_end(enum pcaf_sync which);

#ifdef __cplusplus
}
#endif
#endif
