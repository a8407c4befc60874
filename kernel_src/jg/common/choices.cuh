// SPDX-License-Identifier: MIT
// What the plan chose, or the problem says, by name: values of Config's constants
// (lib/source/config_struct.c).
#pragma once
#include <jg/common/types.cuh>

namespace jg {

// How the clusters of a grid share its tiles: see schedule/scheduler_for.cuh.
enum class SchedulerKind { kSingle, kStatic, kClc };

// What a launch says of its groups: where their rows end in the stacked A, C and D, how
// many of each are used, of which group a row is, where their parts of K end in A and B, or
// how many rows each has in matrices of its own (schedule/group_rows.cuh).
enum class GroupBy { kNone, kOffsets, kCounts, kRows, kKOffsets, kPointers };

// Where rows name their groups, the order of their blocks in the list of work: that of the
// rows, by groups where tiles come in several rounds, or always by groups
// (schedule/row_block_tile_order.cuh).
enum class BlockOrder { kByRow, kGathered, kSorted };

// The operand whose first blocks are prefetched: see tile/tile_loader.cuh.
enum class Prefetch { kNone, kA, kB };

// The operand that nobody writes: its first stages are loaded before the grid before has
// ended.
enum class FirstLoads { kNone, kA, kB };

// The operand that few tiles read, once each: L2 gives its lines up first.
enum class EvictFirst { kNone, kA, kB };

// How a math warpgroup goes from one block of K to the next where sums are multiplied by
// scales of blocks (sm90a/scale_reader.cuh): its products are done before the next ones
// begin, the same with scales at places that are known from block to block, the next
// block's scales are read behind this one's products, or the tensor core has the next block
// meanwhile.
enum class ScaledBlocks { kWaited, kPlaced, kBehind, kOverlapped };

// How scales of blocks lie in memory: those of a row of blocks along K side by side, those
// of a block of K, in pieces of 128 or 8 rows by 4 blocks, or those of 4 blocks of K
// (docs/scales.md).
enum class ScaleLayout { kRow, kColumn, k128x4, k8x4, kMnK4 };

// No scales of D's blocks: Config::DScale is this, or an OutputScale
// (epilogue/output_scale.cuh).
struct NoOutputScale {
    enum : u32 {
        kBlock = 0,
        kBlockRows = 1,
    };
};

} // namespace jg
