/* SPDX-License-Identifier: MIT */
/*
 * Approximate functions: tables to compare within a tolerance, since only the hardware has
 * its own last bits. Every output is stored.
 */
#include "elementwise.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Functions with a relative bound: two steps of f32. */
static const struct gold_row two_ulp_rows[] = {
    {NULL, "ex2.approx.f32", "1", "r"},   {NULL, "rcp.approx.f32", "2", "r"},
    {NULL, "rsqrt.approx.f32", "2", "r"}, {NULL, "sqrt.approx.f32", "2", "r"},
    {NULL, "div.full.f32", "22", "r"},
};
/* Of .ftz only what happens to subnormals and specials is new. */
static const struct gold_row flush_rows[] = {
    {NULL, "ex2.approx.ftz.f32", "1", "r"},   {NULL, "rcp.approx.ftz.f32", "2", "r"},
    {NULL, "rsqrt.approx.ftz.f32", "2", "r"}, {NULL, "sqrt.approx.ftz.f32", "2", "r"},
    {NULL, "div.full.ftz.f32", "ff", "r"},    {NULL, "div.approx.f32", "ff", "r"},
    {NULL, "div.approx.ftz.f32", "ff", "r"},
};
static const struct gold_row log_rows[] = {
    {NULL, "lg2.approx.f32", "2", "r"},
    {"lg2.approx.f32.near_1", "lg2.approx.f32", "1", "r"},
    {NULL, "lg2.approx.ftz.f32", "f", "r"}};
static const struct gold_row tanh_rows[] = {{NULL, "tanh.approx.f32", "3", "r"}};
static const struct gold_row angle_rows[] = {{NULL, "sin.approx.f32", "4", "r"},
                                             {NULL, "cos.approx.f32", "4", "r"},
                                             {NULL, "sin.approx.ftz.f32", "4", "r"}};
static const struct gold_row f16_rows[] = {{NULL, "ex2.approx.f16", "h", "h"},
                                           {NULL, "ex2.approx.f16x2", "H", "r"},
                                           {NULL, "tanh.approx.f16", "h", "h"},
                                           {NULL, "tanh.approx.f16x2", "H", "r"}};
static const struct gold_row bf16_rows[] = {{NULL, "ex2.approx.ftz.bf16", "b", "h"},
                                            {NULL, "ex2.approx.ftz.bf16x2", "B", "r"},
                                            {NULL, "tanh.approx.bf16", "b", "h"},
                                            {NULL, "tanh.approx.bf16x2", "B", "r"}};
static const struct gold_row f64_rows[] = {{NULL, "rcp.approx.ftz.f64", "D", "d"},
                                           {NULL, "rsqrt.approx.ftz.f64", "D", "d"},
                                           {NULL, "rsqrt.approx.f64", "D", "d"}};

void gold_approx_cases(struct gold_run *run)
{
    struct gold_style style = {.items = 512, .full_items = 512, .block_items = 1};

    style.tolerance = (struct gold_tolerance){GOLD_F32, 2, 0, 0};
    gold_rows_run(run, two_ulp_rows, COUNT(two_ulp_rows), &style);
    /* Near 1 the bound of lg2 is absolute; elsewhere 2^-22 relative is two steps. */
    style.tolerance = (struct gold_tolerance){GOLD_F32, 2, 0, 0x1p-21};
    gold_rows_run(run, log_rows, COUNT(log_rows), &style);
    style.tolerance = (struct gold_tolerance){GOLD_F32, 2, 0x1p-10, 0};
    gold_rows_run(run, tanh_rows, COUNT(tanh_rows), &style);
    /* sin and cos: absolute, 2^-20.5 between -pi and pi, worse outside. */
    style.tolerance = (struct gold_tolerance){GOLD_F32, 2, 0, 0x1p-19};
    style.items = style.full_items = 256;
    gold_rows_run(run, angle_rows, COUNT(angle_rows), &style);
    style.tolerance = (struct gold_tolerance){GOLD_F32, 2, 0, 0};
    gold_rows_run(run, flush_rows, COUNT(flush_rows), &style);
    /* Half precision: 2^-9.9 and 2^-7 relative, and the rounding of what is compared. */
    style.tolerance = (struct gold_tolerance){GOLD_F16, 2, 0x1p-9, 0};
    gold_rows_run(run, f16_rows, COUNT(f16_rows), &style);
    style.tolerance = (struct gold_tolerance){GOLD_BF16, 2, 0x1p-6, 0};
    gold_rows_run(run, bf16_rows, COUNT(bf16_rows), &style);
    /* These are seeds for iterations: about 20 bits. */
    style.tolerance = (struct gold_tolerance){GOLD_F64, 0, 0x1p-18, 0};
    style.items = style.full_items = 128;
    gold_rows_run(run, f64_rows, COUNT(f64_rows), &style);
}
