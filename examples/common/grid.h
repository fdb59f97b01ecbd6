/* Shares out cells, rows or columns over a two-dimensional grid of processes. */
#ifndef GRID_H
#define GRID_H

/* A grid of processes. With 0 rows, grid_choose chooses it. */
struct grid {
  int rows, cols;
};

/* A range of indices along one axis: where it starts, and how many there are. */
struct range {
  long start, size;
};

/*
 * Makes a grid of 0 rows as square as possible, with more columns than rows.
 * Returns 0 if the grid does not consist of exactly so many processes.
 */
static inline int grid_choose(struct grid *grid, int processes) {
  if (grid->rows == 0) {
    grid->rows = 1;
    for (int r = 2; r * r <= processes; r++)
      if (processes % r == 0) grid->rows = r;
    grid->cols = processes / grid->rows;
  }
  return grid->rows >= 1 && grid->rows * grid->cols == processes;
}

/* The indices of part `index` when n of them are shared out over `parts`. */
static inline struct range share(long n, int parts, int index) {
  long size = n / parts, rest = n % parts;
  struct range r = {index * size + (index < rest ? index : rest),
                    size + (index < rest)};
  return r;
}

#endif
