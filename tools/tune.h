/* SPDX-License-Identifier: MIT */
/* What `jit-gemm tune` has of each problem, and what becomes of it. */
#ifndef TUNE_H
#define TUNE_H

#include "../bench/gemm_bench.h"
#include "cli.h"
#include "jit_gemm/recipe.h"
#include "problem_list.h"

/* A config that is tried. */
struct tune_candidate {
    char config[JIT_GEMM_CONFIG_SIZE];
    double predicted_us;
    jit_gemm *gemm;     /* NULL until it is made, and afterwards */
    char reason[256];   /* why it could not be made; "" if it was */
    double measured_us; /* median; 0 where it was not measured */
    double spread;      /* of the rounds: quartile distance over median */
};

/* One problem. The first candidate is the model's choice. */
struct tune_problem {
    struct listed_problem *problem; /* owned */
    char *text;                     /* without the config; owned */
    struct tune_candidate *candidates;
    size_t candidate_count;
    size_t best;      /* the fastest, */
    bool is_measured; /* once they were */
};

struct tune_problems {
    struct tune_problem *items; /* owned */
    size_t count;
};

void tune_problems_free(struct tune_problems *problems);

/* tune_measure.c: CLI_OK, or an exit code after the error. */

/* Lists up to `most` candidates, as the cost model has them. */
int tune_list_candidates(jit_gemm_context *context, size_t most, bool verbose,
                         struct tune_problem *problem);
/* Makes the candidates' kernels, several at a time, compares what they compute, times them
 * in turns. One that cannot be made is left out with its reason; the model's choice has
 * to be there. `is_stopped` is asked before each compile. */
int tune_measure(struct gemm_bench *bench, jit_gemm_context *context,
                 bool (*is_stopped)(void), bool verbose, struct tune_problem *problem);

/* tune_report.c */

/* The table of a problem, or its line of JSON. */
void tune_print_problem(const struct tune_problem *problem, const char *arch, bool json);
/* What the model's choices lose beside the best that was measured. */
struct tune_regret {
    double median, p95, worst;   /* its time over the best one's; 0 where nothing was */
    const char *worst_problem;   /* borrowed; NULL where nothing was measured */
    size_t measured, candidates; /* problems, and configs that were timed */
};
struct tune_regret tune_sum_up(const struct tune_problems *problems);
/* The last line; `path` NULL: nothing was written. */
void tune_print_summary(const struct tune_problems *problems, const char *path, bool json);

#endif
