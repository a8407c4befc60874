/* SPDX-License-Identifier: MIT */
/* A kernel, its data, and a launch of it: what `run` and `trace` have in common. */
#ifndef RUN_LAUNCH_H
#define RUN_LAUNCH_H

#include "run_data.h"

#include "jit_gemm/device.h"

/* All zero means that there is nothing to close. The functions give CLI_OK, or an exit
 * code after printing the error. */
struct run_launch {
    jit_gemm_context *context;
    jit_gemm_device_info device;
    jit_gemm *gemm;
    jit_gemm_info info;
    struct run_inputs inputs;
    struct run_results results;
    float alpha, beta;
    bool has_host_sizes; /* the launch gets the numbers of groups from the host, and no
                            address of them */
    const char
        *in_place; /* what D is written over: "C", or a matrix operand; NULL: nothing */
    const struct run_matrix *in_place_values; /* found by this name; in `inputs` */
    jit_gemm_arg operand_args[JIT_GEMM_MAX_OPERANDS];
    jit_gemm_args args;
};

/* Opens the context and creates the problem's kernel. Close it in either case. */
int run_launch_open(const struct cli_context_options *options,
                    const struct cli_problem *problem, struct run_launch *launch);
/* Creates only the kernel, in the launch's context. */
int run_launch_create(const struct cli_problem *problem, bool verbose,
                      struct run_launch *launch);
/* Makes inputs, results and workspace for the sizes that are set in `inputs`, and sets the
 * arguments from them and the factors. */
int run_launch_fill(const struct cli_problem *problem, const struct run_strides *strides,
                    uint64_t seed, struct run_launch *launch);
/* Makes only the workspace, if the sizes need one. */
int run_launch_make_workspace(const struct cli_problem *problem, struct run_launch *launch);
/* Sets only the arguments. */
void run_launch_set_arguments(const struct cli_problem *problem, struct run_launch *launch);
/* Puts what D is written over into its place, before each launch whose result counts. */
int run_launch_prepare(const struct run_launch *launch);
/* Launches and waits. */
int run_launch_once(const struct run_launch *launch);

/* A second launch of the kernel with results of its own, `ldd` as in run_strides: it reads
 * D of the first one wherever it reads a matrix that lies as D, or there is none, which is
 * a usage error. Borrows all but its results; close it before the first in either case. */
int run_launch_follow(const struct cli_problem *problem, const struct run_launch *first,
                      int64_t ldd, struct run_launch *ret_second);
void run_launch_unfollow(struct run_launch *second);
/* Launches both, one right behind the other, and waits for the second. */
int run_launch_both(const struct run_launch *first, const struct run_launch *second);
void run_launch_close(struct run_launch *launch);

#endif
