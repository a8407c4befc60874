// SPDX-License-Identifier: MIT
// Scales of blocks from one layout to another (docs/scales.md). Each thread makes elements
// of the target, or words of four where the layout has such, by itself; nobody waits. What
// belongs to no block becomes 0, and is not read in the source. A scale of the source may
// be that of several rows of the target. Called by the unit of lib/source/pack_unit.c and
// by pack_scales_kernel.cuh; the host has checked sizes, addresses and that nothing
// overlaps.
#pragma once
#include <jg/common/choices.cuh>
#include <jg/common/math.cuh>
#include <jg/ptx/global.cuh>

namespace jg::pack {

// The kernel's parameter; the host fills the same struct (lib/plan/pack.h).
struct PackParams {
    u64 from, to;               // device addresses
    i64 from_stride, to_stride; // elements from one batch to the next
    u32 rows, blocks; // of a batch: scales of a column of the target, and of a row
    u32 batch;
    u32 reserved;
};
static_assert(sizeof(PackParams) == 48, "as the host has it");

// Of scales of one byte four neighbours along K are a word.
enum : u32 { kWord = 4 };
// What a column of scales is rounded up to.
enum : u32 { kColumnStep = 4 };

// A scale, or the first of a word; beyond `rows` or `blocks` it is none.
struct Place {
    u32 row, block;
};

// Units of a batch: elements or words, in the order of memory. index() is of an element.
template <ScaleLayout kLayout>
struct Layout;

template <>
struct Layout<ScaleLayout::kRow> {
    enum : u32 { kUnit = 1 };
    u32 rows, blocks;

    JG_DEVICE u64 index(u32 row, u32 block) const
    {
        return u64(row) * blocks + block;
    }
    JG_DEVICE u64 units() const
    {
        return u64(rows) * blocks;
    }
    JG_DEVICE Place place(u64 unit) const
    {
        return {u32(unit / blocks), u32(unit % blocks)};
    }
};

template <>
struct Layout<ScaleLayout::kColumn> {
    enum : u32 { kUnit = 1 };
    u32 rows, blocks;

    JG_DEVICE u32 ld() const
    {
        return ceil_div(rows, kColumnStep) * kColumnStep;
    }
    JG_DEVICE u64 index(u32 row, u32 block) const
    {
        return u64(ld()) * block + row;
    }
    JG_DEVICE u64 units() const
    {
        return u64(ld()) * blocks;
    }
    JG_DEVICE Place place(u64 unit) const
    {
        return {u32(unit % ld()), u32(unit / ld())};
    }
};

// Pieces of kRows rows by a word, neighbours along K first. In a piece every kSpread-th row
// is a neighbour.
template <u32 kRows, u32 kSpread>
struct PieceLayout {
    enum : u32 {
        kUnit = kWord,
        kSpreads = kRows / kSpread,
    };
    u32 rows, blocks;

    JG_DEVICE u32 words() const
    {
        return ceil_div(blocks, kWord);
    }
    JG_DEVICE u64 index(u32 row, u32 block) const
    {
        const u64 piece = u64(row / kRows) * words() + block / kWord;
        const u32 in_piece = row % kSpread * kSpreads + row % kRows / kSpread;
        return (piece * kRows + in_piece) * kWord + block % kWord;
    }
    JG_DEVICE u64 units() const
    {
        return u64(ceil_div(rows, kRows)) * words() * kRows;
    }
    JG_DEVICE Place place(u64 unit) const
    {
        const u64 piece = unit / kRows;
        const u32 in_piece = u32(unit % kRows);
        const u32 row = in_piece % kSpreads * kSpread + in_piece / kSpreads;
        return {u32(piece / words()) * kRows + row, u32(piece % words()) * kWord};
    }
};

template <>
struct Layout<ScaleLayout::k128x4> : PieceLayout<128, 32> {
};
template <>
struct Layout<ScaleLayout::k8x4> : PieceLayout<8, 8> {
};

template <>
struct Layout<ScaleLayout::kMnK4> {
    enum : u32 { kUnit = kWord };
    u32 rows, blocks;

    JG_DEVICE u32 ld() const
    {
        return ceil_div(rows, kColumnStep) * kColumnStep;
    }
    JG_DEVICE u64 index(u32 row, u32 block) const
    {
        return (u64(block / kWord) * ld() + row) * kWord + block % kWord;
    }
    JG_DEVICE u64 units() const
    {
        return u64(ceil_div(blocks, kWord)) * ld();
    }
    JG_DEVICE Place place(u64 unit) const
    {
        return {u32(unit % ld()), u32(unit / ld()) * kWord};
    }
};

// What a unit of the target holds; places are the target's.
template <class Config>
struct Source {
    using From = Layout<Config::kFrom>;
    enum : u32 {
        kScaleRows = Config::kScaleRows, // of the target that share one
        kBytes = Config::kElementBytes,
    };
    enum : bool { kNeighbours = Config::kFrom != ScaleLayout::kColumn }; // along K
    From layout;
    u32 rows; // of the target
    u64 base; // of the batch

    JG_DEVICE u64 address(Place at) const
    {
        return base + kBytes * layout.index(at.row / kScaleRows, at.block);
    }
    JG_DEVICE u32 element(Place at) const
    {
        return ptx::load_global_if<kBytes>(address(at),
                                           at.row < rows && at.block < layout.blocks);
    }
    // Of elements of one byte.
    JG_DEVICE u32 word(Place at) const
    {
        if (at.row >= rows || at.block >= layout.blocks) {
            return 0;
        }
        if constexpr (kNeighbours) {
            const u64 first = address(at);
            if (at.block + kWord <= layout.blocks && first % kWord == 0) {
                return u32(ptx::load_global_bits<kWord>(first));
            }
        }
        u32 bits = 0;
#pragma unroll
        for (u32 i = 0; i < kWord; ++i) {
            bits |= element({at.row, at.block + i}) << (8 * i);
        }
        return bits;
    }
};

// By all threads of the grid.
template <class Config>
JG_DEVICE void pack_all(const PackParams &params)
{
    using To = Layout<Config::kTo>;
    constexpr u32 kBytes = Config::kElementBytes;
    static_assert(kBytes == 1 || (To::kUnit == 1 && Source<Config>::From::kUnit == 1),
                  "only scales of one byte lie in words");
    // The units of the target, of all batches, go round the threads of the grid.
    To to;
    to.rows = params.rows;
    to.blocks = params.blocks;
    const u64 per_batch = to.units();
    const u64 total = per_batch * params.batch;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < total;
         i += u64(gridDim.x) * blockDim.x) {
        // Where the unit lies, and what it is made of.
        const u64 batch = i / per_batch;
        const u64 unit = i % per_batch;
        const Place at = to.place(unit);
        Source<Config> source;
        source.layout.rows = ceil_div(params.rows, Config::kScaleRows);
        source.rows = params.rows;
        source.layout.blocks = params.blocks;
        source.base = params.from + kBytes * batch * u64(params.from_stride);
        const u64 target =
            params.to + kBytes * (batch * u64(params.to_stride) + unit * To::kUnit);
        // Its scales, or zeros.
        if constexpr (To::kUnit == 1) {
            ptx::store_global_bits<kBytes>(target, source.element(at));
        } else {
            ptx::store_global_bits<kWord>(target, source.word(at));
        }
    }
}

template <class Config>
JG_DEVICE void pack_kernel(const PackParams &params)
{
    static_assert(Config::kParamsBytes == sizeof(PackParams),
                  "host and device disagree on parameters");
    pack_all<Config>(params);
}

} // namespace jg::pack
