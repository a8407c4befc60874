/* SPDX-License-Identifier: MIT */
/* Decoders of the instructions of this folder. */
#ifndef EMU_ASYNC_OPCODES_H
#define EMU_ASYNC_OPCODES_H

#include "exec/decode.h"

bool emu_decode_barrier(struct emu_decoder *decoder);
bool emu_decode_cluster_arrive(struct emu_decoder *decoder);
bool emu_decode_cluster_wait(struct emu_decoder *decoder);
bool emu_decode_launch_query(struct emu_decoder *decoder);
bool emu_decode_launch_cancel(struct emu_decoder *decoder);
bool emu_decode_fence(struct emu_decoder *decoder);
bool emu_decode_init_fence(struct emu_decoder *decoder);
bool emu_decode_proxy_fence(struct emu_decoder *decoder);
bool emu_decode_getctarank(struct emu_decoder *decoder);
bool emu_decode_grid_control(struct emu_decoder *decoder);
bool emu_decode_mapa(struct emu_decoder *decoder);
bool emu_decode_mbarrier_arrive(struct emu_decoder *decoder);
bool emu_decode_mbarrier_arrive_drop(struct emu_decoder *decoder);
bool emu_decode_mbarrier_complete_tx(struct emu_decoder *decoder);
bool emu_decode_mbarrier_expect_tx(struct emu_decoder *decoder);
bool emu_decode_mbarrier_init(struct emu_decoder *decoder);
bool emu_decode_mbarrier_inval(struct emu_decoder *decoder);
bool emu_decode_mbarrier_pending_count(struct emu_decoder *decoder);
bool emu_decode_mbarrier_test_wait(struct emu_decoder *decoder);
bool emu_decode_mbarrier_try_wait(struct emu_decoder *decoder);
bool emu_decode_membar(struct emu_decoder *decoder);
bool emu_decode_registers(struct emu_decoder *decoder);
bool emu_decode_copy(struct emu_decoder *decoder);
bool emu_decode_bulk_copy(struct emu_decoder *decoder);
bool emu_decode_bulk_commit(struct emu_decoder *decoder);
bool emu_decode_bulk_prefetch(struct emu_decoder *decoder);
bool emu_decode_tensor_prefetch(struct emu_decoder *decoder);
bool emu_decode_tensor_copy(struct emu_decoder *decoder);
bool emu_decode_bulk_wait(struct emu_decoder *decoder);
bool emu_decode_copy_commit(struct emu_decoder *decoder);
bool emu_decode_copy_arrive(struct emu_decoder *decoder);
bool emu_decode_copy_wait_all(struct emu_decoder *decoder);
bool emu_decode_copy_wait(struct emu_decoder *decoder);
bool emu_decode_bulk_reduce(struct emu_decoder *decoder);
bool emu_decode_tensor_reduce(struct emu_decoder *decoder);
bool emu_decode_map_prefetch(struct emu_decoder *decoder);
bool emu_decode_async_reduce(struct emu_decoder *decoder);
bool emu_decode_async_store(struct emu_decoder *decoder);
bool emu_decode_map_copy(struct emu_decoder *decoder);
bool emu_decode_map_replace(struct emu_decoder *decoder);

#endif
