/* SPDX-License-Identifier: MIT */
/* The unit of this folder: wgmma, tcgen05, tensor memory, mma. */
#ifndef EMU_TENSOR_UNIT_H
#define EMU_TENSOR_UNIT_H

#include "exec/unit.h"

extern const struct emu_unit emu_tensor_unit;

#endif
