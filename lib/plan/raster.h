/* SPDX-License-Identifier: MIT */
/* The order of the tiles. */
#ifndef JG_PLAN_RASTER_H
#define JG_PLAN_RASTER_H

#include "plan/trial.h"

/* Sets raster and raster_group: those of the override where it has them; else a compact
 * wave first, or compact neighbours where there is but one wave, then few reads from
 * memory, then narrow groups along M. */
void jg_raster_choose(struct jg_trial *trial);
/* Do all tiles run at once? */
bool jg_raster_has_one_wave(const struct jg_trial *trial);
/* Rows of A and columns of B that CTAs of neighbouring tiles touch together, over their
 * number. */
double jg_raster_shared_draw(const struct jg_trial *trial);

#endif
