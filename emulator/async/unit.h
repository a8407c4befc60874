/* SPDX-License-Identifier: MIT */
/* The unit of this folder: barriers, copies, tensor maps, launch control, fences. */
#ifndef EMU_ASYNC_UNIT_H
#define EMU_ASYNC_UNIT_H

#include "exec/unit.h"

extern const struct emu_unit emu_async_unit;

#endif
