/* SPDX-License-Identifier: MIT */
/* The problems that bench and tune measure: words of the command line, and lines of a file.
 */
#ifndef PROBLEM_LIST_H
#define PROBLEM_LIST_H

#include "cli.h"

struct problem_list {
    struct cli_problem **items; /* owned, and each of them: operands point into them */
    size_t count;
};

/*
 * Reads the words, then the file `shapes`, NULL being none: a problem in each line; empty
 * lines and those that begin with # are none. `model` has what is the same for all. All are
 * read before anything is measured, so that a typing error is told at once, and what cannot
 * be measured. CLI_OK, or an exit code after the error; none at all is one. What was read
 * is to be freed either way.
 */
int problem_list_read(const struct cli_problem *model, char **words, int count,
                      const char *shapes, struct problem_list *list);

void problem_list_free(struct problem_list *list);

#endif
