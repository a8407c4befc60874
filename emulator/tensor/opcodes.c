/* SPDX-License-Identifier: MIT */
/* The opcodes of the tensor cores. */
#include "exec/decode.h"
#include "tensor/access.h"
#include "tensor/copy.h"
#include "tensor/mma.h"
#include "tensor/mma_sync.h"
#include "tensor/tmem.h"
#include "tensor/wgmma.h"

const struct emu_opcode emu_tensor_opcodes[] = {
    {"mma.sync", emu_decode_mma_sync},
    {"wgmma.mma_async", emu_decode_wgmma},
    {"wgmma.fence", emu_decode_wgmma_fence},
    {"wgmma.commit_group", emu_decode_wgmma_commit},
    {"wgmma.wait_group", emu_decode_wgmma_wait},
    {"tcgen05.alloc", emu_decode_tmem_alloc},
    {"tcgen05.dealloc", emu_decode_tmem_dealloc},
    {"tcgen05.relinquish_alloc_permit", emu_decode_tmem_relinquish},
    {"tcgen05.mma", emu_decode_tensor_mma},
    {"tcgen05.cp", emu_decode_tcgen05_cp},
    {"tcgen05.shift", emu_decode_tensor_shift},
    {"tcgen05.commit", emu_decode_tensor_commit},
    {"tcgen05.ld", emu_decode_tensor_load},
    {"tcgen05.st", emu_decode_tensor_store},
    {"tcgen05.wait::ld", emu_decode_tensor_wait_load},
    {"tcgen05.wait::st", emu_decode_tensor_wait_store},
    {"tcgen05.fence::before_thread_sync", emu_decode_tensor_fence_before},
    {"tcgen05.fence::after_thread_sync", emu_decode_tensor_fence_after},
    {0},
};
