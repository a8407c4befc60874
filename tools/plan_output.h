/* SPDX-License-Identifier: MIT */
/* The other forms in which `jit-gemm plan` says what it found. */
#ifndef PLAN_OUTPUT_H
#define PLAN_OUTPUT_H

#include <stdio.h>

#include "cli_json.h"
#include "jit_gemm/family.h"

/* Adds the lines of a plan as the list `candidates`, an object for each config, the chosen
 * one first; `recipe`, a text or null, goes before it. */
void plan_add_json(struct cli_json *json, const char *plan);

/* Bands as an SVG picture: predicted time over sizes, a colour for each kernel. */
struct sweep_picture {
    const char *problem, *arch, *range;
    const jit_gemm_band *bands;
    size_t count;
};
void sweep_write_svg(const struct sweep_picture *picture, FILE *file);

#endif
