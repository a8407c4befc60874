// SPDX-License-Identifier: MIT
// LineEnds: shared memory beside each stage for the ends of its lines, where these are
// copied in whole chunks of 16 bytes and shifted afterwards (shifted_loader.cuh).
#pragma once
#include <jg/common/shifted_chunk.cuh>
#include <jg/tile/input_operand.cuh>

namespace jg {

// Are A and B copied so?
template <class Config>
constexpr JG_DEVICE bool shifts_lines()
{
    if constexpr (Config::kThreadLoads) {
        return Config::kShiftsLines;
    } else {
        return false;
    }
}

template <class Operand>
constexpr u32 kLinesOf = Operand::kBlockBytes / Operand::kSwizzleBytes;

template <class Config, bool kShifts = shifts_lines<Config>()>
struct LineEnds {
};
template <class Config>
struct alignas(kChunkBytes) LineEnds<Config, true> {
    u8 a[Config::kStages][kLinesOf<InputA<Config>>][kChunkBytes];
    u8 b[Config::kStages][kLinesOf<InputB<Config>>][kChunkBytes];
};

} // namespace jg
