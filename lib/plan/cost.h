/* SPDX-License-Identifier: MIT */
/* Costs that the models of the chips share. */
#ifndef JG_PLAN_COST_H
#define JG_PLAN_COST_H

#include "plan/problem.h"

/* Clocks that threads take to load a stage of so many bytes; 0 if TMA loads it. Fitted to
 * the runs of bench/results/2026-11-22-h200-unaligned.txt, on an H200. */
double jg_thread_loads_clk(const struct jg_problem *problem, double stage_bytes);

/* Two costs that overlap: the greater, and what still shows of the lesser. */
double jg_overlap(double a, double b);

static inline double jg_larger(double a, double b)
{
    return a > b ? a : b;
}

#endif
