/* SPDX-License-Identifier: MIT */
/* The sums of a problem, made on the host: for devices on which a naive kernel would
 * take too long. */
#ifndef HOST_SUMS_H
#define HOST_SUMS_H

#include "run_data.h"

/*
 * Reads A, B and C back from the device, computes alpha * A * B, with scales, + beta * C in
 * f64, rounds once to `type`, and makes a packed M x N matrix of it on the device: what an
 * epilogue's `acc` begins with. Rows of no group are poison, or 0 as the problem asks for.
 * CLI_OK, or the error was printed; free the matrix in either case.
 */
int host_sums_create(jit_gemm_context *context, const jit_gemm_problem *problem,
                     const struct run_inputs *inputs, float alpha, float beta,
                     jit_gemm_dtype type, struct run_matrix *ret_sums);

#endif
