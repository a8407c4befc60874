/* SPDX-License-Identifier: MIT */
/* ldmatrix and stmatrix. */
#ifndef EMU_EXEC_OP_MATRIX_H
#define EMU_EXEC_OP_MATRIX_H

#include "exec/decode.h"

bool emu_ldmatrix_decode(struct emu_decoder *decoder);
bool emu_stmatrix_decode(struct emu_decoder *decoder);

#endif
