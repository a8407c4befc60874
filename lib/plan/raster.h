/* SPDX-License-Identifier: MIT */
/* The order of the tiles. */
#ifndef JG_PLAN_RASTER_H
#define JG_PLAN_RASTER_H

#include "plan/trial.h"

/* Sets raster and raster_group: those of the override where it has them; else a compact
 * wave first, then few reads from memory, then narrow groups along M. */
void jg_raster_choose(struct jg_trial *trial);

#endif
