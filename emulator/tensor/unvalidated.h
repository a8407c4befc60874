/* SPDX-License-Identifier: MIT */
/*
 * What rests on documents only. Everything that is not listed here was executed with
 * kernels of others that are known to be right on hardware (docs/emulator-evidence.md):
 * tcgen05.mma of layouts A, B, D and F, A of 16 and 32 bits in tensor memory, scale factors
 * of all granularities, e2m1, tcgen05.cp.32x128b.warpx4, tcgen05.ld and .st of 32x32b and
 * 16x256b, kind::i8, tf32 along M and N, wgmma from swizzled tiles.
 */
#ifndef EMU_TENSOR_UNVALIDATED_H
#define EMU_TENSOR_UNVALIDATED_H

#include "exec/machine.h"

enum emu_feature {
    EMU_FEATURE_LOAD_16,
    EMU_FEATURE_PACK_16,
    EMU_FEATURE_MN_NO_SWIZZLE,
    EMU_FEATURE_PAIR_128_SCALES,
    EMU_FEATURE_A_IN_TENSOR_MEMORY,
    EMU_FEATURE_NARROW_A_IN_TENSOR_MEMORY,
    EMU_FEATURE_NARROW_TYPES,
    EMU_FEATURE_N_STEP,
    EMU_FEATURE_SCALE_INPUT,
    EMU_FEATURE_DISABLED_LANES,
    EMU_FEATURE_COPY_SHAPE,
    EMU_FEATURE_COPY_DECOMPRESS,
    EMU_FEATURE_COPY_AFTER_MMA,
    EMU_FEATURE_ODD_ISSUER,
    EMU_FEATURE_COUNT
};

/* Advises, once per cluster and feature, that the kernel relies on the features of the
 * mask; bit i stands for feature i of enum emu_feature. */
void emu_features_advise(struct emu_warp *warp, const struct emu_insn *insn,
                         uint32_t features);
static inline uint32_t emu_feature_if(bool used, enum emu_feature feature)
{
    return used ? 1u << feature : 0u;
}

#endif
