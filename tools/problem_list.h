/* SPDX-License-Identifier: MIT */
/* The problems that bench and tune measure: words of the command line, and lines of a file.
 */
#ifndef PROBLEM_LIST_H
#define PROBLEM_LIST_H

#include "bench_groups.h"
#include "cli.h"

struct listed_problem {
    struct cli_problem problem;
    struct bench_groups groups;
};

struct problem_list {
    struct listed_problem **items; /* owned, and each of them: operands point into them */
    size_t count;
};

/* The option that a command has for `group_sizes`. */
#define PROBLEM_LIST_GROUP_SIZES(target)                                  \
    {                                                                     \
        "--group-sizes", "LIST", RUN_GROUP_SIZES_HELP, CLI_TEXT, (target) \
    }

/*
 * Reads the words, then the file `shapes`, NULL being none: a problem in each line; empty
 * lines and those that begin with # are none. `model` has what is the same for all. All are
 * read before anything is measured, so that a typing error is told at once, and what cannot
 * be measured. `group_sizes`, NULL being all the same, are those of each problem that has
 * groups, of which one has to. CLI_OK, or an exit code after the error; none at all is one.
 * What was read is to be freed either way.
 */
int problem_list_read(const struct cli_problem *model, char **words, int count,
                      const char *shapes, const char *group_sizes,
                      struct problem_list *list);

void problem_list_free(struct problem_list *list);
void listed_problem_free(struct listed_problem **problem);
/* What bench/ measures of it; `ret_epilogue` has the epilogue. */
struct gemm_bench_problem listed_problem_of(const struct listed_problem *problem,
                                            jit_gemm_epilogue *ret_epilogue);

#endif
