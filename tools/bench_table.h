/* SPDX-License-Identifier: MIT */
/* What `jit-gemm bench` and `tune` show of measurements: lines of at most 100 columns. */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include "../bench/gemm_bench.h"

/* The machine, and what the columns mean. */
void bench_table_print_head(const struct gemm_bench_machine *machine);
/* A problem's table: jit_gemm's own entry, then the others, the fastest first. */
void bench_table_print_result(const struct gemm_bench_result *result);

#endif
