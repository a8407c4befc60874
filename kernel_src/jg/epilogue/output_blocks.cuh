// SPDX-License-Identifier: MIT
// BlocksFor: what the epilogue by vectors does with scales of D's blocks: nothing, or what
// the classes of quantise.cuh and square_blocks.cuh do. A unit whose D has such scales
// includes one of these files.
#pragma once
#include <jg/epilogue/staging.cuh>

namespace jg {

template <class Config, class Partition>
struct StepBlocks; // quantise.cuh
template <class Config, class Partition, bool kReduces>
class SpreadBlocks; // quantise.cuh
template <class Config, class Partition>
class SharedBlocks; // quantise.cuh
template <class Config, class Partition, bool kReduces>
class SquareBlocks; // square_blocks.cuh

template <class Config>
class IndexedRow; // indexed_rows.cuh
template <class Config>
class IndexedPlaces; // indexed_rows.cuh

// A row of the product, where rows of D lie in order.
struct NoIndexedRow {
    template <class Params, class CoordT>
    static JG_DEVICE CoordT place(const Params &, const CoordT &coord)
    {
        return coord;
    }
};

// Where a row of the product lies in D, and its scales among D's: where it is, or where an
// index says.
struct RowPlace {
    u32 row;
    bool exists;
};
struct RowsInOrder {
    template <class Params>
    JG_DEVICE explicit RowsInOrder(const Params &)
    {
    }
    JG_DEVICE RowPlace of(u32 row, u32, bool exists) const
    {
        return RowPlace{row, exists};
    }
};

template <class Config>
using PlacesOf =
    typename Select<Config::kIndexedD, IndexedPlaces<Config>, RowsInOrder>::Type;

struct NoBlocks {
    enum : bool {
        kInStep = false,
        kSpread = false,
    };

    template <class Staging>
    JG_DEVICE NoBlocks(const Staging &, u32)
    {
    }
};

// What a Config asks for, beside reductions or not, and the staging buffer for that.
// kSquare: has a block as many rows as columns? kShared: where lanes are columns of D, does
// a block have those of several warps?
template <class Config, class Partition, bool kReduces, u32 kBlock = Config::DScale::kBlock,
          bool kSquare = (Config::DScale::kBlockRows > 1),
          bool kShared = Partition::kTransposed && (kBlock > Partition::kWarpCols)>
struct BlocksFor {
    using Type = StepBlocks<Config, Partition>;
};
template <class Config, class Partition, bool kReduces>
struct BlocksFor<Config, Partition, kReduces, 0, false, false> {
    using Type = NoBlocks;
};
template <class Config, class Partition, bool kReduces>
struct BlocksFor<Config, Partition, kReduces, 128, false, false> {
    using Type = SpreadBlocks<Config, Partition, kReduces>;
};
template <class Config, class Partition, bool kReduces, u32 kBlock>
struct BlocksFor<Config, Partition, kReduces, kBlock, false, true> {
    using Type = SharedBlocks<Config, Partition>;
};
template <class Config, class Partition, bool kReduces, u32 kBlock, bool kShared>
struct BlocksFor<Config, Partition, kReduces, kBlock, true, kShared> {
    using Type = SquareBlocks<Config, Partition, kReduces>;
};
template <class Blocks, class Partition, bool kSpread = Blocks::kSpread>
struct StagingOf {
    using Type = typename StagingBufferFor<Partition>::Type;
};
template <class Blocks, class Partition>
struct StagingOf<Blocks, Partition, true> {
    using Type = typename Blocks::Staging;
};

} // namespace jg
