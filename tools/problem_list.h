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

/* The options that a command has for the lists of groups. */
#define PROBLEM_LIST_GROUPS(lists)                                                    \
    {"--group-sizes", "LIST", RUN_GROUP_SIZES_HELP, CLI_TEXT, &(lists)->sizes.list},  \
        {"--block-order", "ORDER", RUN_BLOCK_ORDER_HELP, CLI_TEXT,                    \
         &(lists)->sizes.block_order},                                                \
        {"--plan-sizes", NULL, RUN_PLAN_SIZES_HELP, CLI_FLAG, &(lists)->are_planned}, \
        {"--group-ns", "LIST", RUN_GROUP_NS_HELP, CLI_TEXT, &(lists)->ns},            \
    {                                                                                 \
        "--group-ks", "LIST", RUN_GROUP_KS_HELP, CLI_TEXT, &(lists)->ks               \
    }

/*
 * Reads the words, then the file `shapes`, NULL being none: a problem in each line; empty
 * lines and those that begin with # are none. `model` has what is the same for all. All are
 * read before anything is measured, so that a typing error is told at once, and what cannot
 * be measured (modelled, if `lists` says so). `lists` are those of each problem that has
 * groups, of which one has to if any is given. CLI_OK, or an exit code after the error;
 * none at all is one. What was read is to be freed either way.
 */
int problem_list_read(const struct cli_problem *model, char **words, int count,
                      const char *shapes, const struct group_lists *lists,
                      struct problem_list *list);

void problem_list_free(struct problem_list *list);
void listed_problem_free(struct listed_problem **problem);
/* What bench/ measures of it; `ret_epilogue` has the epilogue. */
struct gemm_bench_problem listed_problem_of(const struct listed_problem *problem,
                                            jit_gemm_epilogue *ret_epilogue);

#endif
