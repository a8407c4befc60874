// SPDX-License-Identifier: MIT
// TileShares: a tile's lines, shared out among CTAs that each write some of D, and how a
// warp reads sums of theirs over all parts of K: from memory of the cluster
// (cluster_shares.cuh) or from a workspace (workspace_shares.cuh).
//
// Accumulators of each part lie as VectorEpilogue stages them, step by step, for each warp
// by itself. A line is a row of a step of a warp. Of units of a line, or of two where these
// are short, share r has number r, r + kShares, ... A vector's sum is made of all parts,
// always in the order of K. Lines beyond the problem are not read; as each share's lie
// among the others', all have as many of those that are.
//
// Called by warps that hold accumulators. Nothing waits or signals.
#pragma once
#include <jg/epilogue/accumulator.cuh>
#include <jg/epilogue/staging.cuh>

namespace jg {

template <class Config, class Partition, u32 kParts, u32 kShares>
struct TileShares {
    using A = typename Config::A;
    using Staging = typename StagingBufferFor<Partition>::Type;
    enum : u32 {
        kStepsAcross = (Partition::kCols + Partition::kStepCols - 1) / Partition::kStepCols
    };
    enum : u32 {
        kStepsDown = (Partition::kRows + Partition::kStepRows - 1) / Partition::kStepRows
    };
    enum : u32 { kSteps = kStepsAcross * kStepsDown };
    enum : u32 { kWarpBytes = kSteps * Staging::kBytes };
    // Rows that lie in 128 bytes, which one share has.
    enum : u32 {
        kUnitRows = Partition::kTransposed && Partition::kWarpCols < 32
                        ? 32 / Partition::kWarpCols
                        : 1
    };
    enum : u32 { kLines = kSteps * Partition::kWarpRows }; // of a warp
    // Of them, of a share at most.
    enum : u32 {
        kShare = (kLines + kUnitRows * kShares - 1) / (kUnitRows * kShares) * kUnitRows
    };

    enum : u32 { kAcross = Partition::kWarpCols / 8 }; // vectors of a line
    // Lanes that may add up a vector together, so that a warp's share keeps all of them
    // busy.
    enum : u32 { kVectors = kShare * kAcross }; // of a share
    enum : u32 {
        kMostLanes = kVectors <= 4    ? 8
                     : kVectors <= 8  ? 4
                     : kVectors <= 16 ? 2
                                      : 1
    };

    // Of D, that the last steps have; 0: as much as the others.
    enum : u32 {
        kTail = Partition::kTransposed ? Partition::kRows % Partition::kStepRows
                                       : Partition::kCols % Partition::kStepCols
    };

    static JG_DEVICE bool has_tail(u32 step)
    {
        static_assert(!Partition::kTransposed || kStepsAcross == 1,
                      "steps lie above each other");
        constexpr u32 kSide = Partition::kTransposed ? kSteps : kStepsAcross;
        return kTail > 0 && step % kSide == kSide - 1;
    }
    // Is there something of such a step in a chunk of 16 bytes of the buffer?
    static JG_DEVICE bool is_staged(u32 row, u32 chunk)
    {
        constexpr u32 kStep =
            Partition::kTransposed ? Partition::kStepRows : Partition::kStepCols;
        const u32 at = Partition::kTransposed ? row : chunk * 4;
        return Partition::kNeighbours ? at < 2 * kTail : at % kStep < kTail;
    }

    // Stores a warp's accumulators, which lie from `memory` on; `staged` is called behind
    // each step.
    template <class Accumulators, class Function>
    static JG_DEVICE void stage(const Accumulators &acc, const u8 *memory, Function staged)
    {
#pragma unroll(Accumulators::kIndexed ? 1 : kSteps)
        for (u32 step = 0; step < kSteps; ++step) {
            acc.copy_step(Staging(memory + step * Staging::kBytes), step);
            staged(step);
        }
    }

    // The number of lane group `group`'s line, which has one of the warp's vectors each, of
    // those of a share.
    static JG_DEVICE u32 line(u32 group, u32 share)
    {
        return (group / kUnitRows * kShares + share) * kUnitRows + group % kUnitRows;
    }

    // Sums of a step's accumulators, as a staging buffer is read, by all lanes of a warp.
    // Owner has memory(), where this CTA's part of the warp's was staged, and
    // load_part(address, part, values), accumulators of a part that lie where this CTA's
    // were at that address. kLanes of a warp add up a vector.
    template <class Owner, u32 kLanes>
    class Step {
      public:
        // `exists`: the vector is stored, or nothing is moved.
        JG_DEVICE Step(const Owner &owner, u32 step, bool exists)
            : owner(owner), first_(step * Staging::kBytes), exists_(exists)
        {
        }

        JG_DEVICE void load(u32 row, u32 vector, f32 (&values)[8]) const
        {
            const u32 own =
                exists_ ? Staging(owner.memory() + first_).address_of(row, 2 * vector)
                        : kNowhere;
            if constexpr (kLanes == 1) {
                load_by_pairs(own, values);
            } else {
                load_by_many(own, values);
            }
        }

        const Owner &owner;

      private:
        enum : u32 { kNowhere = ~0u };

        // Vectors lie in the first lanes: lane i loads 8 / kLanes elements of number
        // i / kLanes, of many parts at once, and the vector's lane fetches their sums.
        JG_DEVICE void load_by_many(u32 own, f32 (&values)[8]) const
        {
            constexpr u32 kCount = 8 / kLanes;
            const u32 lane = threadIdx.x % 32, part_of_vector = lane % kLanes * kCount;
            u32 address = __shfl_sync(0xffffffff, own, lane / kLanes);
            if (address != kNowhere) {
                address = (address ^ (part_of_vector / 4 * 16)) + part_of_vector % 4 * 4;
            }
            f32 sums[kCount] = {};
            if (address != kNowhere) {
                add_all(address, sums);
            }
#pragma unroll
            for (u32 i = 0; i < 8; ++i) {
                values[i] =
                    __shfl_sync(0xffffffff, sums[i % kCount], lane * kLanes + i / kCount);
            }
        }
        template <u32 kCount>
        JG_DEVICE void add_all(u32 address, f32 (&sums)[kCount]) const
        {
            constexpr u32 kMost = 128 / kCount; // registers
            constexpr u32 kBatch = kParts < kMost ? kParts : kMost;
            owner.load_part(address, 0, sums);
#pragma unroll 1
            for (u32 first = 1; first < kParts; first += kBatch) {
                f32 more[kBatch][kCount];
#pragma unroll
                for (u32 i = 0; i < kBatch; ++i) {
                    if (first + i < kParts) {
                        owner.load_part(address, first + i, more[i]);
                    }
                }
#pragma unroll
                for (u32 i = 0; i < kBatch; ++i) {
                    if (first + i < kParts) {
#pragma unroll
                        for (u32 j = 0; j < kCount; ++j) {
                            sums[j] = add_accumulators<A>(sums[j], more[i][j]);
                        }
                    }
                }
            }
        }

        // Requests of a warp have whole lines of 128 bytes: lanes that are 4 apart read
        // both chunks of the lower one's vector together, then of the upper one's, and
        // exchange the sums.
        JG_DEVICE void load_by_pairs(u32 own, f32 (&values)[8]) const
        {
            const bool is_upper = threadIdx.x % 8 >= 4;
            const u32 other = __shfl_xor_sync(0xffffffff, own, 4);
            const u32 lower = is_upper ? other : own, upper = is_upper ? own : other;
            float4 sums[2];
            add_chunks(lower, upper, is_upper ? 16 : 0, sums);
            const float4 kept = is_upper ? sums[1] : sums[0];
            const float4 sent = is_upper ? sums[0] : sums[1];
            const float4 taken = {__shfl_xor_sync(0xffffffff, sent.x, 4),
                                  __shfl_xor_sync(0xffffffff, sent.y, 4),
                                  __shfl_xor_sync(0xffffffff, sent.z, 4),
                                  __shfl_xor_sync(0xffffffff, sent.w, 4)};
            put(is_upper ? taken : kept, values);
            put(is_upper ? kept : taken, values + 4);
        }

        // Parts whose loads are on their way at a time.
        enum : u32 { kBatch = kParts < 16 ? kParts : 16 };

        static JG_DEVICE void put(const float4 &from, f32 *to)
        {
            to[0] = from.x, to[1] = from.y, to[2] = from.z, to[3] = from.w;
        }

        JG_DEVICE float4 load_part(u32 address, u32 chunk, u32 part) const
        {
            f32 v[4] = {};
            if (address != kNowhere) {
                owner.load_part(address ^ chunk, part, v);
            }
            return {v[0], v[1], v[2], v[3]};
        }

        // Of a chunk of each of two vectors, in the order of K.
        JG_DEVICE void add_chunks(u32 lower, u32 upper, u32 chunk, float4 (&sums)[2]) const
        {
            add_batch<true>(lower, upper, chunk, 0, sums);
#pragma unroll 1
            for (u32 first = kBatch; first < kParts; first += kBatch) {
                add_batch<false>(lower, upper, chunk, first, sums);
            }
        }
        template <bool kIsFirst>
        JG_DEVICE void add_batch(u32 lower, u32 upper, u32 chunk, u32 first,
                                 float4 (&sums)[2]) const
        {
            constexpr bool kWhole = kParts % kBatch == 0;
            float4 parts[kBatch][2];
#pragma unroll
            for (u32 i = 0; i < kBatch; ++i) {
                const bool exists = kWhole || first + i < kParts;
                parts[i][0] = load_part(exists ? lower : kNowhere, chunk, first + i);
                parts[i][1] = load_part(exists ? upper : kNowhere, chunk, first + i);
            }
            if constexpr (kIsFirst) {
                sums[0] = parts[0][0];
                sums[1] = parts[0][1];
            }
#pragma unroll
            for (u32 i = kIsFirst ? 1 : 0; i < kBatch; ++i) {
                if (kWhole || first + i < kParts) {
                    sums[0] = add(sums[0], parts[i][0]);
                    sums[1] = add(sums[1], parts[i][1]);
                }
            }
        }

        u32 first_; // byte of the warp's
        bool exists_;
    };

    // Where a thread is in a line, as VectorEpilogue asks for it.
    template <class Owner, u32 kLanes, class CoordT, class D>
    struct Cursor {
        CoordT coord;
        D *target;
        Step<Owner, kLanes> staged;
        u32 in_step; // row
        bool is_last;

        JG_DEVICE u32 row() const
        {
            return in_step;
        }
        JG_DEVICE u32 vector() const
        {
            return threadIdx.x % kAcross;
        }
        JG_DEVICE void end_vector() const
        {
            if (is_last) {
                staged.owner.let_go();
            }
        }
    };

    static JG_DEVICE float4 add(const float4 &a, const float4 &b)
    {
        return {add_accumulators<A>(a.x, b.x), add_accumulators<A>(a.y, b.y),
                add_accumulators<A>(a.z, b.z), add_accumulators<A>(a.w, b.w)};
    }
};

} // namespace jg
