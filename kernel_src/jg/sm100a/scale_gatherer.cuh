// SPDX-License-Identifier: MIT
// ScaleGatherer: the scales that the tensor core multiplies by, of rows that an index
// names, of the problem's A: they lie in pieces of 128x4 as A's rows do. ScaleLoader
// (scale_tiles.cuh) has those of rows in order, and of the other operand.
//
// A row's scales are a word of each piece, from anywhere. A warp copies such words to where
// a piece of the tile's own rows would lie, four for each lane, side by side. It may be
// some stages ahead of what has come: stages are handed on in order, each by an arrival of
// its own at the barrier at which the tiles' bytes count, of a pair at the leader's. Rows
// beyond the matrix's end, or the group's, whose index is not read, rows whose index is
// none of A's, and pieces beyond K have scales of 0.
//
// Called by: one whole warp, which does nothing else, of each CTA. It waits for stages that
// are empty, and at the end of each item for its copies.
#pragma once
#include <jg/common/block_scale.cuh>
#include <jg/common/cluster_shape.cuh>
#include <jg/common/pipeline_state.cuh>
#include <jg/pipeline/input_ring_buffer.cuh>
#include <jg/ptx/copy_async.cuh>
#include <jg/ptx/mbarrier.cuh>
#include <jg/ptx/tma.cuh>
#include <jg/sm100a/scale_tiles.cuh>

namespace jg::sm100a {

template <class Config, class Cluster>
class ScaleGatherer {
    using Tiles = ScaleTiles<Config>;
    using Stages = ScaleStages<Config>;
    using Barriers = RingBarriers<Config::kStages>;
    enum : bool { kOfA = Config::kIndexedA };
    enum : u32 {
        kBand = kOfA ? Tiles::band_of_a(0) : Tiles::band_of_b(0),
        kBands = Tiles::kGatheredBands,
        kWords = ScalePiece::kRows / 32, // of a lane and a piece, side by side
        kOwn = kBands * kWords,          // rows of a lane
        // Stages whose copies are under way while another is filled: fewer than there are,
        // or it would wait for a stage that nobody has been given yet.
        kAhead = Config::kStages > 3 ? 3 : Config::kStages - 1,
    };
    static_assert(Config::kStages > 1, "one is filled while another is multiplied");

  public:
    template <class Params, class ShapeT>
    JG_DEVICE ScaleGatherer(const Params &params, const ShapeT &shape,
                            const Cluster &cluster, Barriers &barriers, Stages &stages)
        : param_(kOfA ? params.a_scale : params.b_scale), index_(params.a_rows),
          index_count_(params.a_row_count), rows_(kOfA ? shape.m : shape.n), k_(shape.k),
          leader_(cluster.leader_rank()), barriers_(barriers), stages_(stages)
    {
    }

    // `ring`: this warp's view of the stages that are empty.
    template <class Producer, class Work>
    JG_DEVICE void run(Producer ring, Work &work)
    {
        while (work.has_work()) {
            const auto item = work.next();
            if (item.k_blocks > 0) {
                find(item);
            }
            u32 pending = 0;
#pragma unroll 1
            for (u32 i = 0; i < item.k_blocks; ++i) {
                copy(ring.acquire_empty().index, item.k_first + i * Config::kBlockK);
                if (++pending > kAhead) {
                    ptx::copy_async_wait<kAhead>();
                    hand_on(1);
                    --pending;
                }
            }
            ptx::copy_async_wait<0>();
            hand_on(pending);
        }
    }

  private:
    // Where the scales of this lane's rows begin, of an item's tile.
    JG_DEVICE void find(const WorkItem &item)
    {
        const u32 first = kOfA ? item.row : item.col;
        const u32 end = Config::kGroups > 0 ? item.group_end : rows_;
        // As ScaledMmaOp takes them, the tile's columns begin inside of a piece.
        const u32 shift = kOfA ? 0
                               : (item.col + (Config::kTransposed ? item.scale_shift : 0)) %
                                     ScalePiece::kRows;
        const i32 *index = index_.base<const i32>(item.batch);
#pragma unroll
        for (u32 i = 0; i < kOwn; ++i) {
            const u32 place = 32 * i + threadIdx.x % 32; // from the first piece's begin on
            const u32 row = first + place - shift;
            const bool exists = place >= shift && row < end;
            const u32 found = exists ? static_cast<u32>(index[row]) : ~0u;
            has_row_[i] = found < index_count_;
            sources_[i] =
                has_row_[i]
                    ? param_.pointer + u64(param_.ld) * (found / ScalePiece::kRows) +
                          found % 32 * 16 + found % ScalePiece::kRows / 32 * kWordBytes
                    : param_.pointer;
        }
    }

    // Starts the copies of a stage, whose block of K begins at element `k`.
    JG_DEVICE void copy(u32 stage, u32 k)
    {
        const u32 first_piece = k / Tiles::kPieceK;
#pragma unroll
        for (u32 piece = 0; piece < Tiles::kKPieces; ++piece) {
            const bool exists = k + piece * Tiles::kPieceK < k_;
            const u64 offset = exists ? u64(first_piece + piece) * ScalePiece::kBytes : 0;
#pragma unroll
            for (u32 i = 0; i < kOwn; ++i) {
                u8 *const target = stages_.stage[stage].pieces[kBand + i / kWords][piece];
                ptx::copy_async<kWordBytes>(ptx::shared_address(target) +
                                                threadIdx.x % 32 * (kWords * kWordBytes) +
                                                i % kWords * kWordBytes,
                                            sources_[i] + (has_row_[i] ? offset : 0),
                                            exists && has_row_[i] ? kWordBytes : 0);
            }
        }
        ptx::copy_async_commit();
    }

    // Of the stages that were filled first, whose copies have come.
    JG_DEVICE void hand_on(u32 count)
    {
        ptx::fence_proxy_async_shared();
        __syncwarp();
#pragma unroll 1
        for (u32 i = 0; i < count; ++i) {
            u64 *const full = &barriers_.full[handed_on_.stage];
            handed_on_.advance();
            if (threadIdx.x % 32 == 0) {
                if constexpr (Cluster::kCtaGroup == 2) {
                    ptx::mbarrier_arrive_release(full, leader_);
                } else {
                    ptx::mbarrier_arrive(full);
                }
            }
        }
    }

    enum : u32 { kWordBytes = ScalePiece::kBlocks };

    const MatrixParam &param_;
    const MatrixParam &index_;
    const u32 &index_count_; // rows of A that it may name
    u32 rows_, k_;           // of the product
    u32 leader_;             // of the pair
    Barriers &barriers_;
    Stages &stages_;
    PipelineState<Config::kStages> handed_on_;
    u64 sources_[kOwn];
    bool has_row_[kOwn];
};

template <class Config>
struct ScaleWarp<Config, true> {
    template <class Kernel, class Work>
    static JG_DEVICE void run(const Kernel &kernel, Work &work)
    {
        ScaleGatherer<Config, typename Kernel::Cluster> scales(
            kernel.params, kernel.shape, kernel.cluster, kernel.smem.ring,
            kernel.smem.scales);
        scales.run(kernel.input.producer(), work);
    }
};

} // namespace jg::sm100a
