/* SPDX-License-Identifier: MIT */
/* Costs that the models of the chips share. */
#ifndef JG_PLAN_COST_H
#define JG_PLAN_COST_H

#include "plan/trial.h"

/* Clocks that threads take to load a stage of so many bytes, of which with an index of A's
 * rows only A's are theirs; 0 if TMA loads it. Fitted to the runs of
 * bench/results/2026-11-22-h200-unaligned.txt, on an H200; words of 16 bytes, and what an
 * index takes, were not measured. */
double jg_thread_loads_clk(const struct jg_trial *trial, double stage_bytes);
/* Of a block of K, of copies of TMA that bring rows which an index names, `copied_rows` in
 * so many clocks; 0 where none do. */
double jg_row_boxes_clk(const struct jg_trial *trial, int copied_rows, double copy_clk);

/* Microseconds of the kernel that copies A and B first: their elements are read and written
 * once, at the rate of the memory. 0 where nothing is copied. Estimated. */
double jg_repack_us(const struct jg_trial *trial, double memory_bytes_s);

/* ... and of the kernel that packs scales first. 0 where none are packed. Estimated. */
double jg_scale_pack_us(const struct jg_trial *trial, double memory_bytes_s);

/* Two costs that overlap: the greater, and what still shows of the lesser. */
double jg_overlap(double a, double b);

static inline double jg_larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double jg_lesser(double a, double b)
{
    return a < b ? a : b;
}

#endif
