/* SPDX-License-Identifier: MIT */
/* Decoders that are no rows of a table: mov, setp, set, isspacep. */
#ifndef EMU_EXEC_OP_MOVE_H
#define EMU_EXEC_OP_MOVE_H

#include "exec/decode.h"

bool emu_move_decode(struct emu_decoder *decoder);
bool emu_setp_decode(struct emu_decoder *decoder);
bool emu_set_decode(struct emu_decoder *decoder);
bool emu_isspacep_decode(struct emu_decoder *decoder);

#endif
