/* SPDX-License-Identifier: MIT */
/* mma.sync. */
#ifndef EMU_TENSOR_MMA_SYNC_H
#define EMU_TENSOR_MMA_SYNC_H

#include <stdbool.h>

struct emu_decoder;
bool emu_decode_mma_sync(struct emu_decoder *decoder);

#endif
