/* SPDX-License-Identifier: MIT */
/* Decoders of the families of opcodes that live in this folder. */
#ifndef EMU_TENSOR_OPCODES_H
#define EMU_TENSOR_OPCODES_H

#include "exec/decode.h"

bool emu_decode_mma_sync(struct emu_decoder *decoder);
bool emu_decode_wgmma(struct emu_decoder *decoder);
bool emu_decode_wgmma_fence(struct emu_decoder *decoder);
bool emu_decode_wgmma_commit(struct emu_decoder *decoder);
bool emu_decode_wgmma_wait(struct emu_decoder *decoder);
bool emu_decode_tmem_alloc(struct emu_decoder *decoder);
bool emu_decode_tmem_dealloc(struct emu_decoder *decoder);
bool emu_decode_tmem_relinquish(struct emu_decoder *decoder);
bool emu_decode_tensor_mma(struct emu_decoder *decoder);
bool emu_decode_tcgen05_cp(struct emu_decoder *decoder);
bool emu_decode_tensor_commit(struct emu_decoder *decoder);
bool emu_decode_tensor_shift(struct emu_decoder *decoder);
bool emu_decode_tensor_load(struct emu_decoder *decoder);
bool emu_decode_tensor_store(struct emu_decoder *decoder);
bool emu_decode_tensor_wait_load(struct emu_decoder *decoder);
bool emu_decode_tensor_wait_store(struct emu_decoder *decoder);
bool emu_decode_tensor_fence_before(struct emu_decoder *decoder);
bool emu_decode_tensor_fence_after(struct emu_decoder *decoder);

#endif
