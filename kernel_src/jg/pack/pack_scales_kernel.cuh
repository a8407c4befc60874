// SPDX-License-Identifier: MIT
// Scales of one byte of A and B, in any layout and one for a row or for 128 of them, to
// what the tensor core takes: one for each row, in pieces of 128x4 (docs/scales.md). A
// second entry of the unit of lib/source/assemble.c; the kernel of the product waits for
// this grid. The host has checked addresses and sizes, and gives rows of 0 where there is
// nothing to do.
//
// Rows of groups by offsets lie as A's do, one after the other. Pieces have rows of one
// group, so each warp, whose words are of one piece, looks for the group that has it: in
// few steps, or, if numbers fall or bands are padded, among all of them.
#pragma once
#include <jg/pack/pack_kernel.cuh>
#include <jg/ptx/cluster.cuh>
#include <jg/schedule/group_rows.cuh>

namespace jg::pack {

// The kernel's parameter; the host fills the same struct (lib/plan/scale_pack.h).
struct PackScalesParams {
    PackParams a, b; // of the product's
    u64 group_sizes; // of groups by offsets
    u32 group_rows;  // of all of them, as the scales are read
    u32 reserved;
};
static_assert(sizeof(PackScalesParams) == 112, "as the host has it");

// Of a matrix whose scales lie as they should, or that has none.
struct NoPacking {};
// One scale lies there for so many rows. kGroups: each group's have pieces of their own.
template <ScaleLayout kLayout, u32 kRows, bool kGroups = false>
struct ToPieces {
    enum : bool { kByGroups = kGroups };
    enum : u32 {
        kElementBytes = 1,
        kScaleRows = kRows,
    };
    static constexpr ScaleLayout kFrom = kLayout;
    static constexpr ScaleLayout kTo = ScaleLayout::k128x4;
};

// Which rows of the scales are a group's: its own, and where they begin among the pieces.
struct ScaleBand {
    RowRange rows;
    u32 first;

    // What lies at a row of the pieces; ~0: nothing.
    JG_DEVICE u32 source_of(u32 row) const
    {
        return row >= first && row - first < rows.count() ? rows.begin + (row - first)
                                                          : ~0u;
    }
};

// Looks for groups, a warp together. All threads of a CTA make one.
template <class Config>
class ScaleBands {
    using Rows = GroupRows<Config>;
    enum : bool { kPads = pads_scales<Config>() };
    enum : u32 { kGroups = Config::kGroups };

    // What GroupRows takes of a launch; groups divide either.
    struct Sizes {
        u64 group_sizes;
        u32 m, n, k;
    };

  public:
    JG_DEVICE explicit ScaleBands(const PackScalesParams &params)
        : rows_(Sizes{params.group_sizes, params.group_rows, params.group_rows,
                      params.group_rows}),
          rises_(!kPads && do_rise())
    {
    }

    // The last group whose band begins at a row of the pieces, or before it. Where numbers
    // fall, or bands are padded, it is one with rows.
    JG_DEVICE ScaleBand find(u32 row) const
    {
        if constexpr (!kPads) {
            if (rises_) {
                return search<first_step()>(row, 0);
            }
        }
        return go_over(row);
    }

  private:
    static constexpr JG_DEVICE u32 first_step()
    {
        u32 step = 1;
        while (step * 32 < kGroups) {
            step *= 32;
        }
        return step;
    }

    // Is no number lower than one before it? Bands begin one behind the other then.
    JG_DEVICE bool do_rise() const
    {
        bool falls = false;
        for (u32 group = threadIdx.x + 1; group < kGroups; group += blockDim.x) {
            falls |= rows_.of(group).end < rows_.of(group - 1).end;
        }
        return __syncthreads_or(falls) == 0;
    }

    JG_DEVICE u32 first_of(u32 group, const RowRange &rows) const
    {
        return rows.begin + rows_.scale_shift(group, rows);
    }

    // Of groups from `low` on, of which each lane asks for one.
    template <u32 kStep>
    JG_DEVICE ScaleBand search(u32 row, u32 low) const
    {
        const u32 group = low + threadIdx.x % 32 * kStep;
        const bool is_before = group < kGroups && first_of(group, rows_.of(group)) <= row;
        const u32 before = __popc(__ballot_sync(~0u, is_before));
        low += before > 0 ? (before - 1) * kStep : 0;
        if constexpr (kStep > 1) {
            return search<kStep / 32>(row, low);
        } else {
            const RowRange rows = rows_.of(low);
            return ScaleBand{rows, first_of(low, rows)};
        }
    }

    // Of all groups, 32 at a time: which have rows, and where padded bands begin, follows
    // from all those before.
    JG_DEVICE ScaleBand go_over(u32 row) const
    {
        const u32 lane = threadIdx.x % 32;
        u32 before = 0;
        ScaleBand found{RowRange{0, 0}, 0};
        typename Rows::Rising rising;
#pragma unroll 1
        for (u32 at = 0; at < kGroups; at += 32) {
            const u32 group = min_u32(at + lane, kGroups - 1);
            RowRange own_rows[] = {rows_.of(group)};
            RowRange &rows = own_rows[0];
            rows.begin = at + lane < kGroups ? rows.begin : rows.end;
            rising.next_of_warp(own_rows);
            const u32 own = Rows::padded_rows(rows);
            u32 sum = own;
#pragma unroll
            for (u32 step = 1; kPads && step < 32; step *= 2) {
                const u32 lower = __shfl_up_sync(~0u, sum, step);
                sum += lane >= step ? lower : 0;
            }
            const u32 begin = kPads ? before + sum - own : first_of(group, rows);
            const u32 are_before = __ballot_sync(~0u, own > 0 && begin <= row);
            if (are_before != 0) {
                const u32 last = 31 - __clz(are_before);
                found.rows.begin = __shfl_sync(~0u, rows.begin, last);
                found.rows.end = __shfl_sync(~0u, rows.end, last);
                found.first = __shfl_sync(~0u, begin, last);
            }
            if (__any_sync(~0u, own > 0 && begin > row)) {
                break;
            }
            before += __shfl_sync(~0u, sum, 31);
        }
        return found;
    }

    const Rows rows_;
    const bool rises_;
};

// Words of pieces, of which all that a warp makes at once are of one.
template <class Config, class Packing>
JG_DEVICE void pack_groups(const PackParams &params, const PackScalesParams &all)
{
    using To = Layout<Packing::kTo>;
    const ScaleBands<Config> bands(all);
    To to;
    to.rows = params.rows;
    to.blocks = params.blocks;
    Source<Packing> source;
    source.layout.rows = ceil_div(all.group_rows, Packing::kScaleRows);
    source.layout.blocks = params.blocks;
    source.rows = all.group_rows;
    source.base = params.from;
    const u64 total = to.units();
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < total;
         i += u64(gridDim.x) * blockDim.x) {
        Place at = to.place(i);
        const u32 row = at.row;
        at.row = bands.find(row / ScalePiece::kRows * ScalePiece::kRows).source_of(row);
        ptx::store_global_bits<kWord>(params.to + i * kWord, source.word(at));
    }
}

template <class Config, class Packing>
JG_DEVICE void pack_side(const PackParams &params, const PackScalesParams &all)
{
    if constexpr (IsSame<Packing, NoPacking>::value) {
        return;
    } else if constexpr (Packing::kByGroups) {
        if (params.rows > 0) {
            pack_groups<Config, Packing>(params, all);
        }
    } else {
        pack_all<Packing>(params);
    }
}

template <class Config, class APacking, class BPacking>
JG_DEVICE void pack_scales_kernel(const PackScalesParams &params)
{
    // What the grid before has written is there, and nobody reads the pieces before these.
    // The product's grid may begin when all of this one runs.
    if constexpr (Config::kPdl) {
        ptx::grid_dependency_wait();
        ptx::launch_dependent_grids();
    }
    pack_side<Config, APacking>(params.a, params);
    pack_side<Config, BPacking>(params.b, params);
}

} // namespace jg::pack
