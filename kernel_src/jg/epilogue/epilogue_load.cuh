// SPDX-License-Identifier: MIT
// EpilogueLoad: how C and matrix operands reach the epilogue by TMA, through a ring: the
// epilogue-load ring, of kEpilogueLoadStages, or where that is 0 the ring of the input
// tiles, which the epilogue's threads then read too.
//
// For each step of the epilogue a load thread sends kEpilogueLoadsPerStep stages, one per
// matrix (two where its elements have 32 bits): for each team a box of the step's rows of
// 128 bytes, swizzled. In the ring of the input tiles they follow the tile's last block of
// K, so they land while the last blocks are multiplied. The order is C, then the operands
// as declared; both sides go through it. Where the plan says 0, the epilogue's threads load
// from global memory.
//
// Called by: a load thread (load), which waits for stages to be empty and has them signal
// full by bytes; all threads of the epilogue (Reader), which wait for full stages and
// release them. A step's stages are there together, so that one barrier per step is enough.
#pragma once
#include <jg/common/work_tile.cuh>
#include <jg/epilogue/operands.cuh>
#include <jg/epilogue/partition.cuh>
#include <jg/pipeline/input_ring_buffer.cuh>
#include <jg/ptx/cluster.cuh>
#include <jg/ptx/shared.cuh>
#include <jg/ptx/tma.cuh>

namespace jg {

template <class Config, class Epilogue, class Partition>
struct EpilogueLoad {
    enum : u32 {
        kCols = Partition::kStepCols,
        // The last step across or down may be less than a whole one.
        kStepsAcross = (Partition::kCols + kCols - 1) / kCols,
        kStepsDown = (Partition::kRows + Partition::kStepRows - 1) / Partition::kStepRows,
        kSteps = kStepsDown * kStepsAcross,
        kLoads = Config::kEpilogueLoadsPerStep,
        kLoadsOfC = Config::kHasC ? MatrixInput<typename Config::C>::kLoads : 0,
        kBoxBytes = Partition::kStepRows * 128,
    };
    static_assert(kLoads == 0 || kLoads == kLoadsOfC + Epilogue::kLoads,
                  "host and device disagree on what a step loads");
    static_assert(kLoads == 0 || Config::kOutputAlignment == 16,
                  "TMA takes matrices of rows aligned to 16 bytes");

    // Stages of the ring that a tile takes, with C or without.
    static JG_DEVICE u32 count_stages(bool with_c)
    {
        return kSteps * (kLoads - (with_c ? 0 : kLoadsOfC));
    }
    // First row and column of a step of a team.
    static JG_DEVICE u32 row(const WorkTile &tile, u32 team, u32 step)
    {
        return tile.row + Partition::first_row(team) +
               step / kStepsAcross * Partition::kStepRows;
    }
    static JG_DEVICE u32 col(const WorkTile &tile, u32 team, u32 step)
    {
        return tile.col + Partition::first_col(team) + step % kStepsAcross * kCols;
    }

    template <class Smem, class Producer>
    struct StepLoader {
        Smem &smem;
        Producer &ring;
        const WorkTile &tile;
        u32 step;

        template <class T>
        JG_DEVICE void load(const TensorMap *map, u32 batch_step)
        {
#pragma unroll
            for (u32 half = 0; half < MatrixInput<T>::kLoads; ++half) {
                const ProducerStage stage = ring.acquire(Partition::kTeams * kBoxBytes);
#pragma unroll
                for (u32 team = 0; team < Partition::kTeams; ++team) {
                    ptx::tma_load(
                        smem.epilogue_load_boxes(stage.index) + team * kBoxBytes, map,
                        stage.full,
                        static_cast<i32>(col(tile, team, step) + half * (128 / sizeof(T))),
                        static_cast<i32>(row(tile, team, step)),
                        static_cast<i32>(map_batch<Config>(tile, batch_step)));
                }
            }
        }
    };

    // All epilogue loads of a tile, by the load thread.
    template <class Params, class Smem, class Producer>
    static JG_DEVICE void load(const Params &params, Smem &smem, Producer &ring,
                               const WorkTile &tile, bool with_c)
    {
#pragma unroll 1
        for (u32 step = 0; step < kSteps; ++step) {
            StepLoader<Smem, Producer> loader{smem, ring, tile, step};
            if constexpr (Config::kHasC) {
                if (with_c) {
                    loader.template load<typename Config::C>(&params.maps[kMapC],
                                                             params.c.batch_step);
                }
            }
            Epilogue::load_step(params, loader);
        }
    }

    // An epilogue thread's view of one step's stages, which are released with it.
    template <class Smem, class Consumer>
    class Reader {
      public:
        enum : bool {
            kThroughRing = kLoads > 0,
            kHasC = kThroughRing && kLoadsOfC > 0,
        };

        // Waits for the step's stages, in order. `barrier_id`: of the team.
        JG_DEVICE Reader(const Smem &smem, Consumer &ring, u32 team, u32 barrier_id,
                         bool with_c)
            : barrier_id_(barrier_id), stages_(ring, with_c)
        {
            if constexpr (kLoads > 0) {
                static_assert(Smem::kEpilogueLoadBytes >= Partition::kTeams * kBoxBytes,
                              "a stage holds a box per team");
#pragma unroll
                for (u32 i = 0; i < kLoads; ++i) {
                    if (stages_.has(i)) {
                        boxes_[i] = ptx::shared_address(
                                        smem.epilogue_load_boxes(stages_.index(i))) +
                                    team * kBoxBytes;
                    }
                }
            }
        }
        // The whole team has read them.
        JG_DEVICE ~Reader()
        {
            if constexpr (kLoads > 0) {
                ptx::named_barrier_sync(barrier_id_, Partition::kTeamThreads);
            }
        }

        // The vector to read next, of every matrix; reading starts with the first operand.
        // Row `group` + `row`, where `group` is a multiple of 8 and `row` below 8.
        JG_DEVICE void seek(u32 group, u32 row, u32 vector)
        {
            group_ = group;
            row_ = row;
            vector_ = vector;
            next_ = kLoadsOfC;
        }
        // The same in boxes of 16-bit elements that a warp reads as it holds accumulators:
        // two groups of columns of the fragment's lanes.
        JG_DEVICE void seek_fragment(u32 fragment, u32 pair)
        {
            const u32 lane = threadIdx.x % 32;
            group_ = Partition::warp_row() + 16 * fragment + lane % 16 / 8 * 8;
            row_ = lane % 8;
            vector_ = 2 * pair + lane / 16;
            next_ = kLoadsOfC;
        }
        JG_DEVICE void read_c_fragment(u32 (&words)[4])
        {
            next_ = 0;
            read_fragment(words);
            next_ = kLoadsOfC;
        }
        // words[2 * group + half]: a thread's two neighbours.
        JG_DEVICE void read_fragment(u32 (&words)[4])
        {
            ptx::ldmatrix_x4(words,
                             boxes_[next_] + (group_ + row_) * 128 + (vector_ ^ row_) * 16);
            next_ += 1;
        }
        // C's vector, out of order.
        template <class T>
        JG_DEVICE void read_c(Packed8<T> &packed)
        {
            next_ = 0;
            read(packed);
            next_ = kLoadsOfC;
        }
        template <class T>
        JG_DEVICE void read(Packed8<T> &packed)
        {
            constexpr u32 kChunks = sizeof(T) / 2; // of 16 bytes, per vector
            const u32 chunk = vector_ * kChunks;
            u32 box = boxes_[next_];
            if constexpr (kChunks == 2) {
                box = chunk < 8 ? box : boxes_[next_ + 1];
            }
#pragma unroll
            for (u32 i = 0; i < kChunks; ++i) {
                const float4 part = ptx::load_shared_4(box + (group_ + row_) * 128 +
                                                       ((chunk + i) % 8 ^ row_) * 16);
                packed.words[4 * i] = __float_as_uint(part.x);
                packed.words[4 * i + 1] = __float_as_uint(part.y);
                packed.words[4 * i + 2] = __float_as_uint(part.z);
                packed.words[4 * i + 3] = __float_as_uint(part.w);
            }
            next_ += kChunks;
        }

      private:
        u32 barrier_id_;
        HeldStages<Consumer, kLoads, kLoads ? kLoadsOfC : 0> stages_;
        u32 boxes_[kLoads ? kLoads : 1];
        u32 group_, row_, vector_, next_;
    };
};

} // namespace jg
