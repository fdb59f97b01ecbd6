/*
 * Reads the command line of an example: options in any order, and positional
 * arguments in theirs.
 *
 *   const struct option table[] = {
 *       {"--count", OPTION_FLAG, &o.count},
 *       {"--imbalance", OPTION_PERCENT, &o.imbalance},
 *       {NULL, OPTION_NUMBER, &o.n},    the first positional argument
 *       {NULL, OPTION_NUMBER, &o.steps},
 *   };
 *   options_read(argc, argv, "[--count] [--imbalance PERCENT] [N [STEPS]]",
 *                table, sizeof table / sizeof *table);
 *
 * A variable whose argument is missing keeps its value. Anything else on the
 * command line prints the usage, and ends the program with exit code 2.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"

enum option_kind {
  OPTION_FLAG,     /* int: set to 1; takes no value */
  OPTION_PERCENT,  /* double: a hundredth of the value, 0 to 10,000 */
  OPTION_FRACTION, /* double: from 0 to 1 */
  OPTION_GRID,     /* struct grid: rows x columns, as in 2x3 */
  OPTION_NUMBER,   /* long: at least 1 */
  OPTION_WORD      /* const char *: any text */
};

struct option {
  const char *name; /* NULL for a positional argument */
  enum option_kind kind;
  void *variable;
};

static inline void options_usage(const char *program, const char *usage) {
  fprintf(stderr, "usage: %s %s\n", program, usage);
  exit(2);
}

/* Stores the value of an option. Returns 0 if the text is no such value. */
static inline int option_store(const struct option *option, const char *text) {
  double real;
  switch (option->kind) {
    case OPTION_FLAG:
      *(int *)option->variable = 1;
      return 1;
    case OPTION_PERCENT:
      real = *(double *)option->variable = strtod(text, NULL) / 100.0;
      return real >= 0 && real <= 1e4;
    case OPTION_FRACTION:
      real = *(double *)option->variable = strtod(text, NULL);
      return real >= 0 && real <= 1;
    case OPTION_GRID: {
      struct grid *grid = option->variable;
      return sscanf(text, "%dx%d", &grid->rows, &grid->cols) == 2;
    }
    case OPTION_NUMBER:
      return (*(long *)option->variable = strtol(text, NULL, 10)) >= 1;
    case OPTION_WORD:
      *(const char **)option->variable = text;
      return 1;
  }
  return 0;
}

static inline void options_read(int argc, char **argv, const char *usage,
                                const struct option *table, size_t size) {
  size_t positional = 0;
  for (int i = 1; i < argc; i++) {
    const struct option *option = table;
    if (argv[i][0] == '-') {
      while (option < table + size &&
             (!option->name || strcmp(option->name, argv[i]) != 0))
        option++;
      int takes_value = option < table + size && option->kind != OPTION_FLAG;
      if (takes_value && ++i == argc) options_usage(argv[0], usage);
    } else {
      for (size_t before = positional++; option < table + size; option++)
        if (!option->name && before-- == 0) break;
    }
    if (option == table + size || !option_store(option, argv[i]))
      options_usage(argv[0], usage);
  }
}

#endif
