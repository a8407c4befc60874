/* SPDX-License-Identifier: MIT */
/* Special registers: %tid.x and the like. */
#ifndef EMU_EXEC_SPECIAL_H
#define EMU_EXEC_SPECIAL_H

#include "exec/decode.h"

/* Makes the instruction a copy of the special register; its destination was decoded and is
 * `bits` wide, 1 for a predicate. Unknown names and other widths are errors. */
bool emu_special_decode(struct emu_decoder *decoder, const char *name, unsigned bits);

#endif
